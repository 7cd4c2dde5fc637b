// Corrections of closed periods, and how they add up.

import { describe, expect, test } from "vitest";
import type { PlanVersion } from "../../src/domain/pricing.ts";
import {
  adjustments,
  close,
  flatCharge,
  planVersion,
  usageCharge,
  used,
} from "../support/price-lists.ts";

const MARCH = { start: new Date("2026-03-01"), end: new Date("2026-04-01") };
const billedIn = (version: PlanVersion, usage: ReturnType<typeof used>) =>
  close({ version, billed: MARCH, suspensions: [], usage, properties: {} }).billed;
const amounts = (fees: readonly { amount_cents: number }[]) => fees.map((fee) => fee.amount_cents);

describe("late usage", () => {
  const version = planVersion({ version: 4, charges: [usageCharge("0.10")] });
  const january = { start: new Date("2026-01-01"), end: new Date("2026-02-01") };
  const closed = (units: string) => billedIn(version, used({ metric: units }));
  const corrected = (billed: ReturnType<typeof closed>, units: string) =>
    adjustments({ version, billed_period: january, billed, usage: used({ metric: units }) });

  test("is billed as the difference, naming its period", () => {
    const { fees, billed } = corrected(closed("100"), "120");
    expect(fees).toEqual([
      {
        fee_type: "adjustment",
        charge_id: "usage",
        billable_metric_code: "calls",
        units: "20",
        amount_cents: 200,
        properties: {
          amount: "0.10",
          name: "calls",
          charge_model: "standard",
          precise_amount: "1200",
          plan_code: "pro",
          plan_version: 4,
          period_start: "2026-01-01",
          period_end: "2026-01-31",
          billed_units: "100",
          billed_amount_cents: 1000,
          corrected_units: "120",
          corrected_amount_cents: 1200,
          invoice_number: "INV-2026-0001",
        },
        money: { tax_codes: null, line: "usage" },
      },
    ]);
    expect(corrected(billed, "120").fees).toEqual([]);
  });

  test("of a period that had no invoice is billed in full", () => {
    expect(corrected({}, "20").fees).toMatchObject([{ units: "20", amount_cents: 200 }]);
  });

  test("that does not change the aggregate gives no fee", () => {
    expect(corrected(closed("100"), "100").fees).toEqual([]);
    expect(corrected(closed("100"), "150").fees).toMatchObject([{ amount_cents: 500 }]);
  });

  test("that takes usage back gives money back, to no less than nothing", () => {
    const first = corrected(closed("10"), "-5");
    expect(first.fees).toMatchObject([
      { units: "-10", amount_cents: -100, properties: { raw_units: "-5", corrected_units: "0" } },
    ]);
    expect(corrected(first.billed, "3").fees).toMatchObject([{ units: "3", amount_cents: 30 }]);
  });

  test("too small for a cent waits, units and all, for the one that makes it", () => {
    const tiny = planVersion({ charges: [usageCharge("0.0001")] });
    const step = (billed: ReturnType<typeof closed>, units: string) =>
      adjustments({
        version: tiny,
        billed_period: january,
        billed,
        usage: used({ metric: units }),
      });
    const waiting = step({}, "40");
    expect(waiting.fees).toEqual([]);
    expect(step(waiting.billed, "60").fees).toMatchObject([{ units: "60", amount_cents: 1 }]);
  });

  test("is corrected for each charge of the metric, and for usage charges only", () => {
    const charges = [
      usageCharge("0.10", { id: "a" }),
      flatCharge(500, { id: "flat" }),
      usageCharge("0.02", { id: "b" }),
    ];
    const both = planVersion({ amount_cents: 1000, charges });
    const billed = billedIn(both, used({ metric: "100" }));
    expect(billed).toEqual({
      a: { units: "100", amount_cents: 1000 },
      b: { units: "100", amount_cents: 200 },
    });
    const usage = used({ metric: "150" });
    const { fees } = adjustments({ version: both, billed_period: january, billed, usage });
    expect(amounts(fees)).toEqual([500, 100]);
  });
});
