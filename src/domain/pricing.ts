// Computes the lines of an invoice from a price list and usage. Which version of a plan prices a
// period, and what was used in it, is handed in.
import type { Aggregation } from "./aggregation.ts";
import {
  add,
  compare,
  type Decimal,
  decimal,
  decimalFromJson,
  divideRounded,
  formatDecimal,
  integer,
  isNegative,
  max,
  multiply,
  ONE,
  subtract,
  ZERO,
} from "./decimal.ts";
import { flatAmount, prorated, sumCents, toCents, usageAmount } from "./money.ts";
import {
  billableDays,
  billedDates,
  type Interval,
  periodAt,
  periodDays,
  type Suspension,
} from "./periods.ts";

type Properties = Readonly<Record<string, unknown>>;

export type PricedCharge = {
  readonly id: string;
  readonly charge_model: "standard" | "flat_fee";
  readonly invoice_timing: "arrears" | "immediate" | "advance";
  readonly metric_id: string | null;
  readonly metric_code: string | null;
  readonly aggregation_type: Aggregation | null;
  /** Per unit, in the currency's main unit. */
  readonly rate: string | null;
  readonly catalog_item_code: string | null;
  readonly unit_cents: number | null;
  readonly quantity_from: string | null;
  readonly properties: Properties;
};

/** A plan's complete, immutable price list. A subscription's period is priced by exactly one. */
export type PlanVersion = {
  readonly plan_id: string;
  readonly version: number;
  readonly interval: Interval;
  readonly currency: string;
  readonly amount_cents: number;
  readonly charges: readonly PricedCharge[];
};

export type FeeDraft = {
  readonly fee_type: "subscription" | "charge" | "adjustment" | "add_on";
  readonly charge_id: string | null;
  readonly billable_metric_code: string | null;
  readonly units: string;
  readonly amount_cents: number;
  readonly properties: Properties;
};

/** Units by metric id, raw; a metric that is absent was not used. */
export type Usage = ReadonlyMap<string, Decimal>;

/** Half-open; `end` is the next period's start or the instant of termination. */
export type BilledPeriod = { readonly start: Date; readonly end: Date };

/** By charge id: what all lines so far say that a period's usage is and costs. */
export type Billed = Readonly<
  Record<string, { readonly units: string; readonly amount_cents: number }>
>;

/** A quantity that no fee can be made of. Its message is shown to the operator. */
export class BadQuantity extends Error {
  override readonly name = "BadQuantity";
}

const QUANTITY_SOURCE = "subscription_property.";
/** A month of each interval, in twelfths. */
const TWELFTHS = { weekly: 52, monthly: 12, quarterly: 4, semiannual: 2, yearly: 1 } as const;

/** The quantity of a flat fee as the subscription has it now; 1 when it has no source. */
export function quantityOf(charge: PricedCharge, properties: Properties): Decimal {
  if (charge.quantity_from === null) return ONE;
  const name = charge.quantity_from.slice(QUANTITY_SOURCE.length);
  if (!charge.quantity_from.startsWith(QUANTITY_SOURCE) || name === "") {
    throw new BadQuantity(`quantity_from "${charge.quantity_from}" names no property.`);
  }
  const sent = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const quantity = decimalFromJson(sent);
  // Never taken for 0 or 1: the operator is shown a quantity that cannot be read.
  if (quantity === undefined || isNegative(quantity)) {
    const found = sent === undefined ? "is missing" : `is ${JSON.stringify(sent)}`;
    throw new BadQuantity(`The property "${name}" must be a decimal of 0 or more; it ${found}.`);
  }
  return quantity;
}

/** One line, also when the period is cut short. Undefined when the plan has no base price. */
export function baseFee(
  version: PlanVersion,
  billed: BilledPeriod,
  suspensions: readonly Suspension[],
): FeeDraft | undefined {
  if (version.amount_cents === 0) return undefined;
  const billable_days = billableDays({ ...billed, suspensions });
  const period_days = periodDays(periodAt(billed.start, version.interval));
  const amount = prorated(version.amount_cents, billable_days, period_days);
  return {
    fee_type: "subscription",
    charge_id: null,
    billable_metric_code: null,
    units: "1",
    amount_cents: amount.amount_cents,
    properties: {
      amount_cents: version.amount_cents,
      billable_days,
      period_days,
      precise_amount: amount.precise_amount,
      plan_version: version.version,
    },
  };
}

/** What is billed when a period ends: the base fee, then the charges in the plan's order. */
export function arrearsFees(close: {
  readonly version: PlanVersion;
  readonly billed: BilledPeriod;
  readonly suspensions: readonly Suspension[];
  readonly usage: Usage;
  readonly properties: Properties;
}): FeeDraft[] {
  const { version, usage, properties } = close;
  const base = baseFee(version, close.billed, close.suspensions);
  const charges = version.charges
    .filter((charge) => charge.invoice_timing === "arrears")
    .map((charge) =>
      charge.charge_model === "standard"
        ? usageFee(charge, version, usage)
        : flatFee(charge, version, properties),
    );
  return base === undefined ? charges : [base, ...charges];
}

/** What a subscription is billed when it starts: flat fees due once, and those paid in advance. */
export function startFees(version: PlanVersion, properties: Properties): FeeDraft[] {
  return flatFees(version, ["immediate", "advance"], properties);
}

