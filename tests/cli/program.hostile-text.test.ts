// Names, codes and reasons that try to move the cursor, set the title, forge a line or turn the
// direction of text: whatever command shows them, none gets through.

import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { type Shell, startShell } from "./support.ts";

/** Sets a title, clears the screen in 8 bits, turns direction, and would begin a line. */
const HOSTILE = "x\u001b]0;owned\u0007\u009b2J\u202e\u2066y\nok   z";
const RAW = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/u;
const METRIC = "m\u009b2J\u202e";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
  const { app } = shell;
  const metric = { name: HOSTILE, aggregation_type: "sum", field_name: "n" };
  await app.post("/v1/metrics", { code: METRIC, ...metric });
  const { plan } = await app.post("/v1/plans", {
    code: "pro",
    name: HOSTILE,
    description: HOSTILE,
    interval: "monthly",
    amount_cents: 100,
    amount_currency: "USD",
    charges: [
      { charge_model: "standard", billable_metric_code: METRIC, properties: { amount: "1" } },
    ],
  });
  const { customer } = await app.post("/v1/customers", { external_id: "c", name: HOSTILE });
  const ids = { customer_id: customer.id, plan_id: plan.id };
  await app.post("/v1/subscriptions", { external_id: "s", ...ids, properties: { a: HOSTILE } });
  await app.post("/v1/addons", { code: "a", name: HOSTILE, amount_cents: 5 });
});
afterAll(() => shell.close());

const slugs = { version: "1", org: "acme", workspace: "main", project: "test" };

/** Everything that is printed, each name in it on its own line, and nothing raw. */
function expectVisible({ out, err }: { out: string; err: string }): void {
  expect(out + err).not.toMatch(RAW);
  expect(out + err).not.toMatch(/^ok {3}z/m);
}

test.each([
  ["metrics", "list"],
  ["metrics", "get", METRIC],
  ["plans", "list"],
  ["plans", "get", "pro"],
  ["customers", "list"],
  ["customers", "get", "c"],
  ["subscriptions", "list"],
  ["addons", "list"],
  ["usage", "s"],
  ["invoices", "preview", "s"],
  ["customers", "get", HOSTILE],
  ["plans", "get", HOSTILE],
  ["no-such-command", HOSTILE],
])("command %#, as text and as JSON", async (...args) => {
  expectVisible(await shell.run(args));
  const ran = await shell.run([...args, "--json"]);
  expect(ran.out + ran.err).not.toMatch(RAW);
  if (ran.code === 0) expect(JSON.parse(ran.out)).toBeTypeOf("object");
});

test("diff, sync and their faults", async () => {
  const addons = [{ code: "a", name: `${HOSTILE}!`, amount_cents: 5, description: HOSTILE }];
  const file = shell.file("a.yaml", stringify({ ...slugs, addons }));
  for (const args of [["diff"], ["diff", "--json"], ["sync", "--dry-run"], ["sync"]]) {
    const [verb = "", ...flags] = args;
    const ran = await shell.run([verb, file, ...flags]);
    expect(ran.code, ran.err).toBe(args[0] === "sync" && flags.length === 0 ? 0 : 2);
    expectVisible(ran);
  }
  const bad = shell.file(
    "b.yaml",
    stringify({ ...slugs, [HOSTILE]: 1, plans: [{ code: HOSTILE }] }),
  );
  for (const flags of [[], ["--json"]]) {
    const ran = await shell.run(["validate", bad, ...flags]);
    expect(ran.code).toBe(65);
    expectVisible(ran);
  }
});

test("an export holds no raw one, and is the project to the letter", async () => {
  const ran = await shell.run(["export"]);
  expectVisible(ran);
  const same = await shell.run(["diff", shell.file("export.yaml", ran.out), "--json"]);
  expect([same.code, same.err]).toEqual([0, ""]);
  const json = await shell.run(["export", "--json"]);
  expect(json.out).not.toMatch(RAW);
  expect(JSON.parse(json.out).metrics[0]).toMatchObject({ code: METRIC, name: HOSTILE });
});
