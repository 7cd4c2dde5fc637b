// Receivers that hang, drip, flood or lie: each attempt ends in time, is recorded for what it was,
// and costs little memory. All at once.

import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import type { Json } from "../support/app.ts";
import { emitPayments, register } from "../support/courier.ts";
import { HostileReceivers } from "../support/hostile-receivers.ts";
import { type ServiceProcess, slowness, until } from "../support/processes.ts";
import { Storm } from "./storm.ts";

/** The deadline of an attempt, and how late its end may be known on an idle machine. */
const DEADLINE_MS = 10_000;
const LATE_MS_MAX = 1_000;
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;
const SAMPLE_MS = 50;
const WARM_UP = 1_000;

/** What the log must say, and how long it may take to know. */
const VERDICTS: Record<string, { status: string; error: string | null; http?: number }> = {
  hang: { status: "failed", error: "timeout" },
  reset: { status: "failed", error: "connection" },
  "early end": { status: "failed", error: "connection" },
  "dripping headers": { status: "failed", error: "timeout" },
  "dripping body": { status: "delivered", error: null, http: 200 },
  "endless body": { status: "delivered", error: null, http: 200 },
  "gzip bomb": { status: "delivered", error: null, http: 200 },
  "huge header": { status: "failed", error: "connection" },
  "status 500": { status: "failed", error: "http_500", http: 500 },
  nonsense: { status: "failed", error: "connection" },
  "redirect to loopback": { status: "failed", error: "http_307", http: 307 },
  "expired certificate": { status: "failed", error: "tls" },
  "self-signed certificate": { status: "failed", error: "tls" },
  "trusted certificate": { status: "delivered", error: null, http: 200 },
  "stalled handshake": { status: "failed", error: "timeout" },
};

const TLS_TEXT =
  "The TLS handshake failed: the certificate is invalid, expired or of another name.";

let storm: Storm;
let worker: ServiceProcess;
let receivers: HostileReceivers;

let folder: string;

beforeAll(async () => {
  storm = await Storm.start(1);
  receivers = await HostileReceivers.start();
  folder = await mkdtemp(join(tmpdir(), "dues-hostile-"));
  const authority = join(folder, "authority.pem");
  await writeFile(authority, receivers.authority);
  worker = await storm.worker({ NODE_EXTRA_CA_CERTS: authority });
});
afterAll(async () => {
  await storm?.close();
  await receivers?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Of the worker alone: the receivers are in another process. Only Linux tells. */
function memoryOf({ pid }: ServiceProcess): number {
  if (process.platform !== "linux") return 0;
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

async function attempts(): Promise<number> {
  const [log] = await storm.rows(sql`select count(*) from webhook_attempts`);
  return log.count;
}

test("no hostile receiver holds an attempt beyond its deadline or fills the memory", async () => {
  const { app } = storm;
  const known = receivers.all.map(({ name }) => name);
  expect(known.toSorted()).toEqual(Object.keys(VERDICTS).toSorted());
  // What a worker needs for any delivery is there before the count begins.
  for (let emitted = 0; emitted < WARM_UP; emitted += 50) await emitPayments(app, emitted, 50);
  await until(async () => (await attempts()) === WARM_UP);
  const names = new Map<string, string>();
  for (const { name, url } of receivers.all) names.set((await register(app, url)).id, name);

  const before = memoryOf(worker);
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, memoryOf(worker));
  }, SAMPLE_MS);
  await emitPayments(app, WARM_UP, 1);
  const started = performance.now();
  await until(async () => (await attempts()) === WARM_UP + 1 + receivers.all.length);
  const took_ms = performance.now() - started;
  clearInterval(sampling);

  const ends_ms_max = DEADLINE_MS + LATE_MS_MAX * slowness();
  expect(took_ms).toBeLessThan(ends_ms_max + LATE_MS_MAX * slowness());
  expect(peak - before).toBeLessThan(GROWTH_BYTES_MAX);
  const { webhook_deliveries } = await app.get("/v1/webhook-deliveries?all=1");
  const hostile = webhook_deliveries.filter(({ endpoint_id }: Json) => names.has(endpoint_id));
  const verdicts = Object.fromEntries(
    hostile.map(({ endpoint_id, status, error, http_status }: Json) => [
      names.get(endpoint_id),
      { status, error, ...(http_status !== null && { http: http_status }) },
    ]),
  );
  expect(verdicts).toEqual(VERDICTS);
  const reasons = hostile.filter(({ error }: Json) => error === "tls").map((d: Json) => d.reason);
  expect(reasons).toEqual(Array.from({ length: 2 }, () => TLS_TEXT));
  for (const delivery of hostile) {
    const { duration_ms, response_excerpt, status, reason, next_retry_at } = delivery;
    expect(duration_ms).toBeLessThanOrEqual(ends_ms_max);
    expect((response_excerpt ?? "").length).toBeLessThanOrEqual(1024);
    expect(response_excerpt ?? "").not.toContain("\u0000");
    expect(reason === null).toBe(status === "delivered");
    expect(next_retry_at === null).toBe(status === "delivered");
  }
  expect(receivers.trespasses).toBe(0);
  expect(worker.errors).toEqual([]);
});
