// Slots by node: who waits, who is refused, and how a node that is away is found to be back.

import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { refuse } from "../../../src/errors.ts";
import { NodeLimit, Semaphore } from "../../../src/store/cluster/node-limits.ts";
import { asUnavailable, unavailable, unreachable } from "../../../src/store/db/failures.ts";

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

function limitOf(slots: number, wait_ms = 1_000) {
  const seen = { away: 0 };
  const limit = new NodeLimit({
    slots: () => slots,
    wait_ms,
    onAway: () => {
      seen.away += 1;
    },
  });
  return { limit, seen };
}

test("slots are given in the order of waiting, and refused after the wait", async () => {
  const full = { all: "full", own: "own" };
  const slots = new Semaphore({ all: () => 1, left: () => 0, wait_ms: WAIT_MS, full });
  const first = held();
  const order: string[] = [];
  const running = slots.run(first.work);
  const second = slots.run(async () => order.push("second"));
  const third = slots.run(async () => order.push("third"));
  vi.advanceTimersByTime(WAIT_MS - 1);
  await turn();
  expect(order).toEqual([]);
  first.end();
  await Promise.all([running, second, third]);
  expect(order).toEqual(["second", "third"]);
  expect(slots.used).toBe(0);
  const again = held();
  const busy = slots.run(again.work);
  const refused = expect(slots.run(async () => "never")).rejects.toMatchObject(AWAY);
  vi.advanceTimersByTime(WAIT_MS);
  await refused;
  again.end();
  await busy;
  expect(await slots.run(async () => "free")).toBe("free");
});

test("a node that fails is away: others are told at once, and one tries after a rest", async () => {
  const { limit, seen } = limitOf(4);
  await expect(limit.run("p", () => Promise.reject(away()))).rejects.toMatchObject(AWAY);
  expect(seen.away).toBe(1);
  let tried = 0;
  const attempt = () =>
    limit.run("p", async () => {
      tried += 1;
    });
  await expect(attempt()).rejects.toMatchObject(AWAY);
  vi.advanceTimersByTime(RETRY_MS - 1);
  await expect(attempt()).rejects.toMatchObject(AWAY);
  expect(tried).toBe(0);
  vi.advanceTimersByTime(1);
  const probe = held();
  const probing = limit.run("p", probe.work);
  await expect(attempt()).rejects.toMatchObject(AWAY);
  probe.end();
  await probing;
  await Promise.all([attempt(), attempt()]);
  expect(tried).toBe(2);
});

test("those who wait for a node that turns out to be away are told at once", async () => {
  const { limit } = limitOf(1, 60_000);
  const first = held();
  const running = expect(limit.run("p", first.work)).rejects.toMatchObject(AWAY);
  const waiting = expect(limit.run("p", async () => "waited")).rejects.toMatchObject(AWAY);
  first.end(away());
  await Promise.all([running, waiting]);
});

test("one failure among successes leaves the node as it is", async () => {
  const { limit, seen } = limitOf(4);
  const slow = held();
  const failing = expect(limit.run("p", slow.work)).rejects.toMatchObject(AWAY);
  await limit.run("p", async () => "meanwhile");
  slow.end(away());
  await failing;
  expect(seen.away).toBe(0);
  expect(await limit.run("p", async () => "fine")).toBe("fine");
});

test("a refusal for another reason says nothing about the node", async () => {
  const { limit, seen } = limitOf(4);
  const conflict = () => Promise.reject(refuse("already_exists", "There is one."));
  await expect(limit.run("p", conflict)).rejects.toMatchObject({ code: "already_exists" });
  expect(seen.away).toBe(0);
  expect(await limit.run("p", async () => "fine")).toBe("fine");
});

test.each([
  ["a call that waits in vain for a lock", unavailable("Another call holds it.", undefined)],
  ["what the service itself refuses for now", refuse("unavailable", "dues resume first.")],
])("%s says nothing about the node", async (_, refusal) => {
  const { limit, seen } = limitOf(4);
  await expect(limit.run("p", () => Promise.reject(refusal))).rejects.toBe(refusal);
  expect(seen.away).toBe(0);
  expect(await limit.run("p", async () => "fine")).toBe("fine");
});

test("one project leaves slots to its neighbours, and is told that it is its own doing", async () => {
  const { limit } = limitOf(4, WAIT_MS);
  const much = Array.from({ length: 5 }, held);
  const running = much.map(({ work }) => limit.run("much", work));
  const refused = Promise.all(
    running.slice(3).map((one) =>
      expect(one).rejects.toMatchObject({
        ...AWAY,
        message: expect.stringContaining("this project"),
      }),
    ),
  );
  expect(await limit.run("neighbour", async () => "served")).toBe("served");
  vi.advanceTimersByTime(WAIT_MS);
  await refused;
  for (const { end } of much) end();
  await Promise.all(running.slice(0, 3));
});

test("a slot that becomes free goes to the project that has the fewest", async () => {
  const { limit } = limitOf(4);
  const much = Array.from({ length: 3 }, held);
  const other = held();
  const running = [
    ...much.map(({ work }) => limit.run("much", work)),
    limit.run("other", other.work),
  ];
  const order: string[] = [];
  const waiting = ["much", "much", "neighbour"].map((project) =>
    limit.run(project, async () => order.push(project)),
  );
  other.end();
  await Promise.all(waiting.slice(2));
  expect(order[0]).toBe("neighbour");
  for (const { end } of much) end();
  await Promise.all([...running, ...waiting]);
  expect(order).toEqual(["neighbour", "much", "much"]);
});

test("who waits for a node whose slots are all taken is not told that it is away", async () => {
  const { limit } = limitOf(2, WAIT_MS);
  const taken = [held(), held()];
  const running = taken.map(({ work }, n) => limit.run(`p${n}`, work));
  const refused = expect(limit.run("late", async () => "never")).rejects.toMatchObject({
    ...AWAY,
    message: expect.stringContaining("Too many calls wait"),
  });
  vi.advanceTimersByTime(WAIT_MS);
  await refused;
  for (const { end } of taken) end();
  await Promise.all(running);
});

test("what shares a connection takes no slot, and is told at once of a node that is away", async () => {
  const { limit } = limitOf(1);
  const taken = held();
  const running = limit.run("p", taken.work);
  expect(await limit.share(async () => "read")).toBe("read");
  taken.end();
  await running;
  await expect(limit.share(() => Promise.reject(away()))).rejects.toMatchObject(AWAY);
  let asked = false;
  const read = limit.share(async () => {
    asked = true;
  });
  await expect(read).rejects.toMatchObject(AWAY);
  await expect(limit.run("p", async () => "never")).rejects.toMatchObject(AWAY);
  expect(asked).toBe(false);
});

test("a full disk is a fault until a write is done, and no reason to refuse reads", async () => {
  const { limit, seen } = limitOf(4);
  const full = () => Promise.reject(asUnavailable({ code: "53100" }));
  await expect(limit.write("p", full)).rejects.toMatchObject(AWAY);
  expect(await limit.run("p", async () => "read")).toBe("read");
  expect(seen.away).toBe(0);
  expect(limit.writeFault).toContain("no room left on its disk");
  await limit.write("p", async () => "written");
  expect(limit.writeFault).toBeUndefined();
});
