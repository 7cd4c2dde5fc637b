// Calendar periods and billable days.

import { describe, expect, test } from "vitest";
import {
  billableDays,
  billedDates,
  firstPeriod,
  type Interval,
  nextPeriod,
  periodAt,
  periodDays,
  periodIndexAt,
  shownEnd,
} from "../../src/domain/periods.ts";

const at = (text: string) => new Date(text.length === 10 ? `${text}T00:00:00.000Z` : text);

describe("the calendar", () => {
  test.each<[Interval, string, string, string, number]>([
    ["monthly", "2026-01-15T10:30:00.000Z", "2026-01-01", "2026-02-01", 31],
    ["monthly", "2026-03-01", "2026-03-01", "2026-04-01", 31],
    ["monthly", "2028-02-10", "2028-02-01", "2028-03-01", 29],
    ["monthly", "2100-02-15", "2100-02-01", "2100-03-01", 28],
    ["monthly", "2026-12-31T23:59:59.999Z", "2026-12-01", "2027-01-01", 31],
    ["weekly", "2026-01-14", "2026-01-12", "2026-01-19", 7],
    ["weekly", "2026-01-18T23:59:59.999Z", "2026-01-12", "2026-01-19", 7],
    ["weekly", "2026-01-19", "2026-01-19", "2026-01-26", 7],
    ["weekly", "2027-01-02", "2026-12-28", "2027-01-04", 7],
    ["quarterly", "2026-02-10", "2026-01-01", "2026-04-01", 90],
    ["quarterly", "2026-12-31", "2026-10-01", "2027-01-01", 92],
    ["semiannual", "2026-06-30", "2026-01-01", "2026-07-01", 181],
    ["semiannual", "2026-07-01", "2026-07-01", "2027-01-01", 184],
    ["yearly", "2026-07-01", "2026-01-01", "2027-01-01", 365],
    ["yearly", "2028-07-01", "2028-01-01", "2029-01-01", 366],
  ])("the %s period of %s begins %s, the next %s", (interval, instant, start, next, days) => {
    const period = periodAt(at(instant), interval);
    expect(period).toEqual({ start: at(start), next: at(next) });
    expect(periodDays(period)).toBe(days);
  });

  test("a first period begins at its very millisecond and is followed by whole ones", () => {
    const first = firstPeriod(at("2026-01-15T10:30:00.000Z"), "monthly");
    expect(first.start.toISOString()).toBe("2026-01-15T10:30:00.000Z");
    expect(shownEnd(first.next).toISOString()).toBe("2026-01-31T23:59:59.999Z");
    const second = nextPeriod(first, "monthly");
    expect(second.start.toISOString()).toBe("2026-02-01T00:00:00.000Z");
    expect(shownEnd(second.next).toISOString()).toBe("2026-02-28T23:59:59.999Z");
  });

  test("the quarter that began late is followed by April to June", () => {
    const second = nextPeriod(firstPeriod(at("2026-02-10"), "quarterly"), "quarterly");
    expect(second).toEqual({ start: at("2026-04-01"), next: at("2026-07-01") });
  });

  test("the year that began on its last day is followed by the calendar year", () => {
    const second = nextPeriod(firstPeriod(at("2026-12-31"), "yearly"), "yearly");
    expect(second).toEqual({ start: at("2027-01-01"), next: at("2028-01-01") });
  });

  test.each<[Interval, string, number]>([
    ["monthly", "2025-01-01", 0],
    ["monthly", "2026-01-31T23:59:59.999Z", 0],
    ["monthly", "2026-02-01", 1],
    ["monthly", "2026-04-10", 3],
    ["monthly", "2027-01-01", 12],
    ["yearly", "2027-12-31T23:59:59.999Z", 1],
    ["yearly", "2028-01-01", 2],
    ["quarterly", "2026-06-30", 1],
    ["semiannual", "2027-07-01", 3],
    ["weekly", "2026-01-18T23:59:59.999Z", 0],
    ["weekly", "2026-01-19", 1],
    ["weekly", "2026-01-26", 2],
  ])("%s: %s lies %i periods after the open one", (interval, instant, index) => {
    const open = firstPeriod(at("2026-01-15T10:30:00.000Z"), interval);
    expect(periodIndexAt(open, interval, at(instant))).toBe(index);
  });
});

