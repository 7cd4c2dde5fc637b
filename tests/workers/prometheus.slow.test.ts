// What real processes report of their workers: in the thread beside the API, in a process of their
// own, and nothing where there are none.

import { afterEach, beforeEach, expect, test } from "vitest";
import type { JobRun } from "../../src/schema/jobs.ts";
import { Fleet, monthsAhead } from "../crash/fleet.ts";
import { Exposition } from "../support/exposition.ts";
import { type ServiceProcess, startService, until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

const SUBSCRIPTIONS = 3;
const TEST_MS = 120_000;
const JOBS = [
  "analytics_totals",
  "backlog",
  "billing",
  "idempotency_sweep",
  "webhook_claims",
  "webhook_results",
  "webhook_sweep",
];

let fleet: Fleet;
let receivers: Receiver[] = [];
let processes: ServiceProcess[] = [];

beforeEach(async () => {
  fleet = await Fleet.open();
});
afterEach(async () => {
  await Promise.all(processes.map((service) => service.signal("SIGKILL")));
  processes = [];
  for (const receiver of receivers) await receiver.close();
  receivers = [];
  await fleet.close();
});

async function start(role: "all" | "api" | "worker", ahead_ms = 0): Promise<ServiceProcess> {
  const { connection } = fleet;
  const env = { WEBHOOK_ALLOW_PRIVATE: "1" };
  const service = await startService({ connection, role, ahead_ms, env });
  processes.push(service);
  return service;
}

async function scrape(service: ServiceProcess): Promise<Exposition> {
  const answer = await fetch(`${service.base_url}/metrics`);
  expect(answer.status).toBe(200);
  return new Exposition(await answer.text());
}

async function listenWith(api: ServiceProcess, status: number): Promise<void> {
  const receiver = await Receiver.start();
  receivers.push(receiver);
  receiver.answer = { status };
  const endpoint = { url: receiver.url(), events: ["invoice.created"] };
  await fleet.caller.ok(api, "POST", "/v1/webhooks", endpoint);
}

test.each(["all", "worker"] as const)(
  "with the role %s, closes and deliveries are counted as they happen",
  { timeout: TEST_MS },
  async (role) => {
    const api = await start("api");
    await fleet.makeSubscriptions(api, SUBSCRIPTIONS);
    await listenWith(api, 204);
    await listenWith(api, 500);

    const early = await start(role);
    await until(async () => (await scrape(early)).families.has("dues_periods_closed_total"));
    const before = await scrape(early);
    expect(before.value("dues_periods_closed_total")).toBe(0);
    expect(before.value("dues_webhook_attempts_total", { result: "delivered" })).toBe(0);
    await early.signal("SIGTERM");

    const service = await start(role, monthsAhead(1));
    const attempts = (metrics: Exposition, result: string) =>
      metrics.value("dues_webhook_attempts_total", { result });
    await until(async () => {
      const metrics = await scrape(service);
      return ["delivered", "failed"].every((result) => attempts(metrics, result) === SUBSCRIPTIONS);
    });
    const metrics = await scrape(service);
    expect(metrics.value("dues_periods_closed_total")).toBe(SUBSCRIPTIONS);
    expect(metrics.value("dues_invoices_created_total")).toBe(SUBSCRIPTIONS);
    expect(metrics.value("dues_close_batch_seconds_count")).toBe(1);
    expect(metrics.value("dues_close_batch_seconds_sum")).toBeGreaterThan(0);
    expect(metrics.value("dues_webhook_attempt_seconds_count")).toBe(2 * SUBSCRIPTIONS);
    expect(metrics.value("dues_subscriptions_set_aside")).toBe(0);
    for (const job of JOBS) {
      expect(metrics.value("dues_job_failures_total", { job }), job).toBe(0);
    }
    const ran_at = metrics.value("dues_job_last_run_timestamp_seconds", { job: "billing" });
    expect(ran_at).toBeGreaterThan(0);
    const readJobs = async () =>
      ((await fleet.caller.ok(service, "GET", "/readyz")) as { jobs: JobRun[] }).jobs;
    // The workers' thread tells of its jobs once a second.
    await until(async () =>
      (await readJobs()).some((job) => job.name === "billing" && job.last_run_at !== null),
    );
    const jobs = await readJobs();
    const names = jobs.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([...JOBS, "last_used"]));
    expect(jobs.filter(({ failures }) => failures > 0)).toEqual([]);
    // The API's loop runs beside them, in the main thread.
    expect(metrics.value("dues_job_failures_total", { job: "last_used" })).toBe(0);
    expect(metrics.value("dues_worker_heap_used_bytes")).toBeGreaterThan(1_000_000);
    expect(metrics.value("process_resident_memory_bytes")).toBeGreaterThan(1_000_000);
    const scrapes = { method: "GET", route: "/metrics", status: "200" };
    expect(metrics.value("dues_http_requests_total", scrapes)).toBeGreaterThan(0);
    expect(service.errors).toEqual([]);
    expect(await service.signal("SIGTERM")).toEqual({ code: 0, signal: null });
  },
);

test("with the role all, the heap of the thread is not that of the main thread", {
  timeout: TEST_MS,
}, async () => {
  const service = await start("all");
  await until(async () => (await scrape(service)).families.has("dues_worker_heap_used_bytes"));
  const metrics = await scrape(service);
  const heaps = ["dues_worker_heap_used_bytes", "process_heap_used_bytes"].map((name) =>
    metrics.value(name),
  );
  expect(heaps[0]).toBeLessThan(Number(heaps[1]) * 0.8);
});

test("with the role api, nothing is said of workers", { timeout: TEST_MS }, async () => {
  const { families } = await scrape(await start("api"));
  const names = [...families.keys()].filter((name) => name.startsWith("dues_"));
  expect(names.sort()).toEqual([
    "dues_bound_level",
    "dues_bound_refusals_total",
    "dues_event_loop_delay_p99_seconds",
    "dues_failed_authentications_total",
    "dues_http_request_seconds",
    "dues_http_requests_total",
    "dues_job_failures_total",
    "dues_job_last_run_timestamp_seconds",
  ]);
});
