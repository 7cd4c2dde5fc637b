// What events count, and how they become units.

import { describe, expect, test } from "vitest";
import { type UsageDay, unitsOf, usageValue } from "../../src/domain/aggregation.ts";
import { formatDecimal } from "../../src/domain/decimal.ts";
import type { AggregationType } from "../../src/schema/metrics.ts";
import { type CountedUsage, unitsOfEvents } from "../support/usage-oracle.ts";

const rule = (aggregation_type: AggregationType, field_name: string | null = "gb") => ({
  aggregation_type,
  field_name,
});

describe("what one event counts", () => {
  test.each([
    ["the property when it is there", { value: "5", properties: { gb: "7" } }, "7"],
    ["a number in the property", { value: "5", properties: { gb: 7.5 } }, "7.5"],
    ["the value when the property is not there", { value: "5", properties: { other: 100 } }, "5"],
    ["the value when the property is null", { value: "5", properties: { gb: null } }, "5"],
    ["the value when there are no properties", { value: "0.5" }, "0.5"],
    ["the property when there is no value", { properties: { gb: 3 } }, "3"],
    ["a negative value", { value: "-30.0" }, "-30"],
    ["a value with zeros around it", { value: "007.50" }, "7.5"],
  ])("%s", (_, input, quantity) => {
    expect(usageValue(rule("sum"), input)).toEqual({ ok: true, quantity, unique_value: null });
  });

  test("a metric without a field reads the value only", () => {
    const input = { value: "5", properties: { null: "7", undefined: "8" } };
    expect(usageValue(rule("latest", null), input)).toMatchObject({ quantity: "5" });
  });

  test("a field named like something every object has is not found on every event", () => {
    const input = { value: "5", properties: {} };
    expect(usageValue(rule("sum", "constructor"), input)).toMatchObject({ quantity: "5" });
    expect(usageValue(rule("sum", "__proto__"), input)).toMatchObject({ quantity: "5" });
  });

  test.each(
    (["sum", "max", "latest"] as const).flatMap((type) =>
      ["abc", "1e3", "", "NaN", "Infinity", "0x10", "1,5", "--1", undefined].map(
        (value) => [type, value] as const,
      ),
    ),
  )("%s refuses the value %j", (type, value) => {
    expect(usageValue(rule(type), { value })).toMatchObject({ ok: false, field: "value" });
  });

  test.each([["x"], [""], [true], [{}], [[1]], [1e21], [0.1 + 0.2]])(
    "a property %j is refused under its own name, however good the value is",
    (gb) => {
      const result = usageValue(rule("sum"), { value: "5", properties: { gb } });
      expect(result).toMatchObject({ ok: false, field: "properties.gb" });
    },
  );

  test.each([["abc"], [""], [undefined], ["1e3"]])("count takes %j as one event", (value) => {
    const one = { ok: true, quantity: null, unique_value: null };
    expect(usageValue(rule("count", null), { value })).toEqual(one);
  });

  test.each([
    [1, "1"],
    ["1", "1"],
    [1.0, "1"],
    [-0, "0"],
    [1e-7, "0.0000001"],
    ["A", "A"],
    ["a", "a"],
    [" a", " a"],
    [true, "true"],
    ["", ""],
    ["x".repeat(255), "x".repeat(255)],
  ])("count_unique tells %j apart as %j", (gb, unique_value) => {
    const result = usageValue(rule("count_unique"), { properties: { gb } });
    expect(result).toEqual({ ok: true, quantity: null, unique_value });
  });

  test.each([[{}], [[1]], [undefined], ["x".repeat(256)]])("count_unique refuses %j", (gb) => {
    const result = usageValue(rule("count_unique"), { properties: { gb } });
    expect(result).toMatchObject({ ok: false, field: "properties.gb" });
    expect(usageValue(rule("count_unique"), {})).toMatchObject({ ok: false, field: "value" });
  });
});

