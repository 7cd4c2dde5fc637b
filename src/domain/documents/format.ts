// Amounts, units and dates as the text of documents: exact at any size, in the currency's own
// decimals, with a real minus sign where they are below zero.

import { type Decimal, formatDecimal } from "../decimal.ts";
import { exponentOf } from "../money.ts";

const RATE_PLACES_MAX = 12;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** 123450 USD as `$1,234.50`, 500 JPY as `¥500`, 1250 KWD as `KWD 1.250`. */
export function formatMoney(cents: number, currency: string): string {
  const places = exponentOf(currency);
  const digits = String(Math.abs(cents)).padStart(places + 1, "0");
  const point = digits.length - places;
  const text = places === 0 ? digits : `${digits.slice(0, point)}.${digits.slice(point)}`;
  return inCurrency(`${cents < 0 ? "-" : ""}${text}`, currency, places);
}

/** A price per unit, with all its decimals. */
export function formatRate(rate: string, currency: string): string {
  return inCurrency(rate, currency, RATE_PLACES_MAX);
}

/** An amount in the minor unit that is not rounded yet: 258.56 USD as `$2.5856`. */
export function formatExact(cents: Decimal, currency: string): string {
  const { digits, scale } = cents;
  return formatRate(formatDecimal({ digits, scale: scale + exponentOf(currency) }), currency);
}

/** `12345.5` as `12,345.5`. */
export function formatUnits(units: string): string {
  const [whole = "0", fraction] = units.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return withMinus(fraction === undefined ? grouped : `${grouped}.${fraction}`);
}

/** `2025-01-31` as `31 Jan 2025`. */
export function formatDate(date: string): string {
  const [year = "", month = "", day = ""] = date.slice(0, 10).split("-");
  return `${Number(day)} ${MONTHS[Number(month) - 1] ?? month} ${year}`;
}

/** An ISO instant as `31 Jan 2025, 09:00 UTC`. */
export function formatInstant(iso: string): string {
  return `${formatDate(iso)}, ${iso.slice(11, 16)} UTC`;
}

export function formatPeriod(first: string, last: string): string {
  const [from, to] = [first.slice(0, 10), last.slice(0, 10)];
  return from === to ? formatDate(from) : `${formatDate(from)} – ${formatDate(to)}`;
}

function inCurrency(decimal: string, currency: string, places_max: number): string {
  const places = exponentOf(currency);
  const format = new Intl.NumberFormat("en-US", {
    style: "currency",
    currency,
    minimumFractionDigits: places,
    maximumFractionDigits: Math.max(places, places_max),
  });
  // Text keeps every digit, where a number would be a binary float.
  return withMinus(format.format(decimal as `${number}`).replaceAll("\u00a0", " "));
}

/** Writes a real minus: a hyphen before an amount is easily overlooked, or read as a dash. */
function withMinus(text: string): string {
  return text.replace(/^-/, "\u2212");
}
