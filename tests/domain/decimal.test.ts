// Exact decimals: parsing, printing, arithmetic, rounding.

import { describe, expect, test } from "vitest";
import {
  add,
  compare,
  decimal,
  decimalFromJson,
  divideRounded,
  divideToPlaces,
  formatDecimal,
  integer,
  isNegative,
  isZero,
  max,
  multiply,
  negate,
  numberText,
  ONE,
  parseDecimal,
  roundHalfAway,
  shiftPoint,
  subtract,
  ZERO,
} from "../../src/domain/decimal.ts";

const read = (text: string) => {
  const parsed = parseDecimal(text);
  return parsed === undefined ? undefined : formatDecimal(parsed);
};

describe("reading what callers send", () => {
  test.each([
    ["30.75", "30.75"],
    ["3", "3"],
    ["3.000", "3"],
    ["0.10", "0.1"],
    ["007", "7"],
    ["0", "0"],
    ["-0", "0"],
    ["-0.000", "0"],
    ["-5", "-5"],
    ["-0.05", "-0.05"],
    ["100", "100"],
    ["999999999999999.999999999999", "999999999999999.999999999999"],
    ["0.000000000001", "0.000000000001"],
  ])("%s is written canonically as %s", (text, canonical) => {
    expect(read(text)).toBe(canonical);
  });

  test.each([
    ..."abc|1e3|1E3||NaN|Infinity|-Infinity|0x10|1,5|--1|+1|-|.|.5|5.|1.2.3|1_000|１".split("|"),
    " 1",
    "1 ",
    "1\n",
    "1234567890123456",
    "1.1234567890123",
    "1\u0000",
    "٣",
  ])("%j is refused", (text) => {
    expect(parseDecimal(text)).toBeUndefined();
  });

  test("values of our own may be longer than what callers may send", () => {
    const long = "123456789012345678901234567890.123456789012345678";
    expect(formatDecimal(decimal(long))).toBe(long);
    expect(formatDecimal(decimal("1.50000000000000000000"))).toBe("1.5");
  });

  test.each(["", "abc", "1e3", "NaN", "1."])("%j is no value of our own either", (text) => {
    expect(() => decimal(text)).toThrow(RangeError);
  });
});

describe("numbers in JSON", () => {
  test.each([
    [3, "3"],
    [-0, "0"],
    [1.005, "1.005"],
    [0.1, "0.1"],
    [1e-7, "0.0000001"],
    [-2.5e-9, "-0.0000000025"],
    [1e-12, "0.000000000001"],
    [999_999_999_999_999, "999999999999999"],
    ["2.50", "2.5"],
  ])("%j is taken as %s", (value, text) => {
    const parsed = decimalFromJson(value);
    expect(parsed && formatDecimal(parsed)).toBe(text);
  });

  test.each([
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [1e15],
    [1e21],
    [1e-13],
    [0.1 + 0.2],
    // The double nearest to 123456789012345.123 is another number already.
    [123456789012345.12],
    [null],
    [undefined],
    [true],
    [[1]],
    [{}],
    ["1e3"],
  ])("%j is refused", (value) => {
    expect(decimalFromJson(value)).toBeUndefined();
  });

  test("the text of a number has no negative exponent", () => {
    expect(numberText(1.5e-10)).toBe("0.00000000015");
    expect(numberText(1)).toBe("1");
  });
});

describe("arithmetic is exact", () => {
  const D = decimal;

  test("sums that binary floats get wrong", () => {
    expect(formatDecimal(add(D("0.1"), D("0.2")))).toBe("0.3");
    expect(formatDecimal(subtract(D("0.3"), D("0.1")))).toBe("0.2");
    expect(formatDecimal(subtract(D("1"), D("1.000")))).toBe("0");
    expect(formatDecimal(multiply(D("1.005"), D("100")))).toBe("100.5");
    expect(formatDecimal(multiply(D("-0.5"), D("0.5")))).toBe("-0.25");
    expect(formatDecimal(negate(D("1.5")))).toBe("-1.5");
  });

  test("a thousand tenths are a hundred", () => {
    const tenths = Array.from({ length: 1000 }, () => D("0.1"));
    expect(formatDecimal(tenths.reduce(add, ZERO))).toBe("100");
  });

  test.each([
    ["9", "10", -1],
    ["1.50", "1.5", 0],
    ["-3", "-5", 1],
    ["0", "-0", 0],
    ["0.000000000001", "0", 1],
  ])("%s against %s is %i", (a, b, order) => {
    expect(compare(D(a), D(b))).toBe(order);
  });

  test("the greater of two, the sign and zero", () => {
    expect(formatDecimal(max(D("9"), D("10")))).toBe("10");
    expect(formatDecimal(max(D("-3"), D("-5")))).toBe("-3");
    expect([D("-0.1"), D("0"), D("0.1")].map(isNegative)).toEqual([true, false, false]);
    expect([D("-0.1"), D("-0.00"), D("0.1")].map(isZero)).toEqual([false, true, false]);
    expect(compare(ONE, integer(1n))).toBe(0);
    expect(formatDecimal(shiftPoint(D("0.005"), 2))).toBe("0.5");
  });

  test.each([
    ["0.5", 1n],
    ["0.49", 0n],
    ["0.499999999999999999", 0n],
    ["1.5", 2n],
    ["2.5", 3n],
    ["-0.5", -1n],
    ["-0.49", 0n],
    ["-2.5", -3n],
    ["-2.51", -3n],
    ["307.5", 308n],
    ["7", 7n],
  ])("%s rounds half away from zero to %s", (text, rounded) => {
    expect(roundHalfAway(D(text))).toBe(rounded);
  });

  test.each([
    ["1", 2n, 1n],
    ["-1", 2n, -1n],
    ["1", -2n, -1n],
    ["-1", -2n, 1n],
    ["1", 3n, 0n],
    ["2", 3n, 1n],
    ["4.5", 3n, 2n],
    ["85000", 28n, 3036n],
  ])("%s divided by %s rounds to %s", (numerator, denominator, rounded) => {
    expect(divideRounded(D(numerator), denominator)).toBe(rounded);
  });

  test("nothing is divided by zero", () => {
    expect(() => divideRounded(ONE, 0n)).toThrow(RangeError);
  });

  test("a fraction that never ends is shown to so many places", () => {
    expect(formatDecimal(divideToPlaces(D("1"), 3n, 12))).toBe("0.333333333333");
    expect(formatDecimal(divideToPlaces(D("2"), 3n, 4))).toBe("0.6667");
  });
});
