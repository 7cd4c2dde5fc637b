// Exact decimals on bigint: the only arithmetic that units, rates and quantities go through.
// Nothing is rounded by default: each function that rounds says how.

/** `digits / 10^scale`. Made by this file only; two forms of one value ("1", "1.0") are equal. */
export type Decimal = { readonly digits: bigint; readonly scale: number };

export const ZERO: Decimal = { digits: 0n, scale: 0 };
export const ONE: Decimal = { digits: 1n, scale: 0 };

/** Decimals that callers may send: no exponent, no spaces, bounded on both sides of the point. */
const SENT = /^-?[0-9]{1,15}(?:\.[0-9]{1,12})?$/;
const ANY_LENGTH = /^-?[0-9]+(?:\.[0-9]+)?$/;
/** A decimal text of so many digits survives the way through a binary double unchanged. */
const DOUBLE_DIGITS_MAX = 15;

/** Reads a decimal that came from outside; undefined when it does not follow the grammar. */
export function parseDecimal(text: string): Decimal | undefined {
  return SENT.test(text) ? read(text) : undefined;
}

/** Reads a decimal of our own making, of any length: a sum of many events may be longer. */
export function decimal(text: string): Decimal {
  if (!ANY_LENGTH.test(text)) throw new RangeError(`"${text}" is not a decimal.`);
  return read(text);
}

export function integer(value: bigint | number): Decimal {
  return { digits: BigInt(value), scale: 0 };
}

/** A decimal sent as JSON, written as a string or as a number; undefined when it is neither. */
export function decimalFromJson(value: unknown): Decimal | undefined {
  if (typeof value === "string") return parseDecimal(value);
  if (typeof value !== "number") return undefined;
  const text = numberText(value);
  // Beyond 15 digits the double may already differ from what was sent, so it is refused.
  const digits = text.replace(/[-.]/g, "");
  return digits.length > DOUBLE_DIGITS_MAX ? undefined : parseDecimal(text);
}

/** The shortest text of a JSON number, small ones without exponent: 1e-7 is "0.0000001". */
export function numberText(value: number): string {
  const text = String(value);
  const [mantissa = "", exponent] = text.split("e-");
  if (exponent === undefined) return text;
  const sign = mantissa.startsWith("-") ? "-" : "";
  const digits = mantissa.replace(/[-.]/g, "");
  return `${sign}0.${"0".repeat(Number(exponent) - 1)}${digits}`;
}

/** The canonical text: no exponent, no leading or trailing zeros, no minus before zero. */
export function formatDecimal(value: Decimal): string {
  const sign = value.digits < 0n ? "-" : "";
  const digits = String(magnitude(value.digits)).padStart(value.scale + 1, "0");
  const point = digits.length - value.scale;
  const fraction = digits.slice(point).replace(/0+$/, "");
  const whole = digits.slice(0, point);
  return fraction === "" ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { digits: digitsAt(a, scale) + digitsAt(b, scale), scale };
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, negate(b));
}

export function multiply(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, scale: a.scale + b.scale };
}

export function negate(value: Decimal): Decimal {
  return { digits: -value.digits, scale: value.scale };
}

/** -1, 0 or 1 where `a` is below, equal to or above `b`. */
export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const scale = Math.max(a.scale, b.scale);
  const left = digitsAt(a, scale);
  const right = digitsAt(b, scale);
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

export function max(a: Decimal, b: Decimal): Decimal {
  return compare(a, b) < 0 ? b : a;
}

export function isNegative(value: Decimal): boolean {
  return value.digits < 0n;
}

export function isZero(value: Decimal): boolean {
  return value.digits === 0n;
}

/** The value times 10^places; places >= 0. */
export function shiftPoint(value: Decimal, places: number): Decimal {
  return { digits: value.digits * tenTo(places), scale: value.scale };
}

/** The nearest integer; a half goes away from zero (0.5 to 1, -0.5 to -1). */
export function roundHalfAway(value: Decimal): bigint {
  return quotient(value.digits, tenTo(value.scale));
}

/** The integer nearest to numerator / denominator; a half goes away from zero. */
export function divideRounded(numerator: Decimal, denominator: bigint): bigint {
  return quotient(numerator.digits, denominator * tenTo(numerator.scale));
}

/** numerator / denominator with `places` decimals, for showing fractions that may never end. */
export function divideToPlaces(numerator: Decimal, denominator: bigint, places: number): Decimal {
  return { digits: divideRounded(shiftPoint(numerator, places), denominator), scale: places };
}

function read(text: string): Decimal {
  const point = text.indexOf(".");
  if (point === -1) return { digits: BigInt(text), scale: 0 };
  const scale = text.length - point - 1;
  return { digits: BigInt(text.slice(0, point) + text.slice(point + 1)), scale };
}

function digitsAt(value: Decimal, scale: number): bigint {
  return value.scale === scale ? value.digits : value.digits * tenTo(scale - value.scale);
}

function quotient(numerator: bigint, denominator: bigint): bigint {
  const above = magnitude(numerator);
  const below = magnitude(denominator);
  // floor(a/b + 1/2) without leaving the integers.
  const rounded = (2n * above + below) / (2n * below);
  return numerator < 0n === denominator < 0n ? rounded : -rounded;
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function tenTo(places: number): bigint {
  return 10n ** BigInt(places);
}
