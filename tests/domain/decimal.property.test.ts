// Exact decimals: parsing, printing, arithmetic, rounding, whatever the input.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  add,
  compare,
  type Decimal,
  decimal,
  decimalFromJson,
  divideRounded,
  formatDecimal,
  max,
  multiply,
  negate,
  numberText,
  parseDecimal,
  roundHalfAway,
  subtract,
} from "../../src/domain/decimal.ts";

/** A model without scale: an exact fraction of two integers. */
type Rational = { readonly over: bigint; readonly under: bigint };
type Both = { readonly text: string; readonly value: Decimal; readonly model: Rational };

/** Every text of the grammar, also with zeros on both ends. */
const sent = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 15 }),
    fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 12 }),
  )
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`);

const both = sent.map((text): Both => {
  const [whole = "", fraction = ""] = text.replace("-", "").split(".");
  const digits = BigInt(whole + fraction) * (text.startsWith("-") ? -1n : 1n);
  const model = { over: digits, under: 10n ** BigInt(fraction.length) };
  return { text, value: decimal(text), model };
});

const equals = (value: Decimal, { over, under }: Rational) =>
  value.digits * under === over * 10n ** BigInt(value.scale);
const magnitude = (value: bigint) => (value < 0n ? -value : value);

describe("decimals", () => {
  test("come back from their text unchanged, and canonical texts are fixed points", () => {
    fc.assert(
      fc.property(both, ({ text, value, model }) => {
        const parsed = parseDecimal(text);
        expect(parsed && equals(parsed, model)).toBe(true);
        const canonical = formatDecimal(value);
        expect(canonical).toMatch(/^(0|-?(0\.\d*[1-9]|[1-9]\d*(\.\d*[1-9])?))$/);
        expect(equals(decimal(canonical), model)).toBe(true);
        expect(formatDecimal(decimal(canonical))).toBe(canonical);
      }),
    );
  });

  test("have one canonical text per value", () => {
    fc.assert(
      fc.property(both, both, (a, b) => {
        const isSame = formatDecimal(a.value) === formatDecimal(b.value);
        expect(isSame).toBe(compare(a.value, b.value) === 0);
      }),
    );
  });

  test("add, multiply and compare as exact fractions do", () => {
    fc.assert(
      fc.property(both, both, ({ value: a, model: m }, { value: b, model: n }) => {
        const under = m.under * n.under;
        const [left, right] = [m.over * n.under, n.over * m.under];
        expect(equals(add(a, b), { over: left + right, under })).toBe(true);
        expect(equals(subtract(a, b), { over: left - right, under })).toBe(true);
        expect(equals(multiply(a, b), { over: m.over * n.over, under })).toBe(true);
        expect(equals(negate(a), { over: -m.over, under: m.under })).toBe(true);
        expect(compare(a, b)).toBe(left < right ? -1 : left > right ? 1 : 0);
        expect(compare(max(a, b), a) >= 0 && compare(max(a, b), b) >= 0).toBe(true);
      }),
    );
  });

  test("round to the nearest integer, and a half away from zero", () => {
    const denominator = fc.bigInt({ min: -1000n, max: 1000n }).filter((value) => value !== 0n);
    const halves = fc.oneof(
      fc.integer({ min: -50, max: 50 }).map((whole) => `${whole}.5`),
      fc.constant("-0.5"),
    );
    const value = fc.oneof(both, halves.map(read));
    fc.assert(
      fc.property(value, denominator, ({ value, model }, by) => {
        for (const [rounded, under] of [
          [roundHalfAway(value), model.under],
          [divideRounded(value, by), model.under * by],
        ] as const) {
          const error = magnitude(rounded * under - model.over);
          expect(2n * error <= magnitude(under)).toBe(true);
          if (2n * error === magnitude(under)) {
            expect(magnitude(rounded * under) > magnitude(model.over)).toBe(true);
          }
        }
      }),
    );
  });

  test("round the same on both sides of zero", () => {
    fc.assert(
      fc.property(both, ({ value }) => {
        expect(roundHalfAway(negate(value))).toBe(-roundHalfAway(value));
      }),
    );
  });

  test("are taken from a JSON number as the very number that was written, or not at all", () => {
    fc.assert(
      fc.property(fc.oneof(fc.double(), sent.map(Number)), (number) => {
        const taken = decimalFromJson(number);
        if (taken !== undefined) expect(Number(formatDecimal(taken))).toBe(number + 0);
        if (Number.isFinite(number)) expect(Number(numberText(number))).toBe(number + 0);
      }),
    );
  });

  test("of up to 15 digits survive the way through a JSON number", () => {
    const short = both.filter(({ value }) => formatDecimal(value).replace(/\D/g, "").length <= 15);
    fc.assert(
      fc.property(short, ({ value }) => {
        const text = formatDecimal(value);
        const taken = decimalFromJson(JSON.parse(text));
        expect(taken && formatDecimal(taken)).toBe(text);
      }),
    );
  });
});

function read(text: string): Both {
  const value = decimal(text);
  return { text, value, model: { over: value.digits, under: 10n ** BigInt(value.scale) } };
}
