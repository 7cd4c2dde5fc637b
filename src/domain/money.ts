// From exact decimals to whole minor units, half away from zero. Each fee is rounded once.
import { OutOfRange } from "../errors.ts";
import { CURRENCIES } from "../schema/currencies.ts";
import {
  type Decimal,
  divideRounded,
  divideToPlaces,
  formatDecimal,
  integer,
  multiply,
  roundHalfAway,
} from "./decimal.ts";

/** An amount and what it was before rounding, both in minor units. */
export type Amount = { readonly amount_cents: number; readonly precise_amount: string };

/** A fee, an invoice or a sum beyond its bound. */
export class AmountOutOfRange extends OutOfRange {
  override readonly name = "AmountOutOfRange";
}

/** Sums are bounded by what a JSON number carries exactly. */
const SUM_MAX = BigInt(Number.MAX_SAFE_INTEGER);
/** Fees and invoices are bounded in minor units, so that a few of them still add up exactly. */
export const AMOUNT_MAX = 10 ** 15;
/** A prorated amount is a fraction of days and may never end; shown to this many decimals. */
const PRECISE_PLACES_MAX = 12;

export function toCents(value: bigint): number {
  if (value > SUM_MAX || value < -SUM_MAX) {
    throw new AmountOutOfRange(`The sum ${value} is beyond ${SUM_MAX} minor units.`);
  }
  return Number(value);
}

/** The amount of a fee or an invoice, refused beyond its bound. */
export function checkAmount(cents: number): number {
  if (Math.abs(cents) <= AMOUNT_MAX) return cents;
  throw new AmountOutOfRange(`The amount ${cents} is beyond ${AMOUNT_MAX} minor units.`);
}

/** The exact sum of amounts, refused where it leaves the range of exact numbers. */
export function sumCents(amounts: Iterable<number>): number {
  let sum = 0n;
  for (const amount of amounts) sum += BigInt(amount);
  return toCents(sum);
}

/** How many decimals the currency's main unit has: 2 for USD, 0 for JPY, 3 for KWD. */
export function exponentOf(currency: string): number {
  const exponent = Object.hasOwn(CURRENCIES, currency) ? CURRENCIES[currency] : undefined;
  if (exponent === undefined) throw new RangeError(`${currency} is not an ISO 4217 currency.`);
  return exponent;
}

/** 4900 is "49.00" at 2 places and "4900" at none: exact, as no division is made. */
export function decimalText(cents: number, places: number): string {
  const digits = String(Math.abs(cents)).padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places);
  const text = places === 0 ? whole : `${whole}.${digits.slice(-places)}`;
  return cents < 0 ? `-${text}` : text;
}

/** Quantity times a price in minor units. */
export function flatAmount(quantity: Decimal, unit_cents: number): Amount {
  return rounded(multiply(quantity, integer(unit_cents)));
}

/** The share of a full period's amount that its billable days make. */
export function prorated(
  amount: number | Decimal,
  billable_days: number,
  period_days: number,
): Amount {
  const whole = typeof amount === "number" ? integer(amount) : amount;
  const numerator = multiply(whole, integer(billable_days));
  const days = BigInt(period_days);
  return {
    amount_cents: toCents(divideRounded(numerator, days)),
    precise_amount: formatDecimal(divideToPlaces(numerator, days, PRECISE_PLACES_MAX)),
  };
}

/** The amount times share ÷ whole, rounded half away from 0. */
export function scaled(cents: number, share: number, whole: number): number {
  return toCents(divideRounded(multiply(integer(cents), integer(share)), BigInt(whole)));
}

function rounded(exact: Decimal): Amount {
  const amount_cents = checkAmount(toCents(roundHalfAway(exact)));
  return { amount_cents, precise_amount: formatDecimal(exact) };
}
