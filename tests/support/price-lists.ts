// Price lists for the tests of pricing: only what a case is about has to be written down.
import * as periodFees from "../../src/domain/period-fees.ts";
import { periodAt, periodDays, type Suspension } from "../../src/domain/periods.ts";
import type { Names, PlanVersion, PricedCharge } from "../../src/domain/pricing.ts";
import * as pricing from "../../src/domain/pricing.ts";
import type { Metered, MetricUsage } from "../../src/domain/usage-fees.ts";

export const NAMES: Names = {
  plan: "Pro",
  ofCharge: ({ name, metric_code, catalog_item_code }) =>
    name ?? metric_code ?? catalog_item_code ?? "Fee",
};

export function planVersion(parts: Partial<PlanVersion> = {}): PlanVersion {
  return {
    plan_id: "plan",
    plan_code: "pro",
    version: 1,
    interval: "monthly",
    currency: "USD",
    amount_cents: 0,
    minimum_cents: 0,
    base_timing: "arrears",
    charges: [],
    ...parts,
  };
}

export function usageCharge(rate: string, parts: Partial<PricedCharge> = {}): PricedCharge {
  return {
    id: "usage",
    charge_model: "standard",
    invoice_timing: "arrears",
    metric_id: "metric",
    metric_code: "calls",
    aggregation_type: "sum",
    rate,
    catalog_item_code: null,
    unit_cents: null,
    quantity_from: null,
    properties: { amount: rate },
    ...parts,
  };
}

export function flatCharge(unit_cents: number, parts: Partial<PricedCharge> = {}): PricedCharge {
  return {
    id: "flat",
    charge_model: "flat_fee",
    invoice_timing: "arrears",
    metric_id: null,
    metric_code: null,
    aggregation_type: null,
    rate: null,
    catalog_item_code: "seat",
    unit_cents,
    quantity_from: null,
    properties: {},
    ...parts,
  };
}

/** `used({ metric: "30.75" })`, of metrics that add up. */
export function used(units: Readonly<Record<string, string>>): MetricUsage[] {
  return Object.entries(units).map(([metric_id, sum]) => ({
    metric_id,
    combination: null,
    events: 1,
    sum,
    max: null,
    latest: null,
    uniques: 0,
    last_at: new Date(0),
    last_arrival: "0",
  }));
}

type Span = { readonly start: Date; readonly end: Date };

function meteredIn(
  version: PlanVersion,
  { start, end }: Span,
  usage: readonly MetricUsage[],
): Metered {
  const full = periodAt(start, version.interval);
  return { usage, levels: {}, start, end, full_ms: full.next.getTime() - full.start.getTime() };
}

function daysIn(version: PlanVersion, billed: Span, suspensions: readonly Suspension[]) {
  return {
    ...billed,
    suspensions,
    period_days: periodDays(periodAt(billed.start, version.interval)),
  };
}

export type Close = {
  readonly version: PlanVersion;
  readonly billed: Span;
  readonly suspensions: readonly Suspension[];
  readonly usage: readonly MetricUsage[];
  readonly properties: Readonly<Record<string, unknown>>;
};

/** A period that ends, with its fees and what it remembers of them. */
export function close(input: Close): periodFees.PeriodFees {
  const { version, billed, suspensions, usage, properties } = input;
  return periodFees.arrearsFees({
    list: version,
    metered: meteredIn(version, billed, usage),
    billed_days: daysIn(version, billed, suspensions),
    properties,
    quantities: { former: [], present: properties },
    advance: null,
    names: NAMES,
  });
}

export function arrearsFees(input: Close): pricing.FeeDraft[] {
  return [...close(input).fees];
}

export function adjustments(input: {
  readonly version: PlanVersion;
  readonly billed_period: Span;
  readonly billed: periodFees.Billed;
  readonly usage: readonly MetricUsage[];
}) {
  const { version, billed_period, billed, usage } = input;
  const metered = meteredIn(version, billed_period, usage);
  const invoice_number = "INV-2026-0001";
  return periodFees.adjustments({ list: version, metered, billed, names: NAMES, invoice_number });
}

export function baseFee(version: PlanVersion, billed: Span, suspensions: readonly Suspension[]) {
  return pricing.baseFee(version, daysIn(version, billed, suspensions), NAMES);
}

/** Of a first period, or of a later one. */
export function startFees(version: PlanVersion, properties: object, is_first = true) {
  const billed = daysIn(version, periodOf("2026-03-01", version), []);
  const start = { properties: { ...properties }, billed, is_first };
  return pricing.startFees(version, start, NAMES);
}

function periodOf(day: string, { interval }: PlanVersion): Span {
  const { start, next } = periodAt(new Date(day), interval);
  return { start, end: next };
}
