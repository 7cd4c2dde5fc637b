// How often a call is tried, and for how long.

import { beforeEach, expect, test, vi } from "vitest";
import { retried } from "../../../src/store/db/failures.ts";

const MAX_MS = 4_500;
const LOCK_TIMEOUT = { code: "55P03" };
const DEADLOCK = { code: "40P01" };
const HELD_UP = { code: "unavailable", retryable: true };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  return () => vi.useRealTimers();
});

/** Fails as told, each time after so many milliseconds. */
function failing(error: unknown, took_ms: number) {
  return vi.fn(async () => {
    vi.advanceTimersByTime(took_ms);
    throw error;
  });
}

test("a wait for a lock is tried again unless both would take too long", async () => {
  const soon = failing(LOCK_TIMEOUT, 2_000);
  await expect(retried(soon, MAX_MS)).rejects.toMatchObject(HELD_UP);
  expect(soon).toHaveBeenCalledTimes(2);
  const late = failing(LOCK_TIMEOUT, 2_500);
  await expect(retried(late, MAX_MS)).rejects.toMatchObject({ ...HELD_UP, cause: LOCK_TIMEOUT });
  expect(late).toHaveBeenCalledTimes(1);
});

test("deadlocks are tried again five times or until time is up, then the caller is told to", async () => {
  const quick = failing(DEADLOCK, 10);
  await expect(retried(quick, MAX_MS)).rejects.toMatchObject({ ...HELD_UP, cause: DEADLOCK });
  expect(quick).toHaveBeenCalledTimes(5);
  const slow = failing(DEADLOCK, 1_200);
  await expect(retried(slow, MAX_MS)).rejects.toMatchObject(HELD_UP);
  expect(slow).toHaveBeenCalledTimes(3);
});

test("without a limit a second try is begun however long the first took", async () => {
  const slow = failing(LOCK_TIMEOUT, 60_000);
  await expect(retried(slow, Number.POSITIVE_INFINITY)).rejects.toMatchObject(HELD_UP);
  expect(slow).toHaveBeenCalledTimes(2);
});
