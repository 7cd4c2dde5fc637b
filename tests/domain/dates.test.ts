// UTC days and the strict grammar of timestamps.

import { describe, expect, test } from "vitest";
import {
  addDays,
  daysBetween,
  instantTexts,
  nextMidnight,
  parseTimestamp,
  startOfDay,
  utcDate,
} from "../../src/domain/dates.ts";

describe("days", () => {
  test("the UTC day of an instant", () => {
    expect(utcDate(new Date("2026-01-31T23:59:59.999Z"))).toBe("2026-01-31");
    expect(utcDate(new Date("2026-01-31T23:30:00.000-01:00"))).toBe("2026-02-01");
    expect(startOfDay("2026-02-01").toISOString()).toBe("2026-02-01T00:00:00.000Z");
  });

  test("texts of instants are those of the engine, on one day and across midnight", () => {
    const instant = instantTexts();
    for (let ms = Date.parse("2026-02-28T23:59:58.900Z"); ms < 1_772_323_300_000; ms += 37) {
      expect(instant(new Date(ms))).toBe(new Date(ms).toISOString());
    }
    expect(instant(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
  });

  test.each(["2026-02-30", "2026-13-01", "2026-1-1", "", "2026-02-01T00:00", "20260201"])(
    "%j is no day",
    (text) => {
      expect(() => startOfDay(text)).toThrow(RangeError);
    },
  );

  test.each([
    ["2026-01-31", 1, "2026-02-01"],
    ["2026-02-01", 14, "2026-02-15"],
    ["2026-01-31", 14, "2026-02-14"],
    ["2022-12-20", 14, "2023-01-03"],
    ["2028-02-14", 30, "2028-03-15"],
    ["2100-02-28", 1, "2100-03-01"],
    ["2026-03-01", -1, "2026-02-28"],
  ])("%s and %i days is %s", (date, days, later) => {
    expect(addDays(date, days)).toBe(later);
    expect(daysBetween(date, later)).toBe(days);
  });

  test("the next midnight lies strictly after", () => {
    const following = (text: string) => nextMidnight(new Date(text)).toISOString();
    expect(following("2026-01-31T23:59:59.999Z")).toBe("2026-02-01T00:00:00.000Z");
    expect(following("2026-02-01T00:00:00.000Z")).toBe("2026-02-02T00:00:00.000Z");
  });
});

describe("timestamps", () => {
  test.each([
    ["2026-01-15T10:30:00.000Z", "2026-01-15T10:30:00.000Z"],
    ["2026-01-15T10:30:00Z", "2026-01-15T10:30:00.000Z"],
    ["2026-01-15T10:30Z", "2026-01-15T10:30:00.000Z"],
    ["2026-01-15T10:30:00.5Z", "2026-01-15T10:30:00.500Z"],
    ["2026-01-15T10:30:00.05Z", "2026-01-15T10:30:00.050Z"],
    ["2026-01-15T10:29:59.999999999Z", "2026-01-15T10:29:59.999Z"],
    ["2026-02-01T00:59:59.999+01:00", "2026-01-31T23:59:59.999Z"],
    ["2026-01-31T19:00:00-05:00", "2026-02-01T00:00:00.000Z"],
    ["2026-01-31T19:00:00-05:30", "2026-02-01T00:30:00.000Z"],
    ["2026-01-31T19:00:00-00:00", "2026-01-31T19:00:00.000Z"],
    ["2026-01-31T19:00:00+14:00", "2026-01-31T05:00:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["2000-01-01T00:00:00Z", "2000-01-01T00:00:00.000Z"],
    ["2200-12-31T23:59:59.999Z", "2200-12-31T23:59:59.999Z"],
    ["1999-12-31T23:00:00-05:00", "2000-01-01T04:00:00.000Z"],
  ])("%s is the instant %s", (text, instant) => {
    expect(parseTimestamp(text)?.toISOString()).toBe(instant);
  });

  test.each([
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-13-10T00:00:00Z",
    "2026-01-00T00:00:00Z",
    "2026-01-15T24:00:00Z",
    "2026-01-15T10:60:00Z",
    "2026-12-31T23:59:60Z",
    "2026-01-15T10:30:00",
    "2026-01-15T10:30:00.000",
    "2026-01-15",
    "2026-01-15T10Z",
    "2026-01-15 10:30:00Z",
    "2026-01-15t10:30:00z",
    "2026-01-15T10:30:00+0100",
    "2026-01-15T10:30:00+01",
    "2026-01-15T10:30:00+24:00",
    "2026-01-15T10:30:00+01:60",
    "2026-01-15T10:30:00.Z",
    "2026-01-15T10:30:00.1234567890Z",
    "2026-01-15T10:30:00,5Z",
    "2026-1-15T10:30:00Z",
    "+002026-01-15T10:30:00Z",
    "1999-12-31T23:59:59.999Z",
    "2201-01-01T00:00:00Z",
    "2000-01-01T00:00:00+00:01",
    "0026-01-15T10:30:00Z",
    "2026-01-15T10:30:00Z ",
    "2026-01-15T10:30:00Z\n",
    "２026-01-15T10:30:00Z",
    "1768473000000",
    "now",
    "infinity",
    "",
  ])("%j is refused", (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});
