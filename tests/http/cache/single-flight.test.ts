// However many ask at once, one computes, and nobody gets a result that began before they asked.

import { expect, test } from "vitest";
import { refuse } from "../../../src/errors.ts";
import { SingleFlight } from "../../../src/http/cache/single-flight.ts";

const allow = () => {};

/** Computations that end when they are told to, each with its number as the result. */
function computations() {
  const ends: (() => void)[] = [];
  const compute = () => {
    const number = ends.length + 1;
    return new Promise<number>((resolve) => ends.push(() => resolve(number)));
  };
  return { compute, end: (number: number) => ends[number - 1]?.(), begun: () => ends.length };
}

test("callers who come while one is computed share the next one", async () => {
  const flight = new SingleFlight<number>();
  const { compute, end, begun } = computations();
  const first = flight.fresh("a", allow, compute);
  const later = [flight.fresh("a", allow, compute), flight.fresh("a", allow, compute)];
  expect(begun()).toBe(1);
  end(1);
  expect(await first).toBe(1);
  await expect.poll(begun).toBe(2);
  end(2);
  expect(await Promise.all(later)).toEqual([2, 2]);
});

test("keys do not wait for one another", async () => {
  const flight = new SingleFlight<number>();
  const { compute, begun } = computations();
  void flight.fresh("a", allow, compute);
  void flight.fresh("b", allow, compute);
  expect(begun()).toBe(2);
});

test("a refusal is asked for by those who start a computation, not by those who share one", async () => {
  const flight = new SingleFlight<number>();
  const { compute, end } = computations();
  let left = 2;
  const admit = () => {
    if (left === 0) throw new Error("too many");
    left -= 1;
  };
  const asked = Array.from({ length: 5 }, () => flight.fresh("a", admit, compute));
  end(1);
  await asked[0];
  await expect.poll(() => left).toBe(0);
  await expect(flight.fresh("a", admit, compute)).rejects.toThrow("too many");
  end(2);
  expect(await Promise.all(asked)).toEqual([1, 2, 2, 2, 2]);
});

test("after a failure the next caller computes again", async () => {
  const flight = new SingleFlight<number>();
  const failing = flight.fresh("a", allow, () => Promise.reject(new Error("once")));
  await expect(failing).rejects.toThrow("once");
  expect(await flight.fresh("a", allow, async () => 7)).toBe(7);
});

test("when the database is away, those who share the next one are told, and then it is tried", async () => {
  const flight = new SingleFlight<number>();
  let fail = (_: unknown) => {};
  const hanging = () =>
    new Promise<number>((_, reject) => {
      fail = reject;
    });
  const asked = [1, 2, 3].map(() => flight.fresh("a", allow, hanging));
  fail(refuse("unavailable", "The database cannot be reached just now. Try again."));
  for (const one of asked) await expect(one).rejects.toMatchObject({ code: "unavailable" });
  expect(await flight.fresh("a", allow, async () => 7)).toBe(7);
});
