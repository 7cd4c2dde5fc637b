// Price lists, and the lines of an invoice that come from them without usage: the base fee and flat
// fees. Which list prices a period is handed in.
import type { AggregationType } from "../schema/metrics.ts";
import type { UsageModel } from "./charge-models.ts";
import { type ChargePrice, wordsOnFees } from "./charge-properties.ts";
import {
  add,
  type Decimal,
  divideRounded,
  formatDecimal,
  integer,
  max,
  multiply,
  ZERO,
} from "./decimal.ts";
import type { PartOfPeriod } from "./full-periods.ts";
import { flatAmount, prorated, toCents } from "./money.ts";
import { billableDays, type Interval, type Suspension } from "./periods.ts";
import { highestQuantity, type Quantities, quantityOf, sumOverDays } from "./quantities.ts";
import type { TaxTerms } from "./taxes.ts";

type Properties = Readonly<Record<string, unknown>>;

export type PricedCharge = {
  readonly id: string;
  readonly charge_model: UsageModel | "flat_fee";
  readonly invoice_timing: "arrears" | "immediate" | "advance";
  readonly metric_id: string | null;
  readonly metric_code: string | null;
  readonly aggregation_type: AggregationType | null;
  /** The price of a unit, in the currency's main unit; null but for a standard charge. */
  readonly rate: string | null;
  readonly catalog_item_code: string | null;
  readonly unit_cents: number | null;
  readonly quantity_from: string | null;
  /** The caller's own properties, without those that make the price. */
  readonly properties: Properties;
  // The fields below may be absent where they say nothing.
  readonly name?: string | null;
  readonly price?: ChargePrice;
  readonly dimensions?: readonly string[];
  readonly weighted_by?: "hour" | "period" | null;
  readonly tax_codes?: readonly string[] | null;
  /** An upper bound of what one unit costs, for charges that are not standard. */
  readonly highest_rate?: number;
};

/** A complete, immutable price list. A subscription's period is priced by exactly one. */
export type PlanVersion = {
  readonly plan_id: string;
  readonly plan_code: string;
  readonly version: number;
  readonly interval: Interval;
  readonly currency: string;
  readonly amount_cents: number;
  readonly minimum_cents: number;
  readonly base_timing: "arrears" | "advance";
  /** Taxes of the base fee, and of charges that name none themselves. */
  readonly tax_codes?: readonly string[] | null;
  readonly charges: readonly PricedCharge[];
};

export type FeeDraft = {
  readonly fee_type:
    | "subscription"
    | "charge"
    | "minimum"
    | "adjustment"
    | "add_on"
    | "one_off"
    | "top_up";
  readonly charge_id: string | null;
  readonly billable_metric_code: string | null;
  readonly units: string;
  readonly amount_cents: number;
  readonly properties: Properties;
  readonly money?: FeeMoney;
};

/** What taxes and coupons need to know of a fee. */
export type FeeMoney = {
  /** Taxes that the charge or its plan names; null: neither does. */
  readonly tax_codes: readonly string[] | null;
  /** The key of the line among those of its period. */
  readonly line: string | null;
  /** The period that the fee corrects. */
  readonly corrects?: Corrected;
};

export type Corrected = {
  readonly period_no: number;
  /** The full period that it is a part of, by which coupons count uses. */
  readonly part: PartOfPeriod;
  readonly ended_at: Date;
  /** Taxes it was billed with; null: none; undefined: it was not billed, so those in force now. */
  readonly taxes: TaxTerms | null | undefined;
  /** Whether the fee gives back days of a base fee that was billed in advance. */
  readonly gives_back_base: boolean;
};

export function moneyOf(
  list: Pick<PlanVersion, "tax_codes">,
  charge: Pick<PricedCharge, "tax_codes"> | null,
  line: string,
): FeeMoney {
  return { tax_codes: charge?.tax_codes ?? list.tax_codes ?? null, line };
}

/** What documents call the plan and its charges. */
export type Names = {
  readonly plan: string;
  readonly ofCharge: (charge: PricedCharge) => string;
};

/** The key of the base fee's line. */
export const BASE_LINE = "base";
/** How many periods of an interval a year has. */
const PERIODS_A_YEAR = { weekly: 52, monthly: 12, quarterly: 4, semiannual: 2, yearly: 1 } as const;

/** How many days count, of those that a full period has. */
export type Days = { readonly billable_days: number; readonly period_days: number };

/** The days of a period that are billed. */
export type BilledDays = {
  readonly start: Date;
  /** The end of the last billed day: before the day of a change of plan, else the period's end. */
  readonly end: Date;
  readonly suspensions: readonly Suspension[];
  /** The days of the full period. */
  readonly period_days: number;
  /** Set where the plan was changed on the very day the period started. */
  readonly has_no_day?: boolean;
};

export function daysOf(billed: BilledDays): Days {
  return { billable_days: billableDays(billed), period_days: billed.period_days };
}

/**
 * The base fee: one line, also when the period is cut short. Undefined when the plan has no base
 * price, or the period has no day of its own.
 */
export function baseFee(list: PlanVersion, billed: BilledDays, names: Names): FeeDraft | undefined {
  if (list.amount_cents === 0 || billed.has_no_day === true) return undefined;
  const days = daysOf(billed);
  const amount = prorated(list.amount_cents, days.billable_days, days.period_days);
  return {
    fee_type: "subscription",
    charge_id: null,
    billable_metric_code: null,
    units: "1",
    amount_cents: amount.amount_cents,
    properties: {
      name: names.plan,
      amount_cents: list.amount_cents,
      ...days,
      precise_amount: amount.precise_amount,
      plan_code: list.plan_code,
      plan_version: list.version,
    },
    money: moneyOf(list, null, BASE_LINE),
  };
}

