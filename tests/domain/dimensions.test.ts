// Combinations of dimensions: how an event's properties become one, their order, their price.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  combinationOf,
  compareCombinations,
  matchPrice,
  valuesOf,
} from "../../src/domain/dimensions.ts";

const NAMES = ["model", "kind"];

describe("a combination", () => {
  test.each([
    [[], { model: "a" }, null],
    [NAMES, {}, "[null,null]"],
    [NAMES, undefined, "[null,null]"],
    [NAMES, { model: null, kind: "x" }, '[null,"x"]'],
    [NAMES, { model: 1, kind: true }, '["1","true"]'],
    [NAMES, { model: 1e-7, kind: "" }, '["0.0000001",""]'],
    [NAMES, { kind: "b", model: 'A "quoted" name', other: {} }, '["A \\"quoted\\" name","b"]'],
    [["constructor"], {}, "[null]"],
    [["model"], { model: "x".repeat(64) }, `["${"x".repeat(64)}"]`],
  ])("of %j in %j is %j", (dimensions, properties, combination) => {
    expect(combinationOf(dimensions, properties)).toEqual({ ok: true, combination });
  });

  test.each([{ model: {} }, { model: ["a"] }, { model: "x".repeat(65) }])(
    "cannot be made of %j",
    (properties) => {
      const field = "properties.model";
      expect(combinationOf(NAMES, properties)).toMatchObject({ ok: false, field });
    },
  );

  test("gives its values back by name", () => {
    const value = fc.option(fc.string({ maxLength: 64 }));
    fc.assert(
      fc.property(value, value, (model, kind) => {
        const made = combinationOf(NAMES, { model, kind });
        if (!made.ok || made.combination === null) throw new Error("It was refused.");
        expect(valuesOf(NAMES, made.combination)).toEqual({ model, kind });
      }),
    );
  });
});

test("combinations are ordered by their values, null first, then by code points", () => {
  const inOrder = [
    '[null,"z"]',
    '["",null]',
    '["B","a"]',
    '["a",null]',
    '["a","a"]',
    '["a","é"]',
    // Beyond the first plane, where the units of a JavaScript string sort otherwise.
    '["\uff5e",null]',
    '["\u{1f600}",null]',
  ];
  expect(inOrder.toReversed().sort(compareCombinations)).toEqual(inOrder);
  expect(compareCombinations('["a"]', '["a"]')).toBe(0);
});

test.each([
  [{ model: "large", kind: "out" }, "both"],
  [{ model: "large", kind: null }, "large"],
  [{ model: "large", kind: "Out" }, "large"],
  [{ model: "small", kind: "out" }, undefined],
  [{ model: null, kind: null }, undefined],
])("the first price whose names all match counts: %j", (values, amount) => {
  const prices = [
    { match: { model: "large", kind: "out" }, amount: "both" },
    { match: { model: "large" }, amount: "large" },
    { match: { model: "" }, amount: "empty" },
  ];
  expect(matchPrice(prices, values)?.amount).toBe(amount);
});
