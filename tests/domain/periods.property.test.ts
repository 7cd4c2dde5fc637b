// Calendar periods and billable days, whatever the input.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DAY_MS,
  nextMidnight,
  parseTimestamp,
  startOfDay,
  utcDate,
} from "../../src/domain/dates.ts";
import {
  billableDays,
  firstPeriod,
  listBillableDays,
  nextPeriod,
  periodAt,
  periodDays,
  periodIndexAt,
  type Suspension,
} from "../../src/domain/periods.ts";
import { INTERVALS } from "../../src/schema/plans.ts";

const interval = fc.constantFrom(...INTERVALS);
const instant = fc.date({
  min: new Date("2000-01-01T00:00:00.000Z"),
  max: new Date("2200-12-31T23:59:59.999Z"),
  noInvalidDate: true,
});

describe("periods", () => {
  test("tile time: no gap, no overlap", () => {
    fc.assert(
      fc.property(instant, interval, (at, every) => {
        const { start, next } = periodAt(at, every);
        expect(start <= at && at < next).toBe(true);
        expect(periodAt(next, every).start).toEqual(next);
        expect(periodAt(new Date(next.getTime() - 1), every)).toEqual({ start, next });
        expect(periodAt(start, every)).toEqual({ start, next });
        expect(nextPeriod({ start: at, next }, every)).toEqual(periodAt(next, every));
      }),
    );
  });

  test("begin and end at midnight and have the days of their calendar", () => {
    const lengths = {
      weekly: [7],
      monthly: [28, 29, 30, 31],
      quarterly: [90, 91, 92],
      semiannual: [181, 182, 184],
      yearly: [365, 366],
    };
    fc.assert(
      fc.property(instant, interval, (at, every) => {
        const period = periodAt(at, every);
        expect(period.start.getTime() % DAY_MS).toBe(0);
        expect(lengths[every]).toContain(periodDays(period));
      }),
    );
  });

  test("are counted as if one walked over each boundary", () => {
    const within = fc.integer({ min: -40 * DAY_MS, max: 900 * DAY_MS });
    fc.assert(
      fc.property(instant, interval, within, (started_at, every, offset) => {
        const open = firstPeriod(started_at, every);
        const at = new Date(started_at.getTime() + offset);
        let walked = 0;
        for (let period = open; period.next <= at; period = nextPeriod(period, every)) walked++;
        expect(periodIndexAt(open, every, at)).toBe(walked);
      }),
    );
  });
});

/** An anchor of any day, also one of the last of a month, and instants not too far from it. */
const anchored = fc
  .tuple(instant, interval, fc.integer({ min: -2_000, max: 2_000 }))
  .map(([at, every, days]) => ({
    at,
    every,
    anchor: utcDate(new Date(at.getTime() + days * DAY_MS)),
  }));

describe("anniversaries", () => {
  test("tile time: no gap, no overlap, each boundary at midnight", () => {
    fc.assert(
      fc.property(anchored, ({ at, every, anchor }) => {
        const { start, next } = periodAt(at, every, anchor);
        expect(start <= at && at < next).toBe(true);
        expect(start.getTime() % DAY_MS).toBe(0);
        expect(periodAt(next, every, anchor).start).toEqual(next);
        expect(periodAt(new Date(next.getTime() - 1), every, anchor)).toEqual({ start, next });
        expect(nextPeriod({ start: at, next }, every, anchor)).toEqual(
          periodAt(next, every, anchor),
        );
        expect(firstPeriod(at, every, anchor)).toEqual({ start: at, next });
      }),
    );
  });

  test("begin on the anchor's day, cut to the month, however many have gone by", () => {
    fc.assert(
      fc.property(anchored, ({ at, every, anchor }) => {
        fc.pre(every !== "weekly");
        const { start } = periodAt(at, every, anchor);
        const last = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 0));
        const day = Number(anchor.slice(8));
        expect(start.getUTCDate()).toBe(Math.min(day, last.getUTCDate()));
        expect(periodAt(startOfDay(anchor), every, anchor).start).toEqual(startOfDay(anchor));
      }),
    );
  });

  test("from the first of a month or a Monday are the calendar's", () => {
    fc.assert(
      fc.property(instant, interval, (at, every) => {
        const anchor = utcDate(periodAt(at, every).start);
        const later = new Date(at.getTime() + 400 * DAY_MS);
        expect(periodAt(later, every, anchor)).toEqual(periodAt(later, every));
      }),
    );
  });

  test("are counted as if one walked over each boundary", () => {
    const within = fc.integer({ min: -40 * DAY_MS, max: 900 * DAY_MS });
    fc.assert(
      fc.property(anchored, within, ({ at: started_at, every, anchor }, offset) => {
        const open = firstPeriod(started_at, every, anchor);
        const at = new Date(started_at.getTime() + offset);
        let walked = 0;
        for (let period = open; period.next <= at; period = nextPeriod(period, every, anchor)) {
          walked++;
        }
        expect(periodIndexAt(open, every, at, anchor)).toBe(walked);
      }),
    );
  });
});

