// Receivers that hang, drip, flood or lie: each attempt ends in time, is recorded for what it was,
// and costs little memory. All at once.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, register, tell } from "../support/courier.ts";
import { HostileReceivers } from "../support/hostile-receivers.ts";

const ENDS_MS_MAX = 10_500;
const GROWTH_BYTES_MAX = 32 * 1024 * 1024;
const SAMPLE_MS = 50;

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
  "stalled handshake": { status: "failed", error: "timeout" },
};

let app: App;
let receivers: HostileReceivers;
let courier: Courier;

beforeAll(async () => {
  app = await startApp();
  receivers = await HostileReceivers.start();
  courier = new Courier(app);
});
afterAll(async () => {
  await courier.close();
  await receivers.close();
  await app.close();
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

test("no hostile receiver holds an attempt beyond its deadline or fills the memory", async () => {
  expect(receivers.all.map(({ name }) => name).toSorted()).toEqual(
    Object.keys(VERDICTS).toSorted(),
  );
  const names = new Map<string, string>();
  for (const { name, url } of receivers.all) names.set((await register(app, url)).id, name);
  await tell(app, 1, 1);

  collectGarbage();
  const before = process.memoryUsage().rss;
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, SAMPLE_MS);
  const started = performance.now();
  expect(await courier.deliver()).toBe(receivers.all.length);
  const took_ms = performance.now() - started;
  clearInterval(sampling);

  expect(took_ms).toBeLessThan(ENDS_MS_MAX + 500);
  expect((peak - before) / 1024 / 1024).toBeLessThan(GROWTH_BYTES_MAX / 1024 / 1024);
  const { webhook_deliveries } = await app.get("/v1/webhook-deliveries?all=1");
  const verdicts = Object.fromEntries(
    webhook_deliveries.map(({ endpoint_id, status, error, http_status }: Json) => [
      names.get(endpoint_id),
      { status, error, ...(http_status !== null && { http: http_status }) },
    ]),
  );
  expect(verdicts).toEqual(VERDICTS);
  for (const delivery of webhook_deliveries) {
    const { duration_ms, response_excerpt, status, reason, next_retry_at } = delivery;
    expect(duration_ms).toBeLessThanOrEqual(ENDS_MS_MAX);
    expect((response_excerpt ?? "").length).toBeLessThanOrEqual(1024);
    expect(response_excerpt ?? "").not.toContain("\u0000");
    expect(reason === null).toBe(status === "delivered");
    expect(next_retry_at === null).toBe(status === "delivered");
  }
  expect(receivers.trespasses).toBe(0);
});
