// Callers take their turn, so that those who never stop asking cost little.

import { expect, test } from "vitest";
import { monotonicMs } from "../../src/clock.ts";
import { Turnstile } from "../../src/http/turnstile.ts";

/** Whether it resolves before anything else can happen. */
async function isAtOnce(turn: Promise<void>): Promise<boolean> {
  let done = false;
  turn.then(() => {
    done = true;
  });
  await null;
  await null;
  return done;
}

test("a single caller goes through at once, and so does the next one when the first is past", async () => {
  const turnstile = new Turnstile();
  expect(await isAtOnce(turnstile.turn())).toBe(true);
  const second = turnstile.turn();
  expect(await isAtOnce(second)).toBe(false);
  await second;
  // One more waits for its turn, and then nobody is left.
  await turnstile.turn();
  while (!(await isAtOnce(turnstile.turn())));
});

test("many go through one after the other, in the order in which they came, at most 50 a second", async () => {
  const turnstile = new Turnstile();
  const through: number[] = [];
  const start = monotonicMs();
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      await turnstile.turn();
      through.push(i);
    }),
  );
  expect(through).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(monotonicMs() - start).toBeGreaterThan(300);
});

test("no more than 500 are kept waiting: who comes then goes through at once", async () => {
  const turnstile = new Turnstile();
  const waiting = Array.from({ length: 501 }, () => turnstile.turn());
  expect(await isAtOnce(waiting[500] as Promise<void>)).toBe(false);
  expect(await isAtOnce(turnstile.turn())).toBe(true);
});
