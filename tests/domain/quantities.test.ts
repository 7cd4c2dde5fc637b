// Quantities: how one is read, and over time the sum over days of what each ended with, and the
// highest of a moment.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "../../src/domain/dates.ts";
import { formatDecimal } from "../../src/domain/decimal.ts";
import {
  BadQuantity,
  highestQuantity,
  type Quantities,
  quantityOf,
  sumOverDays,
} from "../../src/domain/quantities.ts";

const at = (day: number, hour = 0) => new Date(Date.UTC(2026, 0, day, hour));
const JANUARY = { start: at(1), end: at(32) };
const SEATS = "subscription_property.seats";

/** `[3, until], …, 5`: what was in force until when, and what is now. */
function seats(...steps: readonly (readonly [unknown, Date])[]) {
  return (present: unknown): Quantities => ({
    former: steps.map(([quantity, until]) => ({ until, properties: { seats: quantity } })),
    present: { seats: present },
  });
}

const sum = (quantities: Quantities, span = JANUARY) =>
  formatDecimal(sumOverDays(quantities, { ...span, suspensions: [] }, SEATS));
const most = (quantities: Quantities, span = JANUARY) =>
  formatDecimal(highestQuantity(quantities, span, SEATS));

describe("a quantity", () => {
  test("is not taken from what every object has, or from nowhere", () => {
    expect(() => quantityOf("subscription_property.constructor", {})).toThrow(BadQuantity);
    expect(() => quantityOf("subscription_property.", { "": 1 })).toThrow(BadQuantity);
    expect(() => quantityOf("customer.seats", { seats: 1 })).toThrow(BadQuantity);
  });

  test("may come from a property with a point in its name, and is 1 without a source", () => {
    const dotted = quantityOf("subscription_property.a.b", { "a.b": 2 });
    expect(formatDecimal(dotted)).toBe("2");
    expect(formatDecimal(quantityOf(null, {}))).toBe("1");
  });
});

describe("the sum over the days", () => {
  test.each([
    ["no change", seats()(2), "62"],
    ["a change at noon counts for its day", seats([3, at(15, 12)])(5), `${3 * 14 + 5 * 17}`],
    ["at midnight for the day that begins", seats([3, at(15)])(5), `${3 * 14 + 5 * 17}`],
    ["of two on one day the last", seats([3, at(15, 8)], [9, at(15, 20)])(5), `${42 + 85}`],
    ["before the period it is no matter", seats([3, at(1)])(5), `${5 * 31}`],
    ["behind the period it is not yet", seats([3, at(32)])(5), `${3 * 31}`],
    ["one that cannot be read is the next", seats(["x", at(10)], [4, at(20)])(5), `${76 + 60}`],
    ["nor the last of the former", seats([4, at(20)], ["x", at(25)])(5), `${76 + 60}`],
  ])("%s", (_, quantities, expected) => {
    expect(sum(quantities)).toBe(expected);
  });

  test("of a part of the period: the last day ends with the part", () => {
    const quantities = seats([3, at(10, 6)], [4, at(10, 18)])(5);
    expect(sum(quantities, { start: at(10), end: at(10, 12) })).toBe("4");
    expect(sum(quantities, { start: at(10), end: at(10) })).toBe("0");
  });

  test("suspended days do not count", () => {
    const suspensions = [{ from: at(2), to: at(12) }];
    const found = sumOverDays(seats()(2), { ...JANUARY, suspensions }, SEATS);
    expect(formatDecimal(found)).toBe("42");
  });

  test("the present one must be readable where its days count", () => {
    expect(() => sum(seats([3, at(10)])("x"))).toThrow('it is "x"');
    expect(sum(seats([3, at(32)])("x"))).toBe(`${3 * 31}`);
  });

  test("what lasted no time is no next one that can be read", () => {
    const quantities = seats(["x", at(10)], [9, at(10)])(5);
    expect(sum(quantities)).toBe(`${5 * 31}`);
    expect(most(quantities)).toBe("5");
  });

  test("adds up when the period is cut at a midnight", () => {
    const step = fc.tuple(fc.nat({ max: 9 }), fc.integer({ min: -48, max: 35 * 24 }));
    fc.assert(
      fc.property(
        fc.array(step),
        fc.nat({ max: 9 }),
        fc.integer({ min: 2, max: 31 }),
        (all, present, cut) => {
          const steps = all
            .map(([quantity, hours]) => [quantity, at(1, hours)] as const)
            .sort(([, a], [, b]) => a.getTime() - b.getTime());
          const quantities = seats(...steps)(present);
          const first = sum(quantities, { start: JANUARY.start, end: at(cut) });
          const second = sum(quantities, { start: at(cut), end: JANUARY.end });
          expect(Number(first) + Number(second)).toBe(Number(sum(quantities)));
          const highest = [
            most(quantities, { start: at(1), end: at(cut) }),
            most(quantities, { start: at(cut), end: at(32) }),
          ];
          expect(Math.max(...highest.map(Number))).toBe(Number(most(quantities)));
          expect(Number(most(quantities)) * 31).toBeGreaterThanOrEqual(Number(sum(quantities)));
        },
      ),
    );
  });
});

describe("the highest", () => {
  test.each([
    ["no change", seats()(2), "2"],
    ["of a moment", seats([3, at(15)], [9, new Date(at(15).getTime() + 1)])(5), "9"],
    ["not of no time at all", seats([3, at(15)], [9, at(15)])(5), "5"],
    ["not what ended as the period began", seats([9, at(1)])(5), "5"],
    ["what ended a moment later", seats([9, new Date(at(1).getTime() + 1)])(5), "9"],
    ["not what began with its end", seats([5, at(32)])(9), "5"],
    ["what began a moment before", seats([5, new Date(at(32).getTime() - 1)])(9), "9"],
    [
      "what was over a period before is past",
      seats([9, new Date(at(1).getTime() - DAY_MS)])(5),
      "5",
    ],
    ["one that cannot be read is the next", seats(["x", at(10)], [4, at(20)])(3), "4"],
  ])("%s", (_, quantities, expected) => {
    expect(most(quantities)).toBe(expected);
  });
});
