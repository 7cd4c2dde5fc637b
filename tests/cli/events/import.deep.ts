// A million lines: memory stays flat, and a second run stores nothing.

import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { monotonicMs } from "../../../src/clock.ts";
import { type Shell, startShell } from "../support.ts";

const LINES = 1_000_000;
/** 200 MB. */
const RSS_MIB_MAX = 190;

let shell: Shell;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
  const { app } = shell;
  await app.post("/v1/metrics", { code: "calls", name: "Calls", aggregation_type: "count" });
  const { plan } = await app.post("/v1/plans", {
    code: "p",
    name: "P",
    interval: "monthly",
    amount_currency: "USD",
  });
  const { customer } = await app.post("/v1/customers", { external_id: "c", name: "C" });
  const body = { external_id: "s", customer_id: customer.id, plan_id: plan.id };
  await app.post("/v1/subscriptions", body);
});
afterAll(() => shell.close());

test("a million lines in little memory, and nothing the second time", async () => {
  const file = join(shell.folder, "million.ndjson");
  const stream = createWriteStream(file);
  for (let i = 0; i < LINES; i++) {
    const line = `{"transaction_id":"t${i}","subscription_id":"ext:s","code":"calls"}\n`;
    if (!stream.write(line)) await once(stream, "drain");
  }
  stream.end();
  await once(stream, "close");
  const { child, done } = shell.start(["events", "import", file, "--json"]);
  let most = 0;
  const watch = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // Gone, or a system without /proc: the counts are checked all the same.
    }
  }, 200);
  const start = monotonicMs();
  const ran = await done;
  const took_ms = monotonicMs() - start;
  clearInterval(watch);
  expect(ran.code, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({ accepted: LINES, duplicates: 0 });
  expect(most).toBeLessThan(RSS_MIB_MAX);
  const restart = monotonicMs();
  const again = await shell.process(["events", "import", file, "--json"]);
  expect(JSON.parse(again.out)).toMatchObject({ accepted: 0, duplicates: LINES });
  const rate = (ms: number) => Math.round((LINES / ms) * 1_000);
  const again_ms = monotonicMs() - restart;
  console.info(`${rate(took_ms)} lines/s, again ${rate(again_ms)}; ${Math.round(most)} MiB`);
}, 1_800_000);
