// From a price list and usage to the lines of an invoice.

import { describe, expect, test } from "vitest";
import { formatDecimal, integer } from "../../src/domain/decimal.ts";
import { AmountOutOfRange } from "../../src/domain/money.ts";
import { firstPeriod, type Interval, type Suspension } from "../../src/domain/periods.ts";
import {
  normalisedMonthly,
  type PlanVersion,
  recurringPerPeriod,
} from "../../src/domain/pricing.ts";
import { BadQuantity } from "../../src/domain/quantities.ts";
import {
  arrearsFees,
  baseFee,
  flatCharge,
  planVersion,
  startFees,
  usageCharge,
  used,
} from "../support/price-lists.ts";

const at = (text: string) => new Date(text.length === 10 ? `${text}T00:00:00.000Z` : text);
const NOTHING = used({});
const MARCH = { start: at("2026-03-01"), end: at("2026-04-01") };

/** The fees of a whole March, as amounts. */
const marchOf = (version: PlanVersion, usage = NOTHING, properties = {}) =>
  arrearsFees({ version, billed: MARCH, suspensions: [], usage, properties });
const amounts = (fees: readonly { amount_cents: number }[]) => fees.map((fee) => fee.amount_cents);

describe("the base fee", () => {
  test.each<[number, Interval, string, number]>([
    [3100, "monthly", "2026-01-15T10:30:00.000Z", 1700],
    [3100, "monthly", "2026-03-01", 3100],
    [2900, "monthly", "2028-02-10", 2000],
    [2800, "monthly", "2100-02-01", 2800],
    [2800, "monthly", "2100-02-15", 1400],
    [700, "weekly", "2026-01-14", 500],
    [1000, "weekly", "2026-01-14", 714],
    [29_900, "quarterly", "2026-02-10", 16_611],
    [29_900, "quarterly", "2026-04-01", 29_900],
    [120_000, "yearly", "2026-07-01", 60_493],
    [120_000, "yearly", "2028-07-01", 60_328],
    [36_500, "yearly", "2026-12-31", 100],
    [5000, "monthly", "2026-08-10", 3548],
    [10_000, "monthly", "2025-02-08", 7500],
    [9999, "monthly", "2026-02-14T23:59:59.999Z", 5357],
    [1, "monthly", "2026-01-31", 0],
    [6200, "monthly", "2026-01-20", 2400],
    [31, "monthly", "2026-01-17", 15],
    [310, "monthly", "2026-01-17", 150],
  ])("%i %s, started %s, is %i for the first period", (amount_cents, interval, start, fee) => {
    const { next } = firstPeriod(at(start), interval);
    const billed = { start: at(start), end: next };
    expect(baseFee(planVersion({ amount_cents, interval }), billed, [])?.amount_cents).toBe(fee);
  });

  test.each([
    [1000, "2022-12-15", "2022-12-20T10:00:00.000Z", 194],
    [2900, "2024-02-01", "2024-02-12T06:00:00.000Z", 1200],
    [3000, "2026-04-01", "2026-04-15T10:00:00.000Z", 1500],
  ])("%i from %s, terminated %s, is %i", (amount_cents, start, end, fee) => {
    const billed = { start: at(start), end: at(end) };
    expect(baseFee(planVersion({ amount_cents }), billed, [])?.amount_cents).toBe(fee);
  });

  test.each<[string, string, string, string, number]>([
    ["2026-04-01", "2026-05-01", "2026-04-10T12:00:00.000Z", "2026-04-20T09:00:00.000Z", 2100],
    ["2026-04-01", "2026-05-01", "2026-04-30T12:00:00.000Z", "2026-06-11", 3000],
    ["2026-05-01", "2026-06-01", "2026-04-30T12:00:00.000Z", "2026-06-11", 0],
    ["2026-06-01", "2026-07-01", "2026-04-30T12:00:00.000Z", "2026-06-11", 2000],
    ["2026-04-01", "2026-05-01", "2026-04-20T12:00:00.000Z", "2026-05-06", 2000],
    ["2026-05-01", "2026-06-01", "2026-04-20T12:00:00.000Z", "2026-05-06", 2516],
  ])("3000 from %s to %s, suspended %s to %s, is %i", (start, end, from, to, fee) => {
    const suspensions: Suspension[] = [{ from: at(from), to: at(to) }];
    const billed = { start: at(start), end: at(end) };
    const version = planVersion({ amount_cents: 3000 });
    expect(baseFee(version, billed, suspensions)?.amount_cents).toBe(fee);
  });

  test("is one line that explains itself", () => {
    const billed = { start: at("2026-02-14T23:59:59.999Z"), end: at("2026-03-01") };
    expect(baseFee(planVersion({ amount_cents: 9999, version: 3 }), billed, [])).toEqual({
      fee_type: "subscription",
      charge_id: null,
      billable_metric_code: null,
      units: "1",
      amount_cents: 5357,
      properties: {
        name: "Pro",
        amount_cents: 9999,
        billable_days: 15,
        period_days: 28,
        precise_amount: "5356.607142857143",
        plan_code: "pro",
        plan_version: 3,
      },
      money: { tax_codes: null, line: "base" },
    });
  });

  test("is left out when the plan has none", () => {
    expect(baseFee(planVersion(), MARCH, [])).toBeUndefined();
  });
});