/** What is billed when a later period starts. */
export function advanceFees(version: PlanVersion, properties: Properties): FeeDraft[] {
  return flatFees(version, ["advance"], properties);
}

/** What a close billed for usage: where the corrections of late events start from. */
export function billedOf(fees: readonly FeeDraft[]): Billed {
  return Object.fromEntries(
    fees.flatMap(({ fee_type, charge_id, billable_metric_code, units, amount_cents }) =>
      fee_type === "charge" && charge_id !== null && billable_metric_code !== null
        ? [[charge_id, { units, amount_cents }]]
        : [],
    ),
  );
}

/**
 * Re-rates a closed period at its own prices: each line is the fee for all usage known now, less
 * everything billed for it so far. `usage` must hold every metric of the version, not only those
 * that late events touched. A charge whose amount stays gets no line, and its entry in `billed`
 * stays too, so that the units of all lines add up to what the last of them knew.
 */
export function adjustments(correction: {
  readonly version: PlanVersion;
  readonly billed_period: BilledPeriod;
  readonly billed: Billed;
  readonly usage: Usage;
}): { fees: FeeDraft[]; billed: Billed } {
  const { version, billed_period, usage } = correction;
  const fees: FeeDraft[] = [];
  const billed: Record<string, Billed[string]> = { ...correction.billed };
  for (const charge of version.charges) {
    if (charge.charge_model !== "standard") continue;
    const before = correction.billed[charge.id] ?? { units: "0", amount_cents: 0 };
    const now = usageFee(charge, version, usage);
    if (now.amount_cents === before.amount_cents) continue;
    fees.push({
      ...now,
      fee_type: "adjustment",
      units: formatDecimal(subtract(decimal(now.units), decimal(before.units))),
      amount_cents: sumCents([now.amount_cents, -before.amount_cents]),
      properties: {
        ...now.properties,
        ...billedDates(billed_period.start, billed_period.end),
        billed_units: before.units,
        billed_amount_cents: before.amount_cents,
        corrected_units: now.units,
        corrected_amount_cents: now.amount_cents,
      },
    });
    billed[charge.id] = { units: now.units, amount_cents: now.amount_cents };
  }
  return { fees, billed };
}

/** What a subscription brings in each period, exact: the base and the recurring flat fees. */
export function recurringPerPeriod(version: PlanVersion, properties: Properties): Decimal {
  return version.charges
    .filter((charge) => charge.charge_model === "flat_fee" && charge.invoice_timing !== "immediate")
    .map((charge) => multiply(quantityOf(charge, properties), integer(unitCents(charge))))
    .reduce(add, integer(version.amount_cents));
}

/** The sum of amounts per interval as one amount per month, rounded once. */
export function normalisedMonthly(
  parts: Iterable<{ readonly interval: Interval; readonly cents: Decimal }>,
): number {
  let twelfths = ZERO;
  for (const { interval, cents } of parts) {
    twelfths = add(twelfths, multiply(cents, integer(TWELFTHS[interval])));
  }
  return toCents(divideRounded(twelfths, 12n));
}

function usageFee(charge: PricedCharge, version: PlanVersion, usage: Usage): FeeDraft {
  const { rate, metric_id, metric_code } = charge;
  if (rate === null || metric_id === null || metric_code === null) {
    throw new Error(`The usage charge ${charge.id} has no metric or no rate.`);
  }
  const raw = usage.get(metric_id) ?? ZERO;
  // Usage that adds up to less than nothing bills as none, and gives nothing back.
  const units = max(raw, ZERO);
  const amount = usageAmount(units, decimal(rate), version.currency);
  return {
    fee_type: "charge",
    charge_id: charge.id,
    billable_metric_code: metric_code,
    units: formatDecimal(units),
    amount_cents: amount.amount_cents,
    properties: {
      ...charge.properties,
      charge_model: charge.charge_model,
      amount: rate,
      precise_amount: amount.precise_amount,
      ...(compare(raw, ZERO) < 0 ? { raw_units: formatDecimal(raw) } : {}),
      plan_version: version.version,
    },
  };
}

function flatFees(
  version: PlanVersion,
  timings: readonly PricedCharge["invoice_timing"][],
  properties: Properties,
): FeeDraft[] {
  return version.charges
    .filter(({ charge_model }) => charge_model === "flat_fee")
    .filter(({ invoice_timing }) => timings.includes(invoice_timing))
    .map((charge) => flatFee(charge, version, properties));
}

/** Never prorated: the whole price for whatever part of the period there was. */
function flatFee(charge: PricedCharge, version: PlanVersion, properties: Properties): FeeDraft {
  const quantity = quantityOf(charge, properties);
  const unit_amount_cents = unitCents(charge);
  const amount = flatAmount(quantity, unit_amount_cents);
  return {
    fee_type: "charge",
    charge_id: charge.id,
    billable_metric_code: null,
    units: formatDecimal(quantity),
    amount_cents: amount.amount_cents,
    properties: {
      ...charge.properties,
      charge_model: charge.charge_model,
      catalog_item_code: charge.catalog_item_code,
      unit_amount_cents,
      precise_amount: amount.precise_amount,
      invoice_timing: charge.invoice_timing,
      plan_version: version.version,
    },
  };
}

function unitCents(charge: PricedCharge): number {
  if (charge.unit_cents === null) throw new Error(`The flat fee ${charge.id} has no price.`);
  return charge.unit_cents;
}
