// What the workers' thread tells the main one: a busy thread holds up no scrape for long, and
// nobody who wants to know what its jobs did.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { JobRun } from "../../src/schema/jobs.ts";
import type { Snapshot } from "../../src/telemetry.ts";
import { jobsOf, snapshotsOf } from "../../src/workers/thread-messages.ts";

const snapshot = (name: string): Snapshot =>
  [{ name, help: "", type: "gauge", values: [], aggregator: "sum" }] as unknown as Snapshot;

const RAN = { last_run_at: new Date("2026-03-01T00:00:00.000Z"), took_ms: 3, done: 1 };

class FakeThread extends EventEmitter {
  readonly asked: unknown[] = [];
  postMessage(message: unknown): void {
    this.asked.push(message);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("each call asks the thread and returns what it answers", async () => {
  const thread = new FakeThread();
  const read = snapshotsOf(thread);
  const [first, second] = [read(), read()];
  thread.emit("message", { metrics: snapshot("a") });
  expect(await Promise.all([first, second])).toEqual([snapshot("a"), snapshot("a")]);
  expect(thread.asked).toEqual(["metrics", "metrics"]);
});

test("a thread that does not answer in half a second is shown as it was last", async () => {
  const thread = new FakeThread();
  const read = snapshotsOf(thread);
  const early = read();
  await vi.advanceTimersByTimeAsync(500);
  expect(await early).toEqual([]);
  thread.emit("message", { metrics: snapshot("late") });
  const next = read();
  await vi.advanceTimersByTimeAsync(499);
  let settled = false;
  next.then(() => {
    settled = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(settled).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(await next).toEqual(snapshot("late"));
});

test("what its jobs did is known as it was told last, and is no answer to a scrape", async () => {
  const thread = new FakeThread();
  const jobs = jobsOf(thread);
  const read = snapshotsOf(thread);
  expect(jobs()).toEqual([]);
  const told: JobRun[] = [
    { name: "billing", description: "Periods closed.", pause_ms: 1_000, failures: 0, ...RAN },
  ];
  const scrape = read();
  thread.emit("message", { jobs: told });
  thread.emit("message", { metrics: snapshot("a") });
  expect(jobs()).toEqual(told);
  expect(await scrape).toEqual(snapshot("a"));
});
