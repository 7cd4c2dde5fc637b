// Places by node: who waits, who is refused, and how a node that is away is found to be back.

import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { refuse } from "../../src/errors.ts";
import { unavailable, unreachable } from "../../src/store/failures.ts";
import { NodeLimit, Semaphore } from "../../src/store/node-limits.ts";

const AWAY = { code: "unavailable", status: 503 };
const RETRY_MS = 500;
const WAIT_MS = 200;

// Time passes when a test says so.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work that ends when it is told to. */
function held() {
  let end: (error?: unknown) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error));
  });
  return { work: () => ended, end };
}

const away = () => unreachable("The database cannot be reached just now.");

function limitOf(places: number, wait_ms = 1_000) {
  const seen = { away: 0 };
  const limit = new NodeLimit({
    places: () => places,
    wait_ms,
    onAway: () => {
      seen.away += 1;
    },
  });
  return { limit, seen };
}

test("places are given in the order of waiting, and refused after the wait", async () => {
  const places = new Semaphore(() => 1, WAIT_MS);
  const first = held();
  const order: string[] = [];
  const running = places.run(first.work);
  const second = places.run(async () => order.push("second"));
  const third = places.run(async () => order.push("third"));
  vi.advanceTimersByTime(WAIT_MS - 1);
  await turn();
  expect(order).toEqual([]);
  first.end();
  await Promise.all([running, second, third]);
  expect(order).toEqual(["second", "third"]);
  expect(places.used).toBe(0);
  const again = held();
  const busy = places.run(again.work);
  const refused = expect(places.run(async () => "never")).rejects.toMatchObject(AWAY);
  vi.advanceTimersByTime(WAIT_MS);
  await refused;
  again.end();
  await busy;
  expect(await places.run(async () => "free")).toBe("free");
});

test("a node that fails is away: others are told at once, and one tries after a rest", async () => {
  const { limit, seen } = limitOf(4);
  await expect(limit.run(() => Promise.reject(away()))).rejects.toMatchObject(AWAY);
  expect(seen.away).toBe(1);
  let tried = 0;
  const attempt = () =>
    limit.run(async () => {
      tried += 1;
    });
  await expect(attempt()).rejects.toMatchObject(AWAY);
  vi.advanceTimersByTime(RETRY_MS - 1);
  await expect(attempt()).rejects.toMatchObject(AWAY);
  expect(tried).toBe(0);
  vi.advanceTimersByTime(1);
  const probe = held();
  const probing = limit.run(probe.work);
  await expect(attempt()).rejects.toMatchObject(AWAY);
  probe.end();
  await probing;
  await Promise.all([attempt(), attempt()]);
  expect(tried).toBe(2);
});

test("those who wait for a node that turns out to be away are told at once", async () => {
  const { limit } = limitOf(1, 60_000);
  const first = held();
  const running = expect(limit.run(first.work)).rejects.toMatchObject(AWAY);
  const waiting = expect(limit.run(async () => "waited")).rejects.toMatchObject(AWAY);
  first.end(away());
  await Promise.all([running, waiting]);
});

test("one failure among successes leaves the node as it is", async () => {
  const { limit, seen } = limitOf(4);
  const slow = held();
  const failing = expect(limit.run(slow.work)).rejects.toMatchObject(AWAY);
  await limit.run(async () => "meanwhile");
  slow.end(away());
  await failing;
  expect(seen.away).toBe(0);
  expect(await limit.run(async () => "fine")).toBe("fine");
});

test("a refusal for another reason says nothing about the node", async () => {
  const { limit, seen } = limitOf(4);
  const conflict = () => Promise.reject(refuse("already_exists", "There is one."));
  await expect(limit.run(conflict)).rejects.toMatchObject({ code: "already_exists" });
  expect(seen.away).toBe(0);
  expect(await limit.run(async () => "fine")).toBe("fine");
});

test.each([
  ["a call that waits in vain for a lock", unavailable("Another call holds it.", undefined)],
  ["what the service itself refuses for now", refuse("unavailable", "dues resume first.")],
])("%s says nothing about the node", async (_, refusal) => {
  const { limit, seen } = limitOf(4);
  await expect(limit.run(() => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(seen.away).toBe(0);
  expect(await limit.run(async () => "fine")).toBe("fine");
});
