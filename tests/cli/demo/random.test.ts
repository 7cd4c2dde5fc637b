// Chance in the demo: the same for the same seed and name, different for others, and fair enough.

import { expect, test } from "vitest";
import { randomOf } from "../../../src/cli/demo/random.ts";

const draws = (seed: number, name: string) => {
  const random = randomOf(seed, name);
  return Array.from({ length: 1_000 }, () => random.next());
};

test("a seed and a name give one sequence", () => {
  expect(draws(1, "acme")).toEqual(draws(1, "acme"));
  expect(draws(1, "acme")).not.toEqual(draws(2, "acme"));
  expect(draws(1, "acme")).not.toEqual(draws(1, "株式会社"));
  const mean = draws(1, "acme").reduce((sum, value) => sum + value, 0) / 1_000;
  expect(mean).toBeGreaterThan(0.45);
  expect(mean).toBeLessThan(0.55);
});

test("whole numbers reach both ends and nothing beyond", () => {
  const random = randomOf(7, "ends");
  const seen = new Set(Array.from({ length: 500 }, () => random.int(2, 5)));
  expect([...seen].sort()).toEqual([2, 3, 4, 5]);
  expect(random.pick(["only"])).toBe("only");
});
