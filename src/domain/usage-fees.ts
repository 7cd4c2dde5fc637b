// The lines of a usage charge: one for its metric, or one for each combination of dimensions where
// the charge has prices for some of them; and the line that makes up for a minimum.

import { type UsageDay, unitsOf, weightedUnits } from "./aggregation.ts";
import { type Price, rateUsage } from "./charge-models.ts";
import { wordsOnFees } from "./charge-properties.ts";
import { add, compare, decimal, isZero, ZERO } from "./decimal.ts";
import { compareCombinations, matchPrice, valuesOf } from "./dimensions.ts";
import { formatFraction, fraction, notNegative, roundFraction, shifted } from "./fraction.ts";
import { checkAmount, exponentOf, prorated, sumCents, toCents } from "./money.ts";
import {
  type Days,
  type FeeDraft,
  moneyOf,
  type Names,
  type PlanVersion,
  type PricedCharge,
} from "./pricing.ts";

/** Usage of one metric, or of one combination of its dimensions: a total, or an entry a day. */
export type MetricUsage = UsageDay & {
  readonly metric_id: string;
  readonly combination: string | null;
};

/** Levels by metric, then by combination ("" without dimensions): the sum of all changes before. */
export type Levels = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What a period measured. */
export type Metered = {
  readonly usage: readonly MetricUsage[];
  readonly levels: Levels;
  readonly start: Date;
  readonly end: Date;
  /** The length of the full period, of which this may be a part. */
  readonly full_ms: number;
};

/** `key` names the line among those of its period, also when it is corrected later. */
export type Line = {
  readonly key: string;
  readonly fee: FeeDraft;
  /** The combination that the line is for, where each has a line of its own. */
  readonly combination?: string;
  readonly minimum?: Minimum;
};

/** What a period must reach; `fixed_cents` count towards it beside the lines. */
type Minimum = Days & { readonly target_cents: number; readonly fixed_cents: number };

const HOUR_MS = 3_600_000;

/**
 * The lines of a usage charge, without its minimum. `billed` are combinations that have a line
 * already and must be looked at again.
 */
export function usageLines(
  charge: PricedCharge,
  list: PlanVersion,
  metered: Metered,
  names: Names,
  billed: readonly string[] = [],
): Line[] {
  const usage = metered.usage.filter(({ metric_id }) => metric_id === charge.metric_id);
  const levels = metered.levels[charge.metric_id ?? ""] ?? {};
  const prices = charge.price?.prices;
  const lineOf = (part: Part) => usageLine(charge, list, metered, part, names);
  if (prices === undefined) {
    const level = Object.values(levels).map(decimal).reduce(add, ZERO);
    return [lineOf({ usage, level, combination: null, price: defaultPrice(charge) })];
  }
  const combinations = new Set(billed);
  for (const { combination } of usage) if (combination !== null) combinations.add(combination);
  for (const [combination, level] of Object.entries(levels)) {
    if (!isZero(decimal(level))) combinations.add(combination);
  }
  if (combinations.size === 0) {
    return [lineOf({ usage, level: ZERO, combination: null, price: defaultPrice(charge) })];
  }
  return [...combinations].sort(compareCombinations).map((combination) => {
    const match = matchPrice(prices, valuesOf(charge.dimensions ?? [], combination));
    return lineOf({
      usage: usage.filter((part) => part.combination === combination),
      level: decimal(levels[combination] ?? "0"),
      combination,
      price: match ?? defaultPrice(charge),
      match: match?.match ?? null,
    });
  });
}

/** The usage that one line is for, and its price. */
type Part = {
  readonly usage: readonly MetricUsage[];
  readonly level: ReturnType<typeof decimal>;
  readonly combination: string | null;
  readonly price: Price;
  readonly match?: Readonly<Record<string, string>> | null;
};

/** The price where none matches. A standard charge keeps the rate of a unit beside its price. */
function defaultPrice({ price, rate }: PricedCharge): Price {
  return rate === null ? (price ?? {}) : { ...price, amount: rate };
}