/** What is billed when a period starts. */
export function startFees(
  list: PlanVersion,
  start: {
    readonly properties: Properties;
    readonly billed: BilledDays;
    /** The first paid period has the fees that a subscription is billed once. */
    readonly is_first: boolean;
  },
  names: Names,
): FeeDraft[] {
  const base = list.base_timing === "advance" ? baseFee(list, start.billed, names) : undefined;
  const timings = start.is_first ? ["immediate", "advance"] : ["advance"];
  const flat = list.charges
    .filter(({ charge_model }) => charge_model === "flat_fee")
    .filter(({ invoice_timing }) => timings.includes(invoice_timing))
    .map((charge) =>
      flatFee(charge, list, quantityOf(charge.quantity_from, start.properties), names),
    );
  return base === undefined ? flat : [base, ...flat];
}

/** What was billed in advance at a period's start: its end reckons with it. */
export type Advance = { readonly base_cents: number; readonly flat_cents: number };

export function advanceOf(list: PlanVersion, fees: readonly FeeDraft[]): Advance | null {
  const recurring = new Set(
    list.charges.filter(({ invoice_timing }) => invoice_timing === "advance").map(({ id }) => id),
  );
  let base_cents = 0;
  let flat_cents = 0;
  for (const fee of fees) {
    if (fee.fee_type === "subscription") base_cents += fee.amount_cents;
    else if (recurring.has(fee.charge_id ?? "")) flat_cents += fee.amount_cents;
  }
  return base_cents === 0 && flat_cents === 0 ? null : { base_cents, flat_cents };
}

/** Checks every quantity that the list asks for. */
export function checkQuantities(list: PlanVersion, properties: Properties): void {
  for (const charge of list.charges) {
    if (charge.charge_model === "flat_fee") quantityOf(charge.quantity_from, properties);
  }
}

/** A flat fee that is due at the end of a period. */
export function arrearsFlatFee(
  charge: PricedCharge,
  list: PlanVersion,
  close: {
    readonly properties: Properties;
    readonly billed: BilledDays;
    readonly period: { readonly start: Date; readonly end: Date };
    readonly quantities: Quantities;
  },
  names: Names,
): FeeDraft {
  const { quantity_from } = charge;
  switch (charge.price?.quantity_mode) {
    case "prorated": {
      const sum = sumOverDays(close.quantities, close.billed, quantity_from);
      return averagedFee(charge, list, sum, daysOf(close.billed), names);
    }
    case "max": {
      const highest = highestQuantity(close.quantities, close.period, quantity_from);
      return flatFee(charge, list, highest, names);
    }
    default:
      return flatFee(charge, list, quantityOf(quantity_from, close.properties), names);
  }
}

/** A flat fee, never prorated: the whole price for whatever part of the period there was. */
function flatFee(
  charge: PricedCharge,
  list: PlanVersion,
  quantity: Decimal,
  names: Names,
): FeeDraft {
  const amount = flatAmount(quantity, unitCents(charge));
  return flatFeeLine(charge, list, formatDecimal(quantity), amount, names);
}

/** A flat fee by the average quantity: `sum` over the days that count, divided by all days. */
function averagedFee(
  charge: PricedCharge,
  list: PlanVersion,
  sum: Decimal,
  days: Days,
  names: Names,
): FeeDraft {
  const units = prorated(sum, 1, days.period_days);
  const amount = prorated(multiply(sum, integer(unitCents(charge))), 1, days.period_days);
  const fee = flatFeeLine(charge, list, units.precise_amount, amount, names);
  return { ...fee, properties: { ...fee.properties, ...days } };
}

function flatFeeLine(
  charge: PricedCharge,
  list: PlanVersion,
  units: string,
  amount: { readonly amount_cents: number; readonly precise_amount: string },
  names: Names,
): FeeDraft {
  const quantity_mode = charge.price?.quantity_mode;
  return {
    fee_type: "charge",
    charge_id: charge.id,
    billable_metric_code: null,
    units,
    amount_cents: amount.amount_cents,
    properties: {
      ...wordsOnFees(charge.properties),
      name: names.ofCharge(charge),
      charge_model: charge.charge_model,
      catalog_item_code: charge.catalog_item_code,
      unit_amount_cents: unitCents(charge),
      precise_amount: amount.precise_amount,
      invoice_timing: charge.invoice_timing,
      ...(quantity_mode === undefined ? {} : { quantity_mode }),
      plan_code: list.plan_code,
      plan_version: list.version,
    },
    money: moneyOf(list, charge, charge.id),
  };
}

function unitCents(charge: PricedCharge): number {
  if (charge.unit_cents === null) throw new Error(`The flat fee ${charge.id} has no price.`);
  return charge.unit_cents;
}

/** What a full period bills without usage, exact. */
export function recurringPerPeriod(list: PlanVersion, properties: Properties): Decimal {
  const flat = list.charges
    .filter((charge) => charge.charge_model === "flat_fee" && charge.invoice_timing !== "immediate")
    .map((charge) =>
      multiply(quantityOf(charge.quantity_from, properties), integer(unitCents(charge))),
    );
  const minimums = list.charges.map(({ price }) => integer(price?.minimum_cents ?? 0));
  const sum = [...flat, ...minimums].reduce(add, integer(list.amount_cents));
  return max(sum, integer(list.minimum_cents));
}

/** One amount per month from amounts per interval, rounded once. */
export function normalisedMonthly(
  parts: Iterable<{ readonly interval: Interval; readonly cents: Decimal }>,
): number {
  let yearly = ZERO;
  for (const { interval, cents } of parts) {
    yearly = add(yearly, multiply(cents, integer(PERIODS_A_YEAR[interval])));
  }
  return toCents(divideRounded(yearly, 12n));
}
