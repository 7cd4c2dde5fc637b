// The properties of a charge that make its price, as callers write them: in the API under
// `properties`, in service.yaml on the charge itself, where an amount is called `rate`. Reads
// either into one form, or says which of them is wrong and why.

import { refuseField } from "../errors.ts";
import { AMOUNT_CENTS_MAX, DECIMAL_PATTERN } from "../schema/common.ts";
import { FREE_EVENTS_MAX, PRICES_MAX, QUANTITY_MODES, TIERS_MAX } from "../schema/plans.ts";
import type { Price, Tier, UsageModel } from "./charge-models.ts";
import { compare, decimal, formatDecimal, isZero, numberText } from "./decimal.ts";

export type QuantityMode = (typeof QUANTITY_MODES)[number];

/** A price for the usage whose dimensions have these values. */
export type MatchedPrice = Price & { readonly match: Readonly<Record<string, string>> };

/** All properties of a charge that make its price. */
export type ChargePrice = Price & {
  readonly prices?: readonly MatchedPrice[];
  readonly minimum_cents?: number;
  readonly quantity_mode?: QuantityMode;
};

type Fields = Readonly<Record<string, unknown>>;

/** Properties by name, each with the path that an error gives. */
type Properties = {
  readonly get: (name: string) => unknown;
  readonly path: (name: string) => string;
  /** The name of the amount where it is missing: charges of service.yaml have a `rate`. */
  readonly amount: "amount" | "rate";
};

const MODEL_PROPERTIES: Readonly<Record<UsageModel, readonly string[]>> = {
  standard: ["amount", "free_units"],
  graduated: ["tiers"],
  volume: ["tiers"],
  package: ["amount", "package_size", "free_units"],
  percentage: ["percent", "fixed_amount", "free_units", "free_events"],
};
const REQUIRED = new Set(["amount", "tiers", "package_size", "percent"]);
const OF_USAGE = ["prices", "minimum_cents"];
const OF_FLAT_FEES = ["quantity_mode"];
/** Every property with a meaning for the price: refused on a model that does not have it. */
export const PRICE_PROPERTIES: readonly string[] = [
  "amount",
  "tiers",
  "free_units",
  "package_size",
  "percent",
  "fixed_amount",
  "free_events",
  ...OF_USAGE,
  ...OF_FLAT_FEES,
];

/** The properties without a meaning for the price: kept as they were sent. */
export function ownProperties(properties: Fields = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).filter(([name]) => !PRICE_PROPERTIES.includes(name)),
  );
}

/**
 * A charge's own properties as its fees show them: all but a `match` beside `dimensions`, because
 * on a fee these two say that it is for one combination.
 */
export function wordsOnFees(own: Fields): Fields {
  const { match, ...words } = own;
  return typeof own.dimensions === "object" && match !== undefined ? words : own;
}

const DECIMAL = new RegExp(DECIMAL_PATTERN);
const DECIMAL_EXAMPLE = 'a decimal string such as "0.05"';

/** The price of a usage charge. `at` is where it stands in the request, such as `charges[0].`. */
export function usagePrice(model: UsageModel, input: Fields, at: string): ChargePrice {
  const properties = propertiesOf(input, at);
  refuseForeign(properties, [...MODEL_PROPERTIES[model], ...OF_USAGE], model);
  const prices = matchedPrices(model, properties);
  const minimum_cents = present(properties, "minimum_cents", cents);
  return {
    ...modelPrice(model, properties),
    ...(prices === undefined ? {} : { prices }),
    ...(minimum_cents === undefined ? {} : { minimum_cents }),
  };
}

/** The price of a flat fee beside its amount: how its quantity is taken over the period. */
export function flatFeePrice(input: Fields, at: string): ChargePrice {
  const properties = propertiesOf(input, at);
  // `amount` has always been kept among a flat fee's own properties.
  refuseForeign(properties, [...OF_FLAT_FEES, "amount"], "flat_fee");
  const sent = properties.get("quantity_mode");
  if (isAbsent(sent)) return {};
  const path = properties.path("quantity_mode");
  const quantity_mode = QUANTITY_MODES.find((mode) => mode === sent);
  if (quantity_mode === undefined) {
    throw refuseField(path, "enum", `${path} must be one of ${QUANTITY_MODES.join(", ")}.`);
  }
  return { quantity_mode };
}

/** The path of a charge's quantity_mode, for an error about it. */
export function quantityModePath(input: Fields, at: string): string {
  return propertiesOf(input, at).path("quantity_mode");
}

/**
 * A charge's properties: looked for under `properties` first, then on the charge itself. The path
 * of one that is absent is where the charge would have it: on a charge with a `type`, which is
 * written as in service.yaml, on the charge itself.
 */
