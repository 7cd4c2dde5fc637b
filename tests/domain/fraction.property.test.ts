// Exact fractions, whatever the input: compared with two integers.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decimal, formatDecimal } from "../../src/domain/decimal.ts";
import {
  compareFractions,
  countBegun,
  type Fraction,
  formatFraction,
  fraction,
  isNothing,
  minus,
  NOTHING,
  notNegative,
  plus,
  roundFraction,
  shifted,
  times,
} from "../../src/domain/fraction.ts";

const digits = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
const scale = fc.integer({ min: 0, max: 12 });
const bottom = fc.oneof(fc.constant(1n), fc.bigInt({ min: 1n, max: 10n ** 10n }));
const decimals = fc.record({ digits, scale });
const fractions = fc.tuple(decimals, bottom).map(([top, below]): Fraction => fraction(top, below));

/** Numerator and denominator as integers. */
const model = ({ top, bottom: below }: Fraction): readonly [bigint, bigint] => [
  top.digits,
  below * 10n ** BigInt(top.scale),
];
const magnitude = (value: bigint) => (value < 0n ? -value : value);

function expectEqual(found: Fraction, [above, below]: readonly [bigint, bigint]): void {
  const [a, b] = model(found);
  expect(a * below).toBe(above * b);
}

describe("fractions", () => {
  test("add, subtract and multiply exactly", () => {
    fc.assert(
      fc.property(fractions, fractions, decimals, (a, b, factor) => {
        const [[an, ad], [bn, bd]] = [model(a), model(b)];
        expectEqual(plus(a, b), [an * bd + bn * ad, ad * bd]);
        expectEqual(minus(a, b), [an * bd - bn * ad, ad * bd]);
        const tens = 10n ** BigInt(factor.scale);
        expectEqual(times(a, factor), [an * factor.digits, ad * tens]);
        expectEqual(shifted(a, 3), [an * 1_000n, ad]);
      }),
    );
  });

  test("are in one order, and cut at 0", () => {
    fc.assert(
      fc.property(fractions, fractions, (a, b) => {
        const [[an, ad], [bn, bd]] = [model(a), model(b)];
        const difference = an * bd - bn * ad;
        const sign = difference === 0n ? 0 : difference < 0n ? -1 : 1;
        expect(compareFractions(a, b)).toBe(sign);
        expect(notNegative(a)).toBe(an < 0n ? NOTHING : a);
        expect(isNothing(a)).toBe(an === 0n);
      }),
    );
  });

  test("are shown to 12 places, half away from zero, and plain decimals in full", () => {
    fc.assert(
      fc.property(fractions, (a) => {
        const [above, below] = model(a);
        if (a.bottom === 1n) expect(formatFraction(a)).toBe(formatDecimal(a.top));
        else {
          const shown = decimal(formatFraction(a));
          expect(shown.scale).toBeLessThanOrEqual(12);
          // Twice the distance is at most one unit of the last place.
          const tens = 10n ** BigInt(shown.scale);
          const off = magnitude(shown.digits * below - above * tens) * 10n ** 12n;
          expect(2n * off <= below * tens).toBe(true);
        }
      }),
    );
  });

  test("are rounded to the nearest whole number", () => {
    fc.assert(
      fc.property(fractions, (a) => {
        const [above, below] = model(a);
        expect(2n * magnitude(roundFraction(a) * below - above) <= below).toBe(true);
      }),
    );
    const half = (text: string) => roundFraction(fraction(decimal(text), 2n));
    expect([half("1"), half("-1"), half("3"), half("0.9999")]).toEqual([1n, -1n, 2n, 0n]);
  });

  test("begin as many packages as their share, rounded up", () => {
    const size = fc.record({ digits: fc.bigInt({ min: 1n, max: 10n ** 9n }), scale });
    fc.assert(
      fc.property(fractions, size, (a, one) => {
        const [above, below] = model(a);
        fc.pre(above > 0n);
        const begun = countBegun(a, one);
        const tens = 10n ** BigInt(one.scale);
        // (begun - 1) · size < a <= begun · size
        expect((begun - 1n) * one.digits * below < above * tens).toBe(true);
        expect(begun * one.digits * below >= above * tens).toBe(true);
      }),
    );
  });
});