describe("usage fees", () => {
  test.each([
    ["0.10", "30.75", 308, "30.75"],
    ["0.0001234", "1000000", 12_340, "1000000"],
    ["0.0001234", "12345", 152, "12345"],
    ["0.0001234", "41", 1, "41"],
    ["0.0001234", "40", 0, "40"],
    ["1.005", "1", 101, "1"],
    ["0.01", "10000.0", 10_000, "10000"],
    ["1.50", "3", 450, "3"],
    ["2", "12", 2400, "12"],
    ["2", "-3", 0, "0"],
    ["1", "9", 900, "9"],
    ["0.50", "70", 3500, "70"],
    ["1", "15.5", 1550, "15.5"],
  ])("at %s, %s units are %i", (rate, raw, amount_cents, units) => {
    const fees = marchOf(planVersion({ charges: [usageCharge(rate)] }), used({ metric: raw }));
    expect(fees).toMatchObject([{ fee_type: "charge", units, amount_cents }]);
  });

  test("explain themselves, with the rate as it was written", () => {
    const charge = usageCharge("0.10", { properties: { amount: "0.10", note: "calls" } });
    const [fee] = marchOf(planVersion({ charges: [charge] }), used({ metric: "30.75" }));
    expect(fee).toEqual({
      fee_type: "charge",
      charge_id: "usage",
      billable_metric_code: "calls",
      units: "30.75",
      amount_cents: 308,
      properties: {
        amount: "0.10",
        note: "calls",
        name: "calls",
        charge_model: "standard",
        precise_amount: "307.5",
        plan_code: "pro",
        plan_version: 1,
      },
      money: { tax_codes: null, line: "usage" },
    });
  });

  test("below zero bill as nothing beside the base, and keep the raw value", () => {
    const version = planVersion({ amount_cents: 1000, charges: [usageCharge("1")] });
    const fees = marchOf(version, used({ metric: "-15" }));
    expect(amounts(fees)).toEqual([1000, 0]);
    expect(fees[1]).toMatchObject({ units: "0", properties: { raw_units: "-15" } });
  });

  test("two charges on one metric each bill all of it", () => {
    const charges = [usageCharge("0.10", { id: "a" }), usageCharge("0.02", { id: "b" })];
    expect(amounts(marchOf(planVersion({ charges }), used({ metric: "100" })))).toEqual([
      1000, 200,
    ]);
  });

  test("a metric without a charge is not billed, a charge without usage is a line of 0", () => {
    const version = planVersion({ amount_cents: 5000, charges: [usageCharge("1")] });
    const fees = marchOf(version, used({ other: "7" }));
    expect(fees).toMatchObject([{ amount_cents: 5000 }, { units: "0", amount_cents: 0 }]);
    expect(fees[1]?.properties).not.toHaveProperty("raw_units");
  });

  test.each([{ rate: null }, { metric_id: null }, { metric_code: null }])(
    "of a charge with %j are an error, never a silent 0",
    (missing) => {
      const version = planVersion({ charges: [usageCharge("1", missing)] });
      expect(() => marchOf(version)).toThrow(/charge usage has no metric or no rate/);
    },
  );

  test("that no number can carry are refused", () => {
    const version = planVersion({ charges: [usageCharge("999999999999999")] });
    const usage = used({ metric: "999999999999999" });
    expect(() => marchOf(version, usage)).toThrow(AmountOutOfRange);
  });
});

