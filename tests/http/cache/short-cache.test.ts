// What is remembered of the database's answers, for how long, and what cannot push it out.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  CACHED_MS,
  KNOWN_MAX,
  ShortCache,
  UNKNOWN_MAX,
} from "../../../src/http/cache/short-cache.ts";

/** Time passes when a test says so, however long the machine takes. */
let now_ms: number;
beforeEach(() => {
  now_ms = 1_000;
  vi.spyOn(performance, "now").mockImplementation(() => now_ms);
});
afterEach(() => vi.restoreAllMocks());

function passTime(ms: number): void {
  now_ms += ms;
}

test("a value is asked for once, and again when its time is over", async () => {
  const cache = new ShortCache<string>();
  const ask = vi.fn(async () => "found");
  expect(await Promise.all([cache.get("a", ask), cache.get("a", ask)])).toEqual(["found", "found"]);
  expect(await cache.get("a", ask)).toBe("found");
  expect(ask).toHaveBeenCalledTimes(1);
  expect(cache.peek("a")).toBe("found");
  passTime(CACHED_MS + 1);
  expect(cache.peek("a")).toBeUndefined();
  expect(cache.wasKnown("a")).toBe(true);
  await cache.get("a", ask);
  expect(ask).toHaveBeenCalledTimes(2);
});

test("what does not exist pushes out nothing that does, and is not kept for long", async () => {
  const cache = new ShortCache<string>();
  await cache.get("good", async () => "found");
  for (let i = 0; i < KNOWN_MAX + UNKNOWN_MAX; i++) await cache.get(`x${i}`, async () => undefined);
  expect(cache.peek("good")).toBe("found");
  expect(cache.size).toEqual({ known: 1, unknown: UNKNOWN_MAX });
  expect(cache.isUnknown(`x${KNOWN_MAX + UNKNOWN_MAX - 1}`)).toBe(true);
  expect(cache.isUnknown("x0")).toBe(false);
});

test("of too many values the oldest is forgotten, not all", async () => {
  const cache = new ShortCache<number>();
  for (let i = 0; i <= KNOWN_MAX; i++) await cache.get(`k${i}`, async () => i);
  expect(cache.size.known).toBe(KNOWN_MAX);
  expect(cache.wasKnown("k0")).toBe(false);
  expect(cache.peek("k1")).toBe(1);
});

test("what was being asked for when all was forgotten is not kept as good", async () => {
  const cache = new ShortCache<string>();
  let answer: (value: string) => void = () => {};
  const before = cache.get("a", () => new Promise((resolve) => (answer = resolve)));
  cache.forget();
  const after = cache.get("a", async () => "new");
  answer("old");
  expect(await before).toBe("old");
  expect(await after).toBe("new");
  expect(cache.peek("a")).not.toBe("old");
});

test("a question that fails is asked again", async () => {
  const cache = new ShortCache<string>();
  await expect(cache.get("a", () => Promise.reject(new Error("away")))).rejects.toThrow("away");
  expect(await cache.get("a", async () => "found")).toBe("found");
});
