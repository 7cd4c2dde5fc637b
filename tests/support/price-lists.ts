// Price lists for the tests of pricing: only what a case is about has to be written down.
import { type Decimal, decimal } from "../../src/domain/decimal.ts";
import type { PlanVersion, PricedCharge, Usage } from "../../src/domain/pricing.ts";

export function planVersion(parts: Partial<PlanVersion> = {}): PlanVersion {
  return {
    plan_id: "plan",
    version: 1,
    interval: "monthly",
    currency: "USD",
    amount_cents: 0,
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

/** `used({ metric: "30.75" })` */
export function used(units: Readonly<Record<string, string>>): Usage {
  return new Map<string, Decimal>(
    Object.entries(units).map(([metric_id, text]) => [metric_id, decimal(text)]),
  );
}
