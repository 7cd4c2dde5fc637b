// What coupons take off the fees of an invoice. Pure: the terms, what each coupon has taken before
// and the fees come in, the discount of each fee and what each coupon took come out.

import { type Decimal, decimal, divideRounded, integer, multiply } from "./decimal.ts";
import { groupBy } from "./group-by.ts";
import { scaled, toCents } from "./money.ts";

/** A coupon as it was applied to a customer. */
export type AppliedCoupon = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly percent: string | null;
  readonly amount_cents: number | null;
  readonly currency: string | null;
  /** How many uses it has; null: no end of them. */
  readonly times: number | null;
  readonly plan_codes: readonly string[] | null;
  readonly metric_codes: readonly string[] | null;
  readonly subscription_id: string | null;
  readonly applied_at: Date;
  readonly ended_at: Date | null;
  /** Cents taken so far by use, on invoices that count; a use is one only above 0. */
  readonly uses: ReadonlyMap<string, number>;
  /** Cents taken by use, less what was taken back: that can be given again. */
  readonly taken: ReadonlyMap<string, number>;
};

/** A fee as coupons see it. */
export type DiscountableFee = {
  readonly amount_cents: number;
  readonly fee_type: string;
  readonly plan_code: string | null;
  readonly metric_code: string | null;
  /** The subscription that the fee is of; null: the invoice is of none. */
  readonly subscription_id: string | null;
  /** The full period that the fee is of, or that it corrects; or the invoice itself. */
  readonly use: string;
  /** When the period ended that the fee corrects; null for a fee that corrects none. */
  readonly corrected_period_end: Date | null;
  /** Whether it gives back days of a base fee, which bear what that fee bore of every coupon. */
  readonly gives_back_base: boolean;
  /** What each applied coupon took of the corrected line so far, and what was left for it. */
  readonly line: ReadonlyMap<string, LineDiscount>;
};

export type LineDiscount = { readonly taken_cents: number; readonly left_cents: number };

export type Discounts = {
  /** A discount for each fee, in the same order; empty without coupons. */
  readonly fees: readonly { readonly discount_cents: number; readonly parts: readonly Part[] }[];
  /** Each coupon that changed a fee, with its sum: 0 or below where it gave back that much. */
  readonly coupons: readonly { readonly coupon: AppliedCoupon; readonly amount_cents: number }[];
};

/** What one coupon took of one fee; 0 only where the fee corrects a line that it took from. */
export type Part = {
  readonly applied_coupon_id: string;
  readonly use: string;
  /** What the coupons before it left of the fee. */
  readonly left_cents: number;
  readonly amount_cents: number;
  /** Whether the amount is one that it took before and gives back: no use is made or undone. */
  readonly is_taken_back: boolean;
};

/**
 * The discounts of an invoice. Each of its parts is to coupons what an invoice of its own would be,
 * by the use of its fees; only rounding and spreading go over all of them.
 */
export function discountFees(
  fees: readonly DiscountableFee[],
  coupons: readonly AppliedCoupon[],
  { currency }: { readonly currency: string },
): Discounts {
  if (coupons.length === 0) return { fees: [], coupons: [] };
  const left = fees.map(({ amount_cents }) => amount_cents);
  const parts: Part[][] = fees.map(() => []);
  const took: { coupon: AppliedCoupon; amount_cents: number }[] = [];
  for (const coupon of coupons) {
    if (coupon.currency !== null && coupon.currency !== currency) continue;
    const amounts = amountsOf(coupon, fees, left);
    let sum = 0;
    amounts.forEach((amount, i) => {
      const fee = fees[i];
      if (amount === undefined || fee === undefined) return;
      if (amount.cents === 0 && !fee.line.has(coupon.id)) return;
      parts[i]?.push({
        applied_coupon_id: coupon.id,
        use: fee.use,
        left_cents: left[i] ?? 0,
        amount_cents: amount.cents,
        is_taken_back: amount.is_taken_back,
      });
      left[i] = (left[i] ?? 0) - amount.cents;
      sum += amount.cents;
    });
    if (amounts.some((amount) => amount !== undefined && amount.cents !== 0)) {
      took.push({ coupon, amount_cents: sum });
    }
  }
  return {
    fees: parts.map((list) => ({
      discount_cents: list.reduce((sum, { amount_cents }) => sum + amount_cents, 0),
      parts: list,
    })),
    coupons: took,
  };
}

type Amount = { readonly cents: number; readonly is_taken_back: boolean };

function amountsOf(
  coupon: AppliedCoupon,
  fees: readonly DiscountableFee[],
  left: readonly number[],
): (Amount | undefined)[] {
  const taken =
    coupon.percent === null
      ? takeFixed(coupon, fees, left)
      : takePercent(coupon, decimal(coupon.percent), fees, left);
  return fees.map((fee, i) => {
    if (!isEligible(coupon, fee)) return undefined;
    if (takesBack(coupon, fee)) {
      return { cents: discountBack(fee, coupon, left[i] ?? 0), is_taken_back: true };
    }
    const cents = taken.get(i);
    if (cents !== undefined) return { cents, is_taken_back: false };
    return fee.line.has(coupon.id) ? { cents: 0, is_taken_back: true } : undefined;
  });
}

/**
 * Cents a percentage takes by index of the fee: the first n fees together lose the rounded
 * percentage of what is left of them, for every n. A use that one fee makes counts for later ones.
 */
