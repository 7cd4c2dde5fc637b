// What usage costs under each charge model. One pure function a model, all over the same figures:
// the units of the period, cut at 0, and how many events were counted. Nothing is rounded here.

import { type Decimal, decimal, integer, multiply } from "./decimal.ts";
import {
  compareFractions,
  countBegun,
  type Fraction,
  formatFraction,
  fraction,
  isNothing,
  minus,
  NOTHING,
  notNegative,
  plus,
  shifted,
  times,
} from "./fraction.ts";

export const USAGE_MODELS = ["standard", "graduated", "volume", "package", "percentage"] as const;
export type UsageModel = (typeof USAGE_MODELS)[number];

export type Tier = {
  /** The last unit that it holds; null: all above the tier before. */
  readonly up_to: string | null;
  readonly amount: string;
  readonly flat_amount?: string;
};

/**
 * Parameters of a charge model: amounts in the currency's main unit, units as canonical decimals.
 */
export type Price = {
  readonly amount?: string;
  readonly free_units?: string;
  readonly package_size?: string;
  readonly percent?: string;
  readonly fixed_amount?: string;
  readonly free_events?: number;
  readonly tiers?: readonly Tier[];
};

export type Used = { readonly units: Fraction; readonly events: number };

export type Rated = {
  /** The amount in the currency's main unit. */
  readonly amount: Fraction;
  /** How the amount came about, for the fee's properties. */
  readonly explanation: Readonly<Record<string, unknown>>;
};

type Model = (price: Price, used: Used, exponent: number) => Rated;

const MODELS: Readonly<Record<UsageModel, Model>> = {
  standard,
  graduated,
  volume,
  package: inPackages,
  percentage,
};

/** What the usage costs. `exponent` is the currency's: tiers are explained in its minor unit. */
export function rateUsage(model: UsageModel, price: Price, used: Used, exponent: number): Rated {
  return MODELS[model](price, used, exponent);
}

function standard(price: Price, { units }: Used): Rated {
  return { amount: times(paidUnits(price, units), read(price.amount)), explanation: {} };
}

function graduated(price: Price, { units }: Used, exponent: number): Rated {
  let amount = NOTHING;
  const tiers: object[] = [];
  for (const tier of rangesOf(price)) {
    if (compareFractions(units, tier.from) <= 0) break;
    const { cost, explained } = usedTier(tier, units, exponent);
    amount = plus(amount, cost);
    tiers.push(explained);
  }
  return { amount, explanation: { tiers } };
}

type UsedTier = { readonly cost: Fraction; readonly explained: object };

/** The units of one tier. Tiers that are full cost the same for all, and are worked out once. */
function usedTier(tier: TierRange, units: Fraction, exponent: number): UsedTier {
  const isFull = tier.up_to !== null && compareFractions(units, tier.up_to) >= 0;
  const before = isFull ? tier.full.get(exponent) : undefined;
  if (before !== undefined) return before;
  const inside = minus(isFull && tier.up_to !== null ? tier.up_to : units, tier.from);
  const cost = tierCost(tier, inside);
  const used = { cost, explained: explainTier(tier, inside, cost, exponent) };
  if (isFull) tier.full.set(exponent, used);
  return used;
}

function volume(price: Price, { units }: Used, exponent: number): Rated {
  if (isNothing(units)) return { amount: NOTHING, explanation: { tiers: [] } };
  const tier = rangesOf(price).find(
    ({ up_to }) => up_to === null || compareFractions(units, up_to) <= 0,
  );
  if (tier === undefined) throw new Error("No tier holds these units; the last must be open.");
  const amount = tierCost(tier, units);
  return { amount, explanation: { tiers: [explainTier(tier, units, amount, exponent)] } };
}

function inPackages(price: Price, { units }: Used): Rated {
  const paid = paidUnits(price, units);
  const packages = isNothing(paid) ? 0n : countBegun(paid, read(price.package_size));
  return {
    amount: fraction(multiply(integer(packages), read(price.amount))),
    explanation: { packages: Number(packages) },
  };
}

const HUNDREDTH = decimal("0.01");

function percentage(price: Price, { units, events }: Used): Rated {
  const paid_events = Math.max(0, events - (price.free_events ?? 0));
  const share = times(paidUnits(price, units), multiply(read(price.percent), HUNDREDTH));
  const fixed = multiply(integer(paid_events), read(price.fixed_amount ?? "0"));
  return { amount: plus(share, fraction(fixed)), explanation: { events, paid_events } };
}

function paidUnits({ free_units }: Price, units: Fraction): Fraction {
  if (free_units === undefined) return units;
  return notNegative(minus(units, fraction(read(free_units))));
}

type TierRange = {
  readonly tier: Tier;
  /** Above this, up to and including `up_to`. */
  readonly from: Fraction;
  readonly up_to: Fraction | null;
  readonly amount: Decimal;
  readonly flat_amount: Decimal;
  /** What the tier costs when it is full, by the currency's exponent. */
  readonly full: Map<number, UsedTier>;
};

/**
 * Tiers in decimals, parsed once per list: else 1,000 subscriptions with ten tiers would parse
 * 30,000 decimals.
 */
const parsedTiers = new WeakMap<readonly Tier[], readonly TierRange[]>();

function rangesOf({ tiers }: Price): readonly TierRange[] {
  if (tiers === undefined) throw new Error("A price without tiers.");
  const before = parsedTiers.get(tiers);
  if (before !== undefined) return before;
  let from = NOTHING;
  const ranges = tiers.map((tier): TierRange => {
    const up_to = tier.up_to === null ? null : fraction(read(tier.up_to));
    const flat_amount = read(tier.flat_amount ?? "0");
    const amount = read(tier.amount);
    const range = { tier, from, up_to, amount, flat_amount, full: new Map() };
    from = up_to ?? from;
    return range;
  });
  parsedTiers.set(tiers, ranges);
  return ranges;
}

function tierCost({ amount, flat_amount }: TierRange, units: Fraction): Fraction {
  return plus(times(units, amount), fraction(flat_amount));
}

function explainTier(range: TierRange, units: Fraction, cost: Fraction, exponent: number): object {
  return {
    from: formatFraction(range.from),
    up_to: range.tier.up_to,
    units: formatFraction(units),
    amount: range.tier.amount,
    flat_amount: range.tier.flat_amount ?? "0",
    precise_amount: formatFraction(shifted(cost, exponent)),
  };
}

function read(text: string | undefined): Decimal {
  if (text === undefined) throw new Error("The price lacks a parameter of its model.");
  return decimal(text);
}