function propertiesOf(input: Fields, at: string): Properties {
  const nested = (input.properties ?? {}) as Fields;
  const onCharge = (name: string) => (name === "amount" ? "rate" : name);
  const isFile = isAbsent(input.charge_model) && !isAbsent(input.type);
  const isOnCharge = (name: string) =>
    isAbsent(nested[name]) && (isFile || !isAbsent(input[onCharge(name)]));
  return {
    get: (name) => nested[name] ?? input[onCharge(name)],
    path: (name) => `${at}${isOnCharge(name) ? onCharge(name) : `properties.${name}`}`,
    amount: isFile ? "rate" : "amount",
  };
}

/** The properties of an entry of `tiers` or `prices`, where both spellings are known. */
function propertiesIn(entry: Fields, at: string, amount: Properties["amount"]): Properties {
  const spelt = ["amount", "rate"].find((name) => !isAbsent(entry[name])) ?? amount;
  const key = (name: string) => (name === "amount" ? spelt : name);
  return { get: (name) => entry[key(name)], path: (name) => `${at}.${key(name)}`, amount };
}

function refuseForeign(properties: Properties, own: readonly string[], model: string): void {
  for (const name of PRICE_PROPERTIES) {
    if (own.includes(name) || isAbsent(properties.get(name))) continue;
    const path = properties.path(name);
    throw refuseField(path, "unsupported", `${path} does not belong on a ${model} charge.`);
  }
}

function modelPrice(model: UsageModel, properties: Properties): Price {
  const price: Record<string, unknown> = {};
  for (const name of MODEL_PROPERTIES[model]) {
    const value = present(properties, name, READERS[name] ?? priceText);
    if (value !== undefined) price[name] = value;
    else if (REQUIRED.has(name)) {
      const path = properties.path(name);
      throw refuseField(path, "required", `${path} is required: ${MEANINGS[name]}.`);
    }
  }
  return price;
}

const MEANINGS: Readonly<Record<string, string>> = {
  amount: "the price as a decimal string",
  tiers: "the list of tiers, the last with up_to null",
  package_size: "how many units are one package",
  percent: 'the percentage as a decimal string such as "2.9"',
};

type Reader<T> = (value: unknown, path: string, properties: Properties) => T;

const READERS: Readonly<Record<string, Reader<unknown>>> = {
  tiers,
  free_units: unitsText,
  package_size: (value, path) => aboveZero(unitsText(value, path), path),
  free_events: (value, path) => wholeNumber(value, path, FREE_EVENTS_MAX),
};

function present<T>(properties: Properties, name: string, reader: Reader<T>): T | undefined {
  const value = properties.get(name);
  return isAbsent(value) ? undefined : reader(value, properties.path(name), properties);
}

function priceText(value: unknown, path: string): string {
  if (typeof value === "string" && DECIMAL.test(value)) return value;
  throw refuseField(path, "pattern", `${path} must be ${DECIMAL_EXAMPLE}.`);
}

function unitsText(value: unknown, path: string): string {
  const text = typeof value === "number" ? numberText(value) : value;
  if (typeof text === "string" && DECIMAL.test(text)) return formatDecimal(decimal(text));
  const below = typeof value === "number" && value < 0;
  throw refuseField(
    path,
    below ? "minimum" : "pattern",
    `${path} must be a decimal of 0 or more, such as "1000".`,
  );
}

function aboveZero(text: string, path: string): string {
  if (!isZero(decimal(text))) return text;
  throw refuseField(path, "minimum", `${path} must be above 0.`);
}

function wholeNumber(value: unknown, path: string, maximum: number): number {
  if (!Number.isInteger(value)) {
    throw refuseField(path, "type", `${path} must be a whole number.`);
  }
  const number = value as number;
  if (number < 0) throw refuseField(path, "minimum", `${path} must be 0 or more.`);
  if (number <= maximum) return number;
  throw refuseField(path, "maximum", `${path} must be at most ${maximum}.`);
}

function cents(value: unknown, path: string): number {
  return wholeNumber(value, path, AMOUNT_CENTS_MAX);
}

function entries(value: unknown, path: string, most: number): Fields[] {
  if (!Array.isArray(value)) throw refuseField(path, "type", `${path} must be a list.`);
  if (value.length === 0) {
    throw refuseField(path, "minItems", `${path} must have at least one entry.`);
  }
  if (value.length > most) {
    throw refuseField(path, "maxItems", `${path} must have at most ${most} entries.`);
  }
  value.forEach((entry, i) => {
    if (entry !== null && typeof entry === "object" && !Array.isArray(entry)) return;
    throw refuseField(`${path}[${i}]`, "type", `${path}[${i}] must be an object.`);
  });
  return value as Fields[];
}