describe("flat fees", () => {
  const seats = { quantity_from: "subscription_property.seats" };

  test.each([
    ["quantity times price", flatCharge(4900, seats), { seats: 3 }, 14_700, "3"],
    ["one when no quantity is named", flatCharge(4900), { seats: 3 }, 4900, "1"],
    ["an override", flatCharge(4500, seats), { seats: "3" }, 13_500, "3"],
    ["an override of 0", flatCharge(0, seats), { seats: 3 }, 0, "3"],
    ["an override without item", flatCharge(700, { catalog_item_code: null }), {}, 700, "1"],
    ["a quantity of 0", flatCharge(1000, seats), { seats: 0 }, 0, "0"],
    ["a quantity with decimals", flatCharge(1501, seats), { seats: "2.50" }, 3753, "2.5"],
    ["yen", flatCharge(1500, seats), { seats: 3 }, 4500, "3"],
  ])("%s", (_, charge, properties, amount_cents, units) => {
    const fees = marchOf(planVersion({ charges: [charge] }), NOTHING, properties);
    expect(fees).toMatchObject([{ fee_type: "charge", units, amount_cents }]);
  });

  test("are never prorated, whatever is left of the period", () => {
    const version = planVersion({ charges: [flatCharge(4900, seats)] });
    const billed = { start: at("2026-03-20"), end: at("2026-04-01") };
    const close = { version, billed, suspensions: [], usage: NOTHING, properties: { seats: 3 } };
    expect(amounts(arrearsFees(close))).toEqual([14_700]);
  });

  test("explain themselves", () => {
    const charge = flatCharge(1501, { ...seats, properties: { note: "x" } });
    const [fee] = marchOf(planVersion({ charges: [charge] }), NOTHING, { seats: "2.5" });
    expect(fee).toMatchObject({
      charge_id: "flat",
      billable_metric_code: null,
      properties: {
        note: "x",
        charge_model: "flat_fee",
        catalog_item_code: "seat",
        unit_amount_cents: 1501,
        precise_amount: "3752.5",
        invoice_timing: "arrears",
        plan_version: 1,
      },
    });
  });

  test.each([
    [{}, /"seats" must be a decimal of 0 or more; it is missing/],
    [{ seats: "abc" }, /it is "abc"/],
    [{ seats: "1e9" }, /it is "1e9"/],
    [{ seats: -1 }, /it is -1/],
    [{ seats: null }, /it is null/],
    [{ seats: {} }, /it is {}/],
    [{ seats: true }, /it is true/],
  ])("with the properties %j stop the close with a reason", (properties, reason) => {
    const version = planVersion({ charges: [flatCharge(1000, seats)] });
    expect(() => marchOf(version, NOTHING, properties)).toThrow(BadQuantity);
    expect(() => marchOf(version, NOTHING, properties)).toThrow(reason);
  });

  test("without a price are an error, never a silent 0", () => {
    const version = planVersion({ charges: [flatCharge(1, { unit_cents: null })] });
    expect(() => marchOf(version)).toThrow(/flat fee flat has no price/);
  });
});

describe("when a charge is billed", () => {
  const version = planVersion({
    amount_cents: 100,
    charges: [
      flatCharge(1, { id: "immediate", invoice_timing: "immediate" }),
      usageCharge("1", { id: "usage" }),
      flatCharge(2, { id: "advance", invoice_timing: "advance" }),
      flatCharge(3, { id: "arrears" }),
    ],
  });
  const ids = (fees: readonly { charge_id: string | null }[]) => fees.map((fee) => fee.charge_id);

  test("at the start: what is due once, and what is paid in advance", () => {
    expect(ids(startFees(version, {}))).toEqual(["immediate", "advance"]);
  });

  test("at each later start: what is paid in advance", () => {
    expect(ids(startFees(version, {}, false))).toEqual(["advance"]);
  });

  test("at the end: the base, then the rest in the plan's order", () => {
    expect(ids(marchOf(version))).toEqual([null, "usage", "arrears"]);
  });

  test("an immediate fee is its price times the quantity", () => {
    const quantity_from = "subscription_property.seats";
    const charge = flatCharge(9900, { invoice_timing: "immediate", quantity_from });
    expect(amounts(startFees(planVersion({ charges: [charge] }), { seats: 3 }))).toEqual([29_700]);
  });

  test("the last millisecond of a leap February belongs to it", () => {
    const leap = planVersion({ amount_cents: 2900, charges: [usageCharge("1")] });
    const close = (start: string, end: string, units: string) =>
      arrearsFees({
        version: leap,
        billed: { start: at(start), end: at(end) },
        suspensions: [],
        usage: used({ metric: units }),
        properties: {},
      });
    expect(amounts(close("2028-02-01", "2028-03-01", "1"))).toEqual([2900, 100]);
    expect(amounts(close("2028-03-01", "2028-04-01", "2"))).toEqual([2900, 200]);
  });
});

describe("recurring revenue", () => {
  test("counts the base and recurring flat fees, not those due once and not usage", () => {
    const version = planVersion({
      amount_cents: 1000,
      charges: [
        flatCharge(4900, { quantity_from: "subscription_property.seats" }),
        flatCharge(9900, { invoice_timing: "immediate" }),
        flatCharge(50, { invoice_timing: "advance" }),
        usageCharge("1"),
      ],
    });
    expect(formatDecimal(recurringPerPeriod(version, { seats: 3 }))).toBe("15750");
  });

  test("of all intervals is brought to a month and rounded once", () => {
    const parts = [
      { interval: "yearly", cents: integer(120_000) },
      { interval: "semiannual", cents: integer(60_000) },
      { interval: "quarterly", cents: integer(29_900) },
      { interval: "weekly", cents: integer(1000) },
    ] as const;
    expect(normalisedMonthly(parts)).toBe(34_300);
    expect(parts.map((part) => normalisedMonthly([part]))).toEqual([10_000, 10_000, 9967, 4333]);
    expect(normalisedMonthly([{ interval: "monthly", cents: integer(14_700) }])).toBe(14_700);
    expect(normalisedMonthly([])).toBe(0);
  });
});
