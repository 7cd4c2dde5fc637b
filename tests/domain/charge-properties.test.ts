// The properties of a price: missing ones are named as the charge is written, and prices that
// mean the same are the same.

import { describe, expect, test } from "vitest";
import {
  comparablePrice,
  flatFeePrice,
  PRICE_PROPERTIES,
  usagePrice,
  wordsOnFees,
} from "../../src/domain/charge-properties.ts";
import { Refusal } from "../../src/errors.ts";

function refusedField(read: () => unknown): string | undefined {
  try {
    read();
  } catch (error) {
    return error instanceof Refusal ? error.details?.[0]?.field : undefined;
  }
  return undefined;
}

describe("a property that is missing", () => {
  test.each([
    ["as in the file", { type: "package" }, "charges[0].rate"],
    ["as in the API", { charge_model: "package" }, "charges[0].properties.amount"],
    [
      "as in both: the API's counts",
      { type: "x", charge_model: "x" },
      "charges[0].properties.amount",
    ],
  ])("%s", (_, charge, field) => {
    expect(refusedField(() => usagePrice("package", charge, "charges[0]."))).toBe(field);
  });

  test.each([
    ["type", "rate"],
    ["charge_model", "amount"],
  ])("in a tier and in a price of a charge with a %s it is %s", (key, amount) => {
    const at = key === "type" ? "" : "properties.";
    const written = (own: object) => (key === "type" ? own : { properties: own });
    const tiers = [{ up_to: null }];
    const standard = { amount: "1", rate: "1", prices: [{ match: { a: "b" } }] };
    expect(
      refusedField(() => usagePrice("volume", { [key]: "volume", ...written({ tiers }) }, "")),
    ).toBe(`${at}tiers[0].${amount}`);
    expect(
      refusedField(() => usagePrice("standard", { [key]: "standard", ...written(standard) }, "")),
    ).toBe(`${at}prices[0].${amount}`);
  });
});

test("every property but its own is refused on a flat fee", () => {
  const foreign = PRICE_PROPERTIES.filter((name) => !["amount", "quantity_mode"].includes(name));
  expect(foreign.length).toBeGreaterThan(5);
  for (const name of foreign) {
    expect(refusedField(() => flatFeePrice({ type: "flat_fee", [name]: "1" }, ""))).toBe(name);
  }
});

test("a fee has all words of the caller's own that cannot be taken for those of a combination", () => {
  const alone = { match: "none", dimensions: "3 x 4 cm", note: "a" };
  expect(wordsOnFees(alone)).toEqual(alone);
  const both = { match: { x: "y" }, dimensions: { x: "y" }, note: "a" };
  expect(wordsOnFees(both)).toEqual({ dimensions: { x: "y" }, note: "a" });
});

describe("prices that mean the same", () => {
  const priced = (match: Record<string, string>, amount: string) =>
    comparablePrice({ amount, prices: [{ match, amount }] });

  test("have the same amounts, and the same values to match in any order", () => {
    expect(priced({ a: "x", b: "y" }, "0.10")).toEqual(priced({ b: "y", a: "x" }, "00.1"));
  });

  test("but a value to match is text: 1.0 is not 1", () => {
    expect(priced({ a: "1.0" }, "1")).not.toEqual(priced({ a: "1" }, "1"));
  });
});
