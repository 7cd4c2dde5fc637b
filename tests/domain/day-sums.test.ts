// The sums of days that recording adds to what is stored, against a fold over the same events.

import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS, utcDate } from "../../src/domain/dates.ts";
import { type CountedEvent, type DaySum, daySums } from "../../src/domain/day-sums.ts";
import { add, decimal, formatDecimal, integer, multiply, ZERO } from "../../src/domain/decimal.ts";
import { groupBy } from "../../src/domain/group-by.ts";
import { unitsOfEvents } from "../support/usage-oracle.ts";

const START = Date.parse("2026-02-27T22:00:00.000Z");

const quantity = fc.oneof(
  fc.integer({ min: -50, max: 50 }).map(String),
  fc.constantFrom("0.000000000001", "-0.5", "999999999999999.999999999999"),
);
const events: fc.Arbitrary<CountedEvent[]> = fc
  .array(
    fc.record({
      subscription_id: fc.constantFrom("s1", "s2"),
      metric_id: fc.constantFrom("counted", "measured", "weighted"),
      combination: fc.constantFrom(null, '["eu"]', '["us"]'),
      period_no: fc.constantFrom(1, 2),
      hours: fc.nat(60),
      quantity,
    }),
    { maxLength: 60 },
  )
  .map((list) =>
    list.map(({ hours, ...one }, arrival) => ({
      ...one,
      quantity: one.metric_id === "counted" ? null : one.quantity,
      is_weighted: one.metric_id === "weighted",
      at: new Date(START + hours * 3_600_000),
      arrival,
    })),
  );

const keyOf = (event: CountedEvent) =>
  [event.subscription_id, event.metric_id, event.period_no, event.combination, utcDate(event.at)]
    .map(String)
    .join(" ");

function shown({ last, events: count, sum, max, moment }: DaySum) {
  return [keyOf(last), count, sum, max, last.quantity, last.at.getTime(), last.arrival, moment];
}

function folded(group: readonly CountedEvent[]) {
  const all = group.map((event) => ({
    ...event,
    arrival: BigInt(event.arrival),
    unique_value: null,
  }));
  const last = group.toSorted((a, b) => +a.at - +b.at || a.arrival - b.arrival).at(-1);
  if (last === undefined) throw new Error("A group is empty.");
  const by = (type: "sum" | "max") =>
    last.quantity === null ? null : formatDecimal(unitsOfEvents(type, all));
  const moments = group.map(({ at, quantity: units }) =>
    multiply(decimal(units ?? "0"), integer(at.getTime() % DAY_MS)),
  );
  const moment = last.is_weighted ? formatDecimal(moments.reduce(add, ZERO)) : null;
  const parts = [by("sum"), by("max"), last.quantity, last.at.getTime(), last.arrival];
  return [keyOf(last), group.length, ...parts, moment];
}

test("are the fold of the events of each day", () => {
  fc.assert(
    fc.property(events, (list) => {
      const wanted = [...groupBy(list, keyOf).values()].map(folded);
      expect(daySums(list).map(shown).sort()).toEqual(wanted.sort());
    }),
    { numRuns: 500 },
  );
});

test("are none of no events", () => {
  expect(daySums([])).toEqual([]);
});
