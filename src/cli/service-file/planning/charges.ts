// The changes of a plan's charges, line by line.

import type { Charge } from "../../../client/types.ts";
import type { Price } from "../../../domain/charge-models.ts";
import { comparablePrice } from "../../../domain/charge-properties.ts";
import { decimal, formatDecimal } from "../../../domain/decimal.ts";
import { canonicalJson } from "../../../schema/canonical-json.ts";
import type { FileCharge } from "../../../schema/service-file.ts";
import { plural } from "../../terminal/output.ts";
import { type Terms, termsOf, termsOfApi } from "../charge-terms.ts";
import { type Change, isSame } from "../comparing.ts";

/** "0.10" and "0.1" are one price; 100, "100" and "100.0" are the same units. */
function comparable(terms: Terms | undefined): unknown {
  return terms === undefined ? null : { ...terms, price: comparablePrice(terms.price) };
}

export function changesOfCharges(
  before: readonly Charge[],
  after: readonly FileCharge[],
): Change[] {
  const from = before.map(termsOfApi);
  const to = after.map(termsOf);
  const places = Array.from({ length: Math.max(from.length, to.length) }, (_, i) => i);
  return places
    .filter((i) => !isSame(comparable(from[i]), comparable(to[i])))
    .flatMap((i) => lineChanges(`charges[${i}]`, from[i], to[i]));
}

/** The lines of a charge that is new. */
export function changesOfNewCharge(charge: FileCharge): Change[] {
  return lineChanges("charge", undefined, termsOf(charge));
}

/** Line by line, so that one tier of many that changes is shown alone. */
function lineChanges(at: string, before: Terms | undefined, after: Terms | undefined): Change[] {
  const from = before === undefined ? new Map<string, string>() : linesOf(before);
  const to = after === undefined ? new Map<string, string>() : linesOf(after);
  return [...new Set([...to.keys(), ...from.keys()])]
    .filter((line) => from.get(line) !== to.get(line))
    .map((line) => ({ field: `${at}${line}`, from: from.get(line), to: to.get(line) }));
}

/** A charge in lines, each by its place in the charge: "" is the charge itself, `.tiers[0]`. */
function linesOf(terms: Terms): Map<string, string> {
  const { name, price, tax_codes } = terms;
  const prices = (price.prices ?? []).flatMap(({ match, ...own }, i): Line[] => [
    [`.prices[${i}]`, `${matchText(match)}${priceText(own)}`],
    ...tierLines(`.prices[${i}]`, own),
  ]);
  const minimum = price.minimum_cents;
  return new Map<string, string>([
    ["", headText(terms)],
    ...(name === null ? [] : [[".name", name] as const]),
    ...tierLines("", price),
    ...prices,
    ...(minimum === undefined ? [] : [[".minimum_cents", String(minimum)] as const]),
    ...(tax_codes === null ? [] : [[".tax_codes", tax_codes.join(", ") || "no tax"] as const]),
  ]);
}

type Line = readonly [place: string, text: string];

function headText(terms: Terms): string {
  const { type, metric, item, override, quantity_from, price, properties } = terms;
  const what =
    type === "flat_fee"
      ? [item, override === null ? null : `for ${override}`].filter(Boolean).join(" ")
      : `${metric}${priceText(price)}`;
  const quantity = quantity_from === null ? "" : ` × ${quantity_from}`;
  const mode = price.quantity_mode === undefined ? "" : `, ${price.quantity_mode}`;
  const extra = Object.keys(properties).length > 0 ? ` ${canonicalJson(properties)}` : "";
  return `${type} ${what}${quantity}${mode}, ${terms.timing}${extra}`;
}

/** " at 5 for 100, 1000 free"; nothing of tiers, which have lines of their own. */
function priceText(price: Price): string {
  const { amount, package_size, percent, fixed_amount, free_units, free_events } = price;
  return [
    ...(amount === undefined ? [] : [` at ${plain(amount)}`]),
    ...(package_size === undefined ? [] : [` for ${plain(package_size)}`]),
    ...(percent === undefined ? [] : [` at ${plain(percent)} %`]),
    ...(fixed_amount === undefined ? [] : [` and ${plain(fixed_amount)} for an event`]),
    ...(free_units === undefined ? [] : [`, ${plain(free_units)} free`]),
    ...(free_events === undefined ? [] : [`, ${plural(free_events, "event")} free`]),
  ].join("");
}

/** "up to 100 at 1", "rest at 0.5 and 2 once" */
function tierLines(at: string, { tiers = [] }: Price): Line[] {
  return tiers.map(({ up_to, amount, flat_amount }, i) => {
    const units = up_to === null ? "rest" : `up to ${plain(up_to)}`;
    const once = flat_amount === undefined ? "" : ` and ${plain(flat_amount)} once`;
    return [`${at}.tiers[${i}]`, `${units} at ${plain(amount)}${once}`];
  });
}

function matchText(match: Readonly<Record<string, string>>): string {
  return Object.entries(match)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name} ${value === "" ? '""' : value}`)
    .join(", ");
}

function plain(text: string): string {
  return formatDecimal(decimal(text));
}
