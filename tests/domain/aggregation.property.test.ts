// What events count, and how they become units, whatever the input.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type UsageDay, unitsOf } from "../../src/domain/aggregation.ts";
import { utcDate } from "../../src/domain/dates.ts";
import { compare, decimal, formatDecimal } from "../../src/domain/decimal.ts";
import { AGGREGATIONS, type AggregationType } from "../../src/schema/metrics.ts";
import { type CountedUsage, unitsOfEvents } from "../support/usage-oracle.ts";

const aggregation = fc.constantFrom(...AGGREGATIONS);
/** A month of events: few values and few instants, so that ties and repeats are common. */
const events = fc
  .array(
    fc.record({
      at: fc.integer({ min: 0, max: 60 }).map((half) => new Date(Date.UTC(2026, 0, 1, half * 12))),
      quantity: fc.constantFrom("0", "1", "-1", "0.1", "9", "10", "-2.5", "1000000.000001"),
      unique_value: fc.constantFrom("a", "b", "A", "1", ""),
    }),
    { maxLength: 30 },
  )
  .map((list) => list.map((event, index): CountedUsage => ({ ...event, arrival: BigInt(index) })));

const units = (type: AggregationType, list: readonly CountedUsage[]) =>
  formatDecimal(unitsOfEvents(type, list));

/** Keeps days up to date event by event, in order of arrival, as the store does. */
function rollUp(list: readonly CountedUsage[]): UsageDay[] {
  const days = new Map<string, UsageDay>();
  const seen = new Set<string | null>();
  for (const { at, arrival, quantity, unique_value } of list) {
    const date = utcDate(at);
    const day = days.get(date);
    const isNew = !seen.has(unique_value);
    seen.add(unique_value);
    const isLatest = day === undefined || at >= day.last_at;
    days.set(date, {
      events: (day?.events ?? 0) + 1,
      sum: units("sum", [
        { at, arrival, quantity, unique_value },
        { at, arrival, quantity: day?.sum ?? null, unique_value },
      ]),
      max: highest(day?.max ?? null, quantity),
      latest: isLatest ? quantity : day.latest,
      last_at: isLatest ? at : day.last_at,
      last_arrival: isLatest ? String(arrival) : day.last_arrival,
      uniques: (day?.uniques ?? 0) + (isNew ? 1 : 0),
    });
  }
  return [...days.values()];
}

function highest(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return compare(decimal(a), decimal(b)) < 0 ? b : a;
}

describe("usage", () => {
  test("folded by days is usage folded by events, whatever the order of the days", () => {
    fc.assert(
      fc.property(aggregation, events, (type, list) => {
        const days = rollUp(list);
        expect(formatDecimal(unitsOf(type, days))).toBe(units(type, list));
        expect(formatDecimal(unitsOf(type, days.toReversed()))).toBe(units(type, list));
      }),
    );
  });

  test("does not depend on the order in which events are read", () => {
    const shuffled = events.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(aggregation, shuffled, (type, [list, other]) => {
        expect(units(type, other)).toBe(units(type, list));
      }),
    );
  });

  test("depends on the order of arrival only for the latest of equal instants", () => {
    const tie = [
      { at: new Date(0), arrival: 1n, quantity: "1", unique_value: "a" },
      { at: new Date(0), arrival: 2n, quantity: "2", unique_value: "b" },
    ];
    const swapped = tie.map((event) => ({ ...event, arrival: 3n - event.arrival }));
    for (const type of AGGREGATIONS) {
      expect(units(type, tie) === units(type, swapped)).toBe(type !== "latest");
    }
  });

  test("that is only counted never falls while events come in", () => {
    const growing = fc.constantFrom<AggregationType>("count", "count_unique", "max");
    fc.assert(
      fc.property(growing, events, (type, list) => {
        for (let length = 1; length < list.length; length++) {
          const before = unitsOfEvents(type, list.slice(0, length));
          const after = unitsOfEvents(type, list.slice(0, length + 1));
          expect(compare(after, before)).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
