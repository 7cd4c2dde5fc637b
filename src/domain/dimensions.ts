// Combinations of a metric's dimensions: usage is kept apart by them, and each can have its price.
// A combination is written as the JSON list of its values, in the order of the metric's dimensions.

import type { MatchedPrice } from "./charge-properties.ts";
import { numberText } from "./decimal.ts";

/** Limit for one subscription, metric and period. */
export const COMBINATIONS_MAX = 200;
const VALUE_CHARS_MAX = 64;

type Values = Readonly<Record<string, string | null>>;

export type Combined =
  | { readonly ok: true; readonly combination: string | null }
  | { readonly ok: false; readonly field: string; readonly message: string };

/** The combination that an event belongs to, null for a metric without dimensions; or its fault. */
export function combinationOf(
  dimensions: readonly string[],
  properties: Readonly<Record<string, unknown>> = {},
): Combined {
  if (dimensions.length === 0) return { ok: true, combination: null };
  const values: (string | null)[] = [];
  for (const name of dimensions) {
    const sent = Object.hasOwn(properties, name) ? properties[name] : null;
    const text = typeof sent === "number" ? numberText(sent) : sent;
    const isText = text === null || typeof text === "string" || typeof text === "boolean";
    const field = `properties.${name}`;
    if (!isText) return { ok: false, field, message: "must be a text, a number or a boolean" };
    const value = text === null ? null : String(text);
    if (value !== null && value.length > VALUE_CHARS_MAX) {
      const message = `must not be longer than ${VALUE_CHARS_MAX} characters`;
      return { ok: false, field, message };
    }
    values.push(value);
  }
  return { ok: true, combination: JSON.stringify(values) };
}

/** The values by name, as fees show them. */
export function valuesOf(dimensions: readonly string[], combination: string): Values {
  const values = JSON.parse(combination) as (string | null)[];
  return Object.fromEntries(dimensions.map((name, i) => [name, values[i] ?? null]));
}

/** The order of combinations: by the first value that differs, null first, then by code points. */
export function compareCombinations(a: string, b: string): number {
  const left = JSON.parse(a) as (string | null)[];
  const right = JSON.parse(b) as (string | null)[];
  for (const [i, value] of left.entries()) {
    const order = compareValues(value, right[i] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  // The bytes of UTF-8 are in the order of code points; the units of a JavaScript string are not.
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The first entry whose names all have these values; undefined: the default price. */
export function matchPrice(
  prices: readonly MatchedPrice[],
  values: Values,
): MatchedPrice | undefined {
  return prices.find(({ match }) =>
    Object.entries(match).every(([name, value]) => values[name] === value),
  );
}