function usageLine(
  charge: PricedCharge,
  list: PlanVersion,
  metered: Metered,
  part: Part,
  names: Names,
): Line {
  const { metric_id, metric_code, charge_model: model } = charge;
  const isPriced = model !== "standard" || part.price.amount !== undefined;
  if (model === "flat_fee" || metric_id === null || metric_code === null || !isPriced) {
    throw new Error(`The usage charge ${charge.id} has no metric or no rate.`);
  }
  const raw = unitsIn(charge, part, metered);
  const isBelow = compare(raw.top, ZERO) < 0;
  // Usage that adds up to less than nothing bills as none, and gives nothing back.
  const units = notNegative(raw);
  const events = part.usage.reduce((sum, day) => sum + day.events, 0);
  const exponent = exponentOf(list.currency);
  const rated = rateUsage(model, part.price, { units, events }, exponent);
  const precise = shifted(rated.amount, exponent);
  return {
    key: lineKey(charge.id, part.combination),
    ...(part.combination === null ? {} : { combination: part.combination }),
    fee: {
      fee_type: "charge",
      charge_id: charge.id,
      billable_metric_code: metric_code,
      units: formatFraction(units),
      amount_cents: checkAmount(toCents(roundFraction(precise))),
      properties: {
        ...wordsOnFees(charge.properties),
        ...propertiesUsed(part.price),
        ...rated.explanation,
        name: names.ofCharge(charge),
        charge_model: model,
        precise_amount: formatFraction(precise),
        ...(isBelow ? { raw_units: formatFraction(raw) } : {}),
        ...(part.combination === null
          ? {}
          : { dimensions: valuesOf(charge.dimensions ?? [], part.combination), match: part.match }),
        plan_code: list.plan_code,
        plan_version: list.version,
      },
      money: moneyOf(list, charge, lineKey(charge.id, part.combination)),
    },
  };
}

export function lineKey(charge_id: string, combination: string | null): string {
  return combination === null ? charge_id : `${charge_id} ${combination}`;
}

function unitsIn(charge: PricedCharge, part: Part, metered: Metered) {
  const { aggregation_type, weighted_by } = charge;
  if (aggregation_type === null) throw new Error(`The charge ${charge.id} has no metric.`);
  if (aggregation_type !== "weighted_sum") return fraction(unitsOf(aggregation_type, part.usage));
  const per_ms = weighted_by === "hour" ? HOUR_MS : metered.full_ms;
  return weightedUnits(part.usage, part.level, metered, per_ms);
}

const SHOWN_PROPERTIES = [
  "amount",
  "free_units",
  "package_size",
  "percent",
  "fixed_amount",
  "free_events",
] as const;

function propertiesUsed(price: Price): Record<string, unknown> {
  const used: Record<string, unknown> = {};
  for (const name of SHOWN_PROPERTIES) if (price[name] !== undefined) used[name] = price[name];
  return used;
}

/** What a period must reach: the share of the minimum that its billable days make. */
export function minimumTarget(minimum_cents: number, days: Days): number {
  return prorated(minimum_cents, days.billable_days, days.period_days).amount_cents;
}

/** The line that makes up for what is missing to the target; of 0 when the target is met. */
export function minimumFee(
  charge: PricedCharge | null,
  minimum_cents: number,
  minimum: Minimum,
  counted: readonly Line[],
  list: PlanVersion,
  names: Names,
): Pick<Line, "fee" | "minimum"> {
  const { target_cents, fixed_cents, billable_days, period_days } = minimum;
  const counted_cents = sumCents([fixed_cents, ...counted.map(({ fee }) => fee.amount_cents)]);
  const amount_cents = Math.max(0, target_cents - counted_cents);
  return {
    minimum,
    fee: {
      fee_type: "minimum",
      charge_id: charge?.id ?? null,
      billable_metric_code: charge?.metric_code ?? null,
      units: "1",
      amount_cents,
      properties: {
        name: charge === null ? names.plan : names.ofCharge(charge),
        minimum_cents,
        billable_days,
        period_days,
        counted_cents,
        precise_amount: String(amount_cents),
        plan_code: list.plan_code,
        plan_version: list.version,
      },
      money: moneyOf(list, charge, minimumKey(charge)),
    },
  };
}

/** The key of the line that makes up for a charge's minimum, or for the plan's (`null`). */
export function minimumKey(charge: PricedCharge | null): string {
  return charge === null ? "minimum" : `minimum ${charge.id}`;
}
