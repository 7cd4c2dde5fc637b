// What an event counts, and how the sums of a period's days become its units.

import type { AggregationType } from "../schema/metrics.ts";
import {
  add,
  type Decimal,
  decimal,
  decimalFromJson,
  formatDecimal,
  integer,
  max,
  multiply,
  numberText,
  subtract,
  ZERO,
} from "./decimal.ts";
import { type Fraction, fraction } from "./fraction.ts";

/** How a metric reads its events. */
type UsageRule = {
  readonly aggregation_type: AggregationType;
  readonly field_name: string | null;
};
type UsageInput = {
  readonly value?: unknown;
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
};
export type UsageValue =
  | { readonly ok: true; readonly quantity: string | null; readonly unique_value: string | null }
  | { readonly ok: false; readonly field: string; readonly message: string };

/** The usage of one subscription and metric on one UTC day, kept up to date as events arrive. */
export type UsageDay = {
  readonly events: number;
  readonly sum: string | null;
  readonly max: string | null;
  readonly latest: string | null;
  /** The instant of the event that gave `latest`. */
  readonly last_at: Date;
  /** The order of arrival of that event, as bigint text: it decides between equal instants. */
  readonly last_arrival: string;
  /** Values that no earlier event of the same period had, so that days can be added up. */
  readonly uniques: number | null;
  /** Each value times its instant in milliseconds since 1970, added up: for a weighted sum only. */
  readonly moment?: string | null;
};

/** Longest value that count_unique tells apart: it is kept under an index. */
const UNIQUE_VALUE_CHARS_MAX = 255;

/** What one event contributes to its metric, or why it cannot be counted. */
export function usageValue(rule: UsageRule, input: UsageInput): UsageValue {
  if (rule.aggregation_type === "count") return { ok: true, quantity: null, unique_value: null };
  const { field, sent } = sentValue(rule, input);
  if (rule.aggregation_type === "count_unique") return uniqueValue(field, sent);
  const quantity = decimalFromJson(sent);
  if (quantity === undefined) {
    const message =
      "must be a decimal such as 12 or -0.5: at most 15 digits before the point and 12 after it, " +
      "no exponent; a number of more than 15 digits is sent as a string";
    return { ok: false, field, message };
  }
  return { ok: true, quantity: formatDecimal(quantity), unique_value: null };
}

/**
 * The units of a period from its days, not cut at zero: pricing does that. For a weighted sum they
 * are the change of its level; `weightedUnits` says how long it lasted.
 */
export function unitsOf(type: AggregationType, days: readonly UsageDay[]): Decimal {
  switch (type) {
    case "sum":
    case "weighted_sum":
      return sum(days.map((day) => day.sum));
    case "count":
      return integer(days.reduce((events, day) => events + day.events, 0));
    case "count_unique":
      return integer(days.reduce((uniques, day) => uniques + (day.uniques ?? 0), 0));
    case "max":
      return highest(days.map((day) => day.max));
    case "latest":
      return latest(days);
  }
}

/**
 * The units of a level that lasts: units times milliseconds over the span, divided by `per_ms`. The
 * span begins with `level`, and each value of the days changes it from its instant on.
 */
export function weightedUnits(
  days: readonly UsageDay[],
  level: Decimal,
  span: { readonly start: Date; readonly end: Date },
  per_ms: number,
): Fraction {
  const end = span.end.getTime();
  const lasted = integer(end - span.start.getTime());
  const changes = multiply(sum(days.map((day) => day.sum)), integer(end));
  const moments = sum(days.map((day) => day.moment ?? null));
  const top = add(multiply(level, lasted), subtract(changes, moments));
  return fraction(top, BigInt(per_ms));
}

/** What the event says its quantity is: `properties[field_name]`, else `value`. */
function sentValue(rule: UsageRule, input: UsageInput): { field: string; sent: unknown } {
  const { field_name } = rule;
  const { properties } = input;
  // Only own keys: a field named "constructor" is not on every event.
  if (field_name !== null && properties !== undefined && Object.hasOwn(properties, field_name)) {
    const sent = properties[field_name];
    if (sent !== null) return { field: `properties.${field_name}`, sent };
  }
  return { field: "value", sent: input.value };
}

/** The number 1 and the string "1" are one value; "A" and "a" are two. */
function uniqueValue(field: string, sent: unknown): UsageValue {
  const text = typeof sent === "number" ? numberText(sent) : sent;
  if (typeof text !== "string" && typeof text !== "boolean") {
    return { ok: false, field, message: "must be a string, a number or a boolean" };
  }
  const unique_value = String(text);
  if (unique_value.length > UNIQUE_VALUE_CHARS_MAX) {
    const message = `must not be longer than ${UNIQUE_VALUE_CHARS_MAX} characters`;
    return { ok: false, field, message };
  }
  return { ok: true, quantity: null, unique_value };
}

function sum(quantities: readonly (string | null)[]): Decimal {
  return present(quantities).reduce(add, ZERO);
}

function highest(quantities: readonly (string | null)[]): Decimal {
  const [first, ...others] = present(quantities);
  return first === undefined ? ZERO : others.reduce(max, first);
}

/** The value with the greatest instant; of equal instants the one that arrived later. */
function latest(days: readonly UsageDay[]): Decimal {
  const values = days.flatMap(({ latest: quantity, last_at, last_arrival }) =>
    quantity === null ? [] : [{ quantity, at: last_at, arrival: BigInt(last_arrival) }],
  );
  const [first, ...others] = values;
  if (first === undefined) return ZERO;
  return decimal(others.reduce((a, b) => (isNewer(b, a) ? b : a), first).quantity);
}

/** Whether `a` happened after `b`, or at the same instant and arrived after it. */
export function isNewer<T extends { readonly at: Date; readonly arrival: bigint | number }>(
  a: T,
  b: T,
): boolean {
  const difference = a.at.getTime() - b.at.getTime();
  return difference === 0 ? a.arrival > b.arrival : difference > 0;
}

function present(quantities: readonly (string | null)[]): Decimal[] {
  return quantities.flatMap((quantity) => (quantity === null ? [] : [decimal(quantity)]));
}
