// Which price list counts: the plan's of the instant, with a subscription's own in its place.

import { describe, expect, test } from "vitest";
import {
  type DatedVersion,
  listAt,
  listOf,
  type Override,
  versionAt,
  versionNo,
} from "../../src/domain/price-lists.ts";
import { planVersion, usageCharge } from "../support/price-lists.ts";

const at = (day: string) => new Date(`2026-01-${day}T00:00:00.000Z`);
const dated = (version: number, day: string, plan_id = "plan"): DatedVersion => ({
  ...planVersion({ plan_id, version, amount_cents: version * 100, minimum_cents: 7 }),
  effective_at: at(day),
});
/** Newest first, as they are loaded. */
const versions = [dated(3, "20"), dated(2, "10"), dated(1, "05"), dated(1, "01", "other")];

const override = (override_no: number, day: string, more: Partial<Override> = {}): Override => ({
  override_no,
  plan_id: "plan",
  effective_at: at(day),
  amount_cents: null,
  minimum_cents: null,
  charges: null,
  ...more,
});
const overrides = [
  override(4, "15", { plan_id: "other", amount_cents: 0 }),
  override(3, "14"),
  override(2, "12", { minimum_cents: 0, charges: [usageCharge("1")] }),
  override(1, "06", { amount_cents: 5 }),
];
const lists = { versions, overrides };

describe("of a plan", () => {
  test.each([
    ["04", 1],
    ["05", 1],
    ["09", 1],
    ["10", 2],
    ["25", 3],
  ])("on the %sth version %i is in force", (day, version) => {
    const own = versions.filter(({ plan_id }) => plan_id === "plan");
    expect(versionAt(own, at(day)).version).toBe(version);
  });

  test("one that is missing is a bug", () => {
    expect(() => versionNo(versions, 9)).toThrow("Price list 9 is missing.");
    expect(() => versionAt([], at("01"))).toThrow("A plan without a price list.");
  });
});

describe("of a subscription", () => {
  test.each([
    ["05", "plan", null, 100, 7, 0],
    ["06", "plan", 1, 5, 7, 0],
    ["12", "plan", 2, 200, 0, 1],
    ["14", "plan", null, 200, 7, 0],
    ["20", "plan", null, 300, 7, 0],
    ["14", "other", null, 100, 7, 0],
    ["15", "other", 4, 0, 7, 0],
  ])("from the %sth on %s: override %s", (day, plan, no, amount_cents, minimum_cents, charges) => {
    const { list, override_no } = listAt(lists, plan, at(day));
    expect([override_no, list.plan_id]).toEqual([no, plan]);
    expect([list.amount_cents, list.minimum_cents]).toEqual([amount_cents, minimum_cents]);
    expect(list.charges).toHaveLength(charges);
  });

  test("a period keeps the list that it was opened with", () => {
    const opened = { plan_id: "plan", plan_version: 2 };
    expect(listOf(lists, { ...opened, override_no: null }).amount_cents).toBe(200);
    expect(listOf(lists, { ...opened, override_no: 1 }).amount_cents).toBe(5);
    expect(() => listOf(lists, { ...opened, override_no: 8 })).toThrow("Override 8 is missing.");
  });
});