/** Spans of some weeks around one start, in steps of six hours so that edges meet often. */
const STEP_MS = DAY_MS / 4;
const ORIGIN = Date.UTC(2026, 3, 1);
const step = fc.integer({ min: 0, max: 160 });
const stepAt = (steps: number) => new Date(ORIGIN + steps * STEP_MS);
const suspensions = fc.array(
  fc.tuple(step, fc.option(fc.integer({ min: 0, max: 60 }))).map(
    ([from, length]): Suspension => ({
      from: stepAt(from),
      to: length === null ? null : stepAt(from + length),
    }),
  ),
  { maxLength: 5 },
);
const span = fc.tuple(step, fc.integer({ min: 1, max: 120 })).map(([start, length]) => ({
  start: stepAt(start),
  end: stepAt(start + length),
}));

describe("billable days", () => {
  test("are as many as are listed one by one", () => {
    fc.assert(
      fc.property(span, suspensions, (whole, list) => {
        const listed = listBillableDays({ ...whole, suspensions: list });
        expect(listed).toHaveLength(billableDays({ ...whole, suspensions: list }));
        expect([...new Set(listed)].sort((a, b) => a - b)).toEqual(listed);
      }),
    );
  });

  test("add up when a span is cut in two at midnight", () => {
    fc.assert(
      fc.property(span, suspensions, fc.integer({ min: 0, max: 40 }), (whole, list, days) => {
        const cut = new Date(nextMidnight(whole.start).getTime() + days * DAY_MS);
        fc.pre(cut < whole.end);
        const first = billableDays({ start: whole.start, end: cut, suspensions: list });
        const second = billableDays({ start: cut, end: whole.end, suspensions: list });
        expect(first + second).toBe(billableDays({ ...whole, suspensions: list }));
      }),
    );
  });

  test("are the days of which no suspension, alone or joined, takes the whole", () => {
    fc.assert(
      fc.property(span, suspensions, (whole, list) => {
        let count = 0;
        const first = Math.floor(whole.start.getTime() / DAY_MS) * DAY_MS;
        for (let day = first; day < whole.end.getTime(); day += DAY_MS) {
          // Every step of the day is looked at by itself; after the end the last state goes on.
          const steps = [0, 1, 2, 3].map((index) => day + index * STEP_MS);
          const isSuspended = (at: number) => {
            const seen = Math.min(at, whole.end.getTime() - 1);
            return list.some(
              ({ from, to }) => from.getTime() <= seen && !(to && to.getTime() <= seen),
            );
          };
          if (!steps.every(isSuspended)) count++;
        }
        expect(billableDays({ ...whole, suspensions: list })).toBe(count);
      }),
      { numRuns: 1000 },
    );
  });

  test("do not depend on the order of the suspensions, nor on one told in pieces", () => {
    fc.assert(
      fc.property(span, suspensions, fc.integer({ min: 0, max: 60 }), (whole, list, offset) => {
        const days = billableDays({ ...whole, suspensions: list });
        expect(billableDays({ ...whole, suspensions: list.toReversed() })).toBe(days);
        const pieces = list.flatMap(({ from, to }) => {
          const middle = new Date(from.getTime() + offset * STEP_MS);
          const isInside = to === null || middle < to;
          return isInside
            ? [
                { from: middle, to },
                { from, to: middle },
              ]
            : [{ from, to }];
        });
        expect(billableDays({ ...whole, suspensions: pieces })).toBe(days);
      }),
    );
  });

  test("never grow with a suspension and are never below zero", () => {
    fc.assert(
      fc.property(span, suspensions, (whole, list) => {
        const days = billableDays({ ...whole, suspensions: list });
        expect(days).toBeGreaterThanOrEqual(0);
        expect(days).toBeLessThanOrEqual(billableDays({ ...whole, suspensions: list.slice(1) }));
      }),
    );
  });
});

describe("timestamps", () => {
  test("written with any offset are the same instant", () => {
    const offset = fc.integer({ min: -14 * 60, max: 14 * 60 });
    fc.assert(
      fc.property(instant, offset, (at, minutes) => {
        const local = new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, -1);
        const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
        const zone = [hours, rest].map((part) => String(part).padStart(2, "0")).join(":");
        expect(parseTimestamp(`${local}${minutes < 0 ? "-" : "+"}${zone}`)).toEqual(at);
        expect(parseTimestamp(at.toISOString())).toEqual(at);
      }),
    );
  });

  test("of days that no calendar has are refused", () => {
    const part = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(fc.integer({ min: 2000, max: 2200 }), part(13), part(32), (year, month, day) => {
        const two = (value: number) => String(value).padStart(2, "0");
        const text = `${year}-${two(month)}-${two(day)}T12:00:00Z`;
        const lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        const isReal = day >= 1 && day <= (lengths[month - 1] ?? 0);
        expect(parseTimestamp(text) !== undefined).toBe(isReal);
      }),
    );
  });
});

function isLeap(year: number): boolean {
  return year % 400 === 0 || (year % 4 === 0 && year % 100 !== 0);
}
