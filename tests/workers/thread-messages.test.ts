// Asking the workers' thread for its metrics: a thread that is busy holds no scrape up for long.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Snapshot } from "../../src/telemetry.ts";
import { snapshotsOf } from "../../src/workers/thread-messages.ts";

const snapshot = (name: string): Snapshot =>
  [{ name, help: "", type: "gauge", values: [], aggregator: "sum" }] as unknown as Snapshot;

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
  thread.emit("message", snapshot("a"));
  expect(await Promise.all([first, second])).toEqual([snapshot("a"), snapshot("a")]);
  expect(thread.asked).toEqual(["metrics", "metrics"]);
});

test("a thread that does not answer in half a second is shown as it was last", async () => {
  const thread = new FakeThread();
  const read = snapshotsOf(thread);
  const early = read();
  await vi.advanceTimersByTimeAsync(500);
  expect(await early).toEqual([]);
  thread.emit("message", snapshot("late"));
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