function takePercent(
  coupon: AppliedCoupon,
  percent: Decimal,
  fees: readonly DiscountableFee[],
  left: readonly number[],
): Map<number, number> {
  const uses = new Map(coupon.uses);
  const counting = { ...coupon, uses };
  const taken = new Map<number, number>();
  let sum = 0;
  let before = 0;
  fees.forEach((fee, i) => {
    if (!isEligible(coupon, fee) || takesBack(coupon, fee)) return;
    if (!takes(counting, fee)) return;
    sum += left[i] ?? 0;
    const after = percentOf(sum, percent);
    taken.set(i, after - before);
    uses.set(fee.use, (uses.get(fee.use) ?? 0) + after - before);
    before = after;
  });
  return taken;
}

function percentOf(cents: number, percent: Decimal): number {
  return toCents(divideRounded(multiply(integer(cents), percent), 100n));
}

/**
 * Cents a fixed coupon takes by index of the fee, from no correction: a pot from all fees together,
 * another one use by use, in their order. A use that the fees of one make counts for the next.
 */
function takeFixed(
  coupon: AppliedCoupon,
  fees: readonly DiscountableFee[],
  left: readonly number[],
): Map<number, number> {
  const uses = new Map(coupon.uses);
  const counting = { ...coupon, uses };
  const taken = new Map<number, number>();
  const indices = fees.flatMap((fee, i) => (isEligible(coupon, fee) ? [i] : []));
  const groups = isPot(coupon) ? [indices] : groupBy(indices, (i) => fees[i]?.use ?? "").values();
  for (const group of groups) {
    const own = group.filter((i) => fees[i] !== undefined && takes(counting, fees[i]));
    for (const [i, cents] of spread(coupon, fees, own, left)) {
      const use = fees[i]?.use ?? "";
      taken.set(i, cents);
      uses.set(use, (uses.get(use) ?? 0) + cents);
    }
  }
  return taken;
}

/** The first n of these fees together lose their rounded share of what is given, for every n. */
function spread(
  coupon: AppliedCoupon,
  fees: readonly DiscountableFee[],
  own: readonly number[],
  left: readonly number[],
): Map<number, number> {
  const use = fees[own[0] ?? -1]?.use ?? "";
  const whole = own.reduce((sum, i) => sum + (left[i] ?? 0), 0);
  const given = Math.max(0, Math.min(mayGive(coupon, use), whole));
  let sum = 0;
  let before = 0;
  const taken = own.map((i): [number, number] => {
    sum += left[i] ?? 0;
    const after = given === 0 ? 0 : scaled(given, sum, whole);
    const part = after - before;
    before = after;
    return [i, part];
  });
  return new Map(taken);
}

function isEligible(coupon: AppliedCoupon, fee: DiscountableFee): boolean {
  const { plan_codes, metric_codes, subscription_id } = coupon;
  if (fee.fee_type === "top_up") return false;
  if (subscription_id !== null && subscription_id !== fee.subscription_id) return false;
  if (plan_codes !== null && !plan_codes.includes(fee.plan_code ?? "")) return false;
  return metric_codes === null || metric_codes.includes(fee.metric_code ?? "");
}

/** Whether the coupon gives back: a fixed one at corrections below 0, any at days given back. */
function takesBack(coupon: AppliedCoupon, fee: DiscountableFee): boolean {
  if (fee.corrected_period_end === null || fee.amount_cents >= 0) return false;
  return fee.gives_back_base || coupon.percent === null;
}

/** The share given back: at most what is left of the correction, and nothing that was not taken. */
function discountBack(fee: DiscountableFee, { id }: AppliedCoupon, left: number): number {
  const { taken_cents = 0, left_cents = 0 } = fee.line.get(id) ?? {};
  if (taken_cents <= 0 || left_cents <= 0) return 0;
  return Math.max(left, scaled(left, taken_cents, left_cents));
}

function takes(coupon: AppliedCoupon, fee: DiscountableFee): boolean {
  if (fee.corrected_period_end === null) {
    return coupon.ended_at === null && (isUse(coupon, fee.use) || hasUseLeft(coupon));
  }
  // A correction belongs to the period that it corrects.
  if (coupon.percent === null) return false;
  if (isUse(coupon, fee.use)) return coupon.ended_at === null || fee.amount_cents < 0;
  if (coupon.ended_at !== null || fee.amount_cents <= 0) return false;
  return coupon.applied_at < fee.corrected_period_end && hasUseLeft(coupon);
}

function isUse({ uses }: AppliedCoupon, use: string): boolean {
  return (uses.get(use) ?? 0) > 0;
}

function hasUseLeft(coupon: AppliedCoupon): boolean {
  const { times, uses } = coupon;
  if (times === null || isPot(coupon)) return true;
  return [...uses.values()].filter((taken) => taken > 0).length < times;
}

/** A fixed coupon of one use: what an invoice cannot take of it stays for the next. */
export function isPot({ percent, times }: Pick<AppliedCoupon, "percent" | "times">): boolean {
  return percent === null && times === 1;
}

/** Cents a fixed coupon can give: a pot what is left of it, others their amount in each use. */
export function mayGive(coupon: AppliedCoupon, use: string): number {
  const { amount_cents, taken } = coupon;
  const given = isPot(coupon)
    ? [...taken.values()].reduce((sum, cents) => sum + cents, 0)
    : (taken.get(use) ?? 0);
  return (amount_cents ?? 0) - given;
}
