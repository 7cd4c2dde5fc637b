// What an event counts, and how a period's events become units. Billing adds up days (`unitsOf`);
// `foldEvents` computes the same from the events themselves, and tests compare the two.
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

export type Aggregation = AggregationType;

export type UsageRule = {
  readonly aggregation_type: Aggregation;
  readonly field_name: string | null;
};
export type UsageInput = {
  readonly value?: unknown;
  readonly properties?: Readonly<Record<string, unknown>> | undefined;
};
export type UsageValue =
  | { readonly ok: true; readonly quantity: string | null; readonly unique_value: string | null }
  | { readonly ok: false; readonly field: string; readonly message: string };

/** One UTC day of one subscription and metric. Kept up to date as events arrive. */
export type UsageDay = {
  readonly events: number;
  readonly sum: string | null;
  readonly max: string | null;
  readonly latest: string | null;
  /** Of the event that gave `latest`. */
  readonly last_at: Date;
  /** The order of arrival of that event, as bigint text: it decides between equal instants. */
  readonly last_arrival: string;
  /** Values that no earlier event of the same period had, so that days can be added up. */
  readonly uniques: number | null;
  /** Of a weighted sum: each value times its instant in milliseconds since 1970, added up. */
  readonly moment?: string | null;
};

export type UsageEvent = {
  readonly at: Date;
  readonly arrival: bigint;
  readonly quantity: string | null;
  readonly unique_value: string | null;
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
 * The units of a period from its days. Not cut at zero: pricing does that. Of a weighted sum this
 * is the change of the level; `weightedUnits` says how long it lasted.
 */
export function unitsOf(aggregation: Aggregation, days: readonly UsageDay[]): Decimal {
  switch (aggregation) {
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
      return latest(
        days.map((day) => ({
          at: day.last_at,
          arrival: BigInt(day.last_arrival),
          quantity: day.latest,
        })),
      );
  }
}

/**
 * A level that lasts: `level` is that at the start, each value changes it from its instant on. What
 * it adds up to over the span in units times milliseconds, over `per_ms`.
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

/** The units of a period straight from its events. */
export function foldEvents(aggregation: Aggregation, events: readonly UsageEvent[]): Decimal {
  switch (aggregation) {
    case "sum":
    case "weighted_sum":
      return sum(events.map((event) => event.quantity));
    case "count":
      return integer(events.length);
    case "count_unique":
      return integer(new Set(events.flatMap((event) => event.unique_value ?? [])).size);
    case "max":
      return highest(events.map((event) => event.quantity));
    case "latest":
      return latest(events);
  }
}

/** `properties[field_name]` when it is there and not null, else `value`. */
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

/** The greatest instant wins; of equal ones the later arrival. */
function latest(
  entries: readonly { readonly at: Date; arrival: bigint; quantity: string | null }[],
): Decimal {
  let newest: (typeof entries)[number] | undefined;
  for (const entry of entries) {
    if (entry.quantity === null) continue;
    if (newest === undefined || isNewer(entry, newest)) newest = entry;
  }
  return newest?.quantity == null ? ZERO : decimal(newest.quantity);
}

/** By its instant; of equal ones by its arrival. */
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