describe("the days a base fee is for", () => {
  const days = (start: string, end: string, ...suspensions: [string, string | null][]) =>
    billableDays({
      start: at(start),
      end: at(end),
      suspensions: suspensions.map(([from, to]) => ({
        from: at(from),
        to: to === null ? null : at(to),
      })),
    });

  test.each([
    ["2026-01-15T10:30:00.000Z", "2026-02-01", 17],
    ["2026-03-01", "2026-04-01", 31],
    ["2028-02-10", "2028-03-01", 20],
    ["2026-02-14T23:59:59.999Z", "2026-03-01", 15],
    ["2026-01-31", "2026-02-01", 1],
    ["2022-12-15", "2022-12-20T10:00:00.000Z", 6],
    ["2024-02-01", "2024-02-12T06:00:00.000Z", 12],
    ["2026-04-01", "2026-04-15T10:00:00.000Z", 15],
    ["2026-04-01", "2026-04-15T00:00:00.000Z", 14],
    ["2026-04-01", "2026-04-15T00:00:00.001Z", 15],
    ["2026-04-15T10:00:00.000Z", "2026-04-15T10:00:00.001Z", 1],
  ])("%s to %s touches %i days", (start, end, count) => {
    expect(days(start, end)).toBe(count);
  });

  test("a span without length has no day", () => {
    expect(days("2026-04-15T10:00:00.000Z", "2026-04-15T10:00:00.000Z")).toBe(0);
    expect(days("2026-04-15", "2026-04-14")).toBe(0);
  });

  test("days wholly inside a suspension do not count, its first and last day do", () => {
    const suspension: [string, string] = ["2026-04-10T12:00:00.000Z", "2026-04-20T09:00:00.000Z"];
    expect(days("2026-04-01", "2026-05-01", suspension)).toBe(21);
  });

  test("a suspension over three months leaves each its own active days", () => {
    const suspension: [string, string] = ["2026-04-30T12:00:00.000Z", "2026-06-11"];
    expect(days("2026-04-01", "2026-05-01", suspension)).toBe(30);
    expect(days("2026-05-01", "2026-06-01", suspension)).toBe(0);
    expect(days("2026-06-01", "2026-07-01", suspension)).toBe(20);
  });

  test("a suspension that ends at midnight leaves that day billable", () => {
    const suspension: [string, string] = ["2026-04-20T12:00:00.000Z", "2026-05-06"];
    expect(days("2026-04-01", "2026-05-01", suspension)).toBe(20);
    expect(days("2026-05-01", "2026-06-01", suspension)).toBe(26);
  });

  test("one active millisecond makes a day billable", () => {
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10", "2026-04-10T23:59:59.999Z"])).toBe(30);
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10T00:00:00.001Z", "2026-04-11"])).toBe(30);
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10", "2026-04-11"])).toBe(29);
  });

  test("suspensions that touch or overlap count as one", () => {
    const noon = "2026-04-15T12:00:00.000Z";
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10", noon], [noon, "2026-04-20"])).toBe(20);
    expect(
      days("2026-04-01", "2026-05-01", ["2026-04-12", "2026-04-20"], ["2026-04-10", noon]),
    ).toBe(20);
    const later = "2026-04-15T12:00:00.001Z";
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10", noon], [later, "2026-04-20"])).toBe(21);
  });

  test("a suspension that is still on has no end", () => {
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10T12:00:00.000Z", null])).toBe(10);
    expect(days("2026-05-01", "2026-06-01", ["2026-04-10T12:00:00.000Z", null])).toBe(0);
  });

  test("the last day of a subscription terminated while suspended does not count", () => {
    const end = "2026-04-20T09:00:00.000Z";
    expect(days("2026-04-01", end, ["2026-04-10T12:00:00.000Z", null])).toBe(10);
    expect(days("2026-04-01", end, ["2026-04-10T12:00:00.000Z", end])).toBe(10);
    expect(days("2026-04-01", end, ["2026-04-10T12:00:00.000Z", "2026-04-20T08:59:59.999Z"])).toBe(
      11,
    );
  });

  test("the first day counts, also when suspended in the millisecond of its start", () => {
    const start = "2026-04-10T10:00:00.000Z";
    expect(days(start, "2026-05-01", [start, null])).toBe(1);
    expect(days("2026-04-10", "2026-05-01", ["2026-04-10", null])).toBe(0);
  });

  test("suspensions outside the span, or without length, have no influence", () => {
    expect(days("2026-04-01", "2026-05-01", ["2026-03-01", "2026-04-01"])).toBe(30);
    expect(days("2026-04-01", "2026-05-01", ["2026-05-01", null])).toBe(30);
    expect(days("2026-04-01", "2026-05-01", ["2026-04-10", "2026-04-10"])).toBe(30);
  });
});

describe("the dates an invoice names", () => {
  test.each([
    ["2026-01-15T10:30:00.000Z", "2026-02-01", "2026-01-15", "2026-01-31"],
    ["2022-12-15", "2022-12-20T10:00:00.000Z", "2022-12-15", "2022-12-20"],
    ["2026-04-01", "2026-04-15", "2026-04-01", "2026-04-14"],
    ["2026-04-01", "2026-04-15T00:00:00.001Z", "2026-04-01", "2026-04-15"],
    ["2026-04-15", "2026-04-15", "2026-04-15", "2026-04-15"],
  ])("%s to %s: from %s to %s", (start, end, period_start, period_end) => {
    expect(billedDates(at(start), at(end))).toEqual({ period_start, period_end });
  });
});