function tiers(value: unknown, path: string, { amount: spelling }: Properties): Tier[] {
  const list = entries(value, path, TIERS_MAX);
  let before = "0";
  return list.map((entry, i) => {
    const properties = propertiesIn(entry, `${path}[${i}]`, spelling);
    const up_to = tierEnd(properties, i === list.length - 1, before);
    before = up_to ?? before;
    const amount = present(properties, "amount", priceText);
    if (amount === undefined) {
      const at = properties.path("amount");
      throw refuseField(at, "required", `${at} is required: the price of a unit in this tier.`);
    }
    const flat_amount = present(properties, "flat_amount", priceText);
    return { up_to, amount, ...(flat_amount === undefined ? {} : { flat_amount }) };
  });
}

/** The end of a tier: above the one before it, the first above 0; open in the last tier alone. */
function tierEnd(properties: Properties, isLast: boolean, before: string): string | null {
  const path = properties.path("up_to");
  const sent = properties.get("up_to");
  if (isLast) {
    if (isAbsent(sent)) return null;
    throw refuseField(path, "order", `${path} must be null: the last tier has no end.`);
  }
  if (isAbsent(sent)) {
    throw refuseField(path, "order", `${path} must be a number: only the last tier has no end.`);
  }
  const up_to = unitsText(sent, path);
  if (compare(decimal(up_to), decimal(before)) > 0) return up_to;
  throw refuseField(path, "order", `${path} must be above ${before}.`);
}

function matchedPrices(model: UsageModel, properties: Properties): MatchedPrice[] | undefined {
  const sent = properties.get("prices");
  if (isAbsent(sent)) return undefined;
  const path = properties.path("prices");
  const prices = entries(sent, path, PRICES_MAX).map((entry, i) => {
    const own = propertiesIn(entry, `${path}[${i}]`, properties.amount);
    refuseForeign(own, MODEL_PROPERTIES[model], model);
    return { match: matchOf(entry, `${path}[${i}].match`), ...modelPrice(model, own) };
  });
  prices.forEach(({ match }, i) => {
    const hiding = prices.slice(0, i).findIndex((earlier) => isWithin(earlier.match, match));
    if (hiding === -1) return;
    const at = `${path}[${i}]`;
    const message = `${at} is never used: ${path}[${hiding}] matches all that it does.`;
    throw refuseField(at, "unreachable", message);
  });
  return prices;
}

function matchOf(entry: Fields, path: string): Record<string, string> {
  const { match } = entry;
  if (match === null || typeof match !== "object" || Array.isArray(match)) {
    throw refuseField(
      path,
      isAbsent(match) ? "required" : "type",
      `${path} must be an object of dimensions and the values that they must have.`,
    );
  }
  const pairs = Object.entries(match as Fields);
  if (pairs.length === 0) {
    throw refuseField(path, "required", `${path} must name at least one dimension.`);
  }
  for (const [name, value] of pairs) {
    if (typeof value === "string") continue;
    throw refuseField(`${path}.${name}`, "type", `${path}.${name} must be a text.`);
  }
  return Object.fromEntries(pairs) as Record<string, string>;
}

/** Whether every name of `a` is in `b` with the same value. */
function isWithin(a: Fields, b: Fields): boolean {
  return Object.entries(a).every(([name, value]) => b[name] === value);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Refuses a price for a dimension that the metric does not have. */
export function checkDimensions(
  price: ChargePrice,
  dimensions: readonly string[],
  input: Fields,
  at: string,
): void {
  if (price.prices === undefined) return;
  const path = propertiesOf(input, at).path("prices");
  if (dimensions.length === 0) {
    throw refuseField(path, "unsupported", `${path}: the metric has no dimensions.`);
  }
  price.prices.forEach(({ match }, i) => {
    for (const name of Object.keys(match)) {
      if (dimensions.includes(name)) continue;
      const field = `${path}[${i}].match.${name}`;
      const known = dimensions.join(", ");
      throw refuseField(field, "unknown", `${field}: the metric's dimensions are ${known}.`);
    }
  });
}

/** A form that is equal for prices that mean the same: "0.10" and "0.1" are one amount. */
export function comparablePrice(price: ChargePrice): unknown {
  return JSON.parse(
    JSON.stringify(price, (key, value: unknown) => {
      // Values to match become one text, because they are no amounts: "1.0" is not "1".
      if (key === "match") return JSON.stringify(Object.entries(value as Fields).sort());
      if (typeof value === "string" && DECIMAL.test(value)) return formatDecimal(decimal(value));
      return value;
    }),
  );
}

/** An upper bound of what one unit costs, in main units: a guard against amounts out of range. */
export function highestRate(model: UsageModel, price: ChargePrice): number {
  const own = [price, ...(price.prices ?? [])].map((one) => unitBound(model, one));
  return Math.max(...own);
}

function unitBound(model: UsageModel, price: Price): number {
  const amounts = (price.tiers ?? []).map(({ amount }) => Number(amount));
  if (model === "percentage") return Number(price.percent) / 100;
  if (model === "package") return Number(price.amount) / Number(price.package_size);
  return Math.max(Number(price.amount ?? 0), ...amounts);
}
