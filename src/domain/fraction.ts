// Exact fractions: a decimal over a whole number. Units of a level that lasts and shares of days do
// not end as decimals, and nothing is rounded before the fee.

import {
  add,
  compare,
  type Decimal,
  divideRounded,
  divideToPlaces,
  formatDecimal,
  integer,
  multiply,
  negate,
  shiftPoint,
} from "./decimal.ts";

/** `top / bottom`, not reduced; `bottom` is above 0, and 1 for every plain decimal. */
export type Fraction = { readonly top: Decimal; readonly bottom: bigint };

/** How many decimals are shown of a fraction that does not end. */
const SHOWN_PLACES = 12;

export function fraction(top: Decimal, bottom = 1n): Fraction {
  return { top, bottom };
}

export const NOTHING: Fraction = fraction(integer(0));

export function plus(a: Fraction, b: Fraction): Fraction {
  if (a.bottom === b.bottom) return { top: add(a.top, b.top), bottom: a.bottom };
  return {
    top: add(multiply(a.top, integer(b.bottom)), multiply(b.top, integer(a.bottom))),
    bottom: a.bottom * b.bottom,
  };
}

export function minus(a: Fraction, b: Fraction): Fraction {
  return plus(a, { top: negate(b.top), bottom: b.bottom });
}

export function times(a: Fraction, factor: Decimal): Fraction {
  return { top: multiply(a.top, factor), bottom: a.bottom };
}

export function compareFractions(a: Fraction, b: Fraction): -1 | 0 | 1 {
  if (a.bottom === b.bottom) return compare(a.top, b.top);
  return compare(multiply(a.top, integer(b.bottom)), multiply(b.top, integer(a.bottom)));
}

/** The fraction, cut at 0. */
export function notNegative(a: Fraction): Fraction {
  return a.top.digits < 0n ? NOTHING : a;
}

export function isNothing(a: Fraction): boolean {
  return a.top.digits === 0n;
}

/** How many times `size` is begun; both above 0. */
export function countBegun(a: Fraction, size: Decimal): bigint {
  const above = a.top.digits * 10n ** BigInt(size.scale);
  const below = size.digits * a.bottom * 10n ** BigInt(a.top.scale);
  return (above + below - 1n) / below;
}

/** The fraction with its point moved, as from a currency's main unit to its minor one. */
export function shifted(a: Fraction, places: number): Fraction {
  return { top: shiftPoint(a.top, places), bottom: a.bottom };
}

/** The nearest whole number; a half goes away from zero. */
export function roundFraction(a: Fraction): bigint {
  return divideRounded(a.top, a.bottom);
}

/** The text of a fraction: a plain decimal in full, any other to 12 places. */
export function formatFraction(a: Fraction): string {
  if (a.bottom === 1n) return formatDecimal(a.top);
  return formatDecimal(divideToPlaces(a.top, a.bottom, SHOWN_PLACES));
}
