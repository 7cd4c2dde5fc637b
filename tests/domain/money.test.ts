// From exact decimals to integer cents.

import { describe, expect, test } from "vitest";
import { decimal } from "../../src/domain/decimal.ts";
import {
  AmountOutOfRange,
  exponentOf,
  flatAmount,
  prorated,
  sumCents,
  toCents,
} from "../../src/domain/money.ts";
import { CURRENCIES } from "../../src/schema/currencies.ts";

describe("a flat fee is quantity times price", () => {
  test.each([
    ["3", 4900, 14_700, "14700"],
    ["1", 4900, 4900, "4900"],
    ["3", 0, 0, "0"],
    ["2.5", 1501, 3753, "3752.5"],
    ["3", 1500, 4500, "4500"],
    ["0", 9900, 0, "0"],
  ])("%s times %i is %i", (quantity, unit_cents, amount_cents, precise_amount) => {
    expect(flatAmount(decimal(quantity), unit_cents)).toEqual({ amount_cents, precise_amount });
  });
});

describe("a part of a period costs its share of days", () => {
  test.each([
    [3100, 17, 31, 1700, "1700"],
    [1000, 5, 7, 714, "714.285714285714"],
    [29_900, 50, 90, 16_611, "16611.111111111111"],
    [120_000, 184, 365, 60_493, "60493.150684931507"],
    [120_000, 184, 366, 60_328, "60327.868852459016"],
    [36_500, 1, 365, 100, "100"],
    [1, 1, 31, 0, "0.032258064516"],
    [1, 1, 2, 1, "0.5"],
    [3000, 0, 30, 0, "0"],
    [1_000_000_000_000, 365, 366, 997_267_759_563, "997267759562.841530054645"],
  ])("%i for %i of %i days is %i", (amount, billable, days, amount_cents, precise_amount) => {
    expect(prorated(amount, billable, days)).toEqual({ amount_cents, precise_amount });
  });
});

describe("amounts stay exact numbers or are refused", () => {
  test("up to 2^53 - 1 in either direction", () => {
    expect(toCents(9_007_199_254_740_991n)).toBe(Number.MAX_SAFE_INTEGER);
    expect(toCents(-9_007_199_254_740_991n)).toBe(Number.MIN_SAFE_INTEGER);
    expect(() => toCents(9_007_199_254_740_992n)).toThrow(AmountOutOfRange);
    expect(() => toCents(-9_007_199_254_740_992n)).toThrow(AmountOutOfRange);
  });

  test("a sum that leaves the range is refused, not rounded", () => {
    expect(sumCents([Number.MAX_SAFE_INTEGER, -5])).toBe(Number.MAX_SAFE_INTEGER - 5);
    expect(sumCents([Number.MAX_SAFE_INTEGER, 2, -5])).toBe(Number.MAX_SAFE_INTEGER - 3);
    expect(() => sumCents([Number.MAX_SAFE_INTEGER, 1])).toThrow(AmountOutOfRange);
    expect(sumCents([])).toBe(0);
  });

  test("a fee that leaves the range is refused", () => {
    const most = decimal("999999999999999");
    expect(() => flatAmount(most, 2)).toThrow(AmountOutOfRange);
  });
});

describe("currencies", () => {
  test.each([
    ["USD", 2],
    ["EUR", 2],
    ["JPY", 0],
    ["KRW", 0],
    ["KWD", 3],
    ["TND", 3],
    ["CLF", 4],
  ])("%s has %i decimals", (code, exponent) => {
    expect(exponentOf(code)).toBe(exponent);
  });

  test.each(["usd", "XXX", "ABC", "", "constructor"])("%j is no currency", (code) => {
    expect(() => exponentOf(code)).toThrow(RangeError);
  });

  test("the table holds only well-formed codes and known exponents", () => {
    const entries = Object.entries(CURRENCIES);
    expect(entries.length).toBeGreaterThan(160);
    for (const [code, exponent] of entries) {
      expect(code).toMatch(/^[A-Z]{3}$/);
      expect([0, 2, 3, 4]).toContain(exponent);
    }
  });
});