const event = (at: string, parts: Partial<CountedUsage> = {}): CountedUsage => ({
  at: new Date(`2026-01-${at}`),
  arrival: 0n,
  quantity: null,
  unique_value: null,
  ...parts,
});
const day = (at: string, parts: Partial<UsageDay> = {}): UsageDay => ({
  events: 0,
  sum: null,
  max: null,
  latest: null,
  last_at: new Date(`2026-01-${at}`),
  last_arrival: "0",
  uniques: null,
  ...parts,
});
const quantities = (...values: string[]) =>
  values.map((quantity, index) => event("10T00:00Z", { quantity, arrival: BigInt(index) }));
const folded = (type: AggregationType, events: CountedUsage[]) =>
  formatDecimal(unitsOfEvents(type, events));
const units = (type: AggregationType, ...days: UsageDay[]) => formatDecimal(unitsOf(type, days));

describe("a period's units from its events", () => {
  test.each<[AggregationType, string[], string]>([
    ["sum", ["10", "20.5", "0.25"], "30.75"],
    ["sum", ["100", "-30"], "70"],
    ["sum", ["10", "-25"], "-15"],
    ["sum", ["5", "-5"], "0"],
    ["max", ["5", "12", "7"], "12"],
    ["max", ["9", "10"], "10"],
    ["max", ["-5", "-3"], "-3"],
    ["count", ["1", "1"], "2"],
    ["latest", ["5", "9", "7"], "7"],
  ])("%s of %j is %s", (type, values, result) => {
    expect(folded(type, quantities(...values))).toBe(result);
  });

  test.each<[string[], string]>([
    [["a", "b", "a", "c"], "3"],
    [["1", "1"], "1"],
    [["A", "a"], "2"],
  ])("count_unique of %j is %s", (values, result) => {
    const events = values.map((unique_value) => event("10T00:00Z", { unique_value }));
    expect(folded("count_unique", events)).toBe(result);
  });

  test("the latest is the one with the greatest timestamp, not the last to arrive", () => {
    const events = [
      event("10T10:00Z", { quantity: "5", arrival: 1n }),
      event("10T12:00Z", { quantity: "9", arrival: 2n }),
      event("10T11:00Z", { quantity: "100", arrival: 3n }),
    ];
    expect(folded("latest", events)).toBe("9");
  });

  test("no events are no units", () => {
    for (const type of ["sum", "count", "count_unique", "max", "latest"] as const) {
      expect(folded(type, [])).toBe("0");
      expect(units(type)).toBe("0");
    }
  });
});

describe("a period's units from its days", () => {
  test("sums, counts and new values are added up", () => {
    const days = [
      day("01", { sum: "10.5", events: 3, uniques: 2 }),
      day("02", { sum: "-0.25", events: 4, uniques: 0 }),
      day("03", { events: 1 }),
    ];
    expect(units("sum", ...days)).toBe("10.25");
    expect(units("count", ...days)).toBe("8");
    expect(units("count_unique", ...days)).toBe("2");
  });

  test("the highest of all days counts, also when all are below zero", () => {
    expect(units("max", day("01", { max: "9" }), day("02", { max: "10" }))).toBe("10");
    expect(units("max", day("01", { max: "-5" }), day("02", { max: "-3" }), day("03"))).toBe("-3");
  });

  test("the latest is decided by instant, then by arrival as a number", () => {
    const early = day("01", { latest: "1", last_arrival: "99" });
    const late = day("02", { latest: "2", last_arrival: "9" });
    expect(units("latest", early, late)).toBe("2");
    expect(units("latest", late, early)).toBe("2");
    const tied = day("02", { latest: "3", last_arrival: "10" });
    expect(units("latest", late, tied)).toBe("3");
    expect(units("latest", tied, late)).toBe("3");
    const next = day("02T00:00:00.001Z", { latest: "4", last_arrival: "1" });
    expect(units("latest", tied, next)).toBe("4");
    expect(units("latest", late, day("03"))).toBe("2");
  });
});
