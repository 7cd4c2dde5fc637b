// When requests are refused because those before them wait for too long.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { Load } from "../../../src/http/admission/load.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function isRefused(load: Load): boolean {
  try {
    load.admit();
    return false;
  } catch (error) {
    expect(error).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    return true;
  }
}

test("a burst after a pause is taken whole", () => {
  const load = new Load(new Bounds());
  vi.advanceTimersByTime(60_000);
  for (let i = 0; i < 1_500; i++) {
    expect(isRefused(load)).toBe(false);
    load.start();
  }
});

test("when none of many is answered within half a second, no more are taken", () => {
  const load = new Load(new Bounds());
  const running = Array.from({ length: 300 }, () => load.start());
  vi.advanceTimersByTime(499);
  expect(isRefused(load)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(isRefused(load)).toBe(true);
  for (const one of running) load.end(one, true);
  expect(isRefused(load)).toBe(false);
});

test("slow calls are no reason while few are running", () => {
  const load = new Load(new Bounds());
  for (let i = 0; i < 200; i++) load.start();
  vi.advanceTimersByTime(60_000);
  expect(isRefused(load)).toBe(false);
});

test("many at once are fine as long as as many are answered in half a second", () => {
  const load = new Load(new Bounds());
  const slow = load.start();
  const running: ReturnType<Load["start"]>[] = [];
  let refused = 0;
  for (let ms = 0; ms < 3_000; ms++) {
    vi.advanceTimersByTime(1);
    for (let i = 0; i < 4; i++) {
      if (isRefused(load)) refused += 1;
      else running.push(load.start());
    }
    // Each is answered after 300 ms: 1,200 are running at any time.
    if (ms >= 300) for (const one of running.splice(0, 4)) load.end(one, true);
  }
  expect(refused).toBe(0);
  load.end(slow, true);
});

test("what is refused later on is no answer, and lets no more in", () => {
  const load = new Load(new Bounds());
  const waiting = Array.from({ length: 300 }, () => load.start());
  for (let ms = 0; ms < 1_000; ms++) {
    vi.advanceTimersByTime(1);
    for (let i = 0; i < 4; i++) if (!isRefused(load)) load.end(load.start(), false);
  }
  expect(isRefused(load)).toBe(true);
  for (const one of waiting) load.end(one, true);
});
