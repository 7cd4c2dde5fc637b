// Charges of the file and of the API in one form, so that they can be compared, shown and written
// as the other.

import type { Charge, ChargeInput } from "../client/types.ts";
import type { Price } from "../domain/charge-models.ts";
import {
  type ChargePrice,
  comparablePrice,
  PRICE_PROPERTIES,
} from "../domain/charge-properties.ts";
import { draftCharge } from "../domain/charges.ts";
import { decimal, formatDecimal } from "../domain/decimal.ts";
import { Refusal } from "../errors.ts";
import { canonicalJson } from "../schema/canonical-json.ts";
import type { FileCharge } from "../schema/service-file.ts";
import { plural } from "./output.ts";
import { type Change, codeSet, isSame } from "./sync-plan-parts.ts";

type Terms = {
  readonly type: FileCharge["type"];
  readonly name: string | null;
  readonly timing: NonNullable<FileCharge["invoice_timing"]>;
  readonly metric: string | null;
  readonly price: ChargePrice;
  readonly item: string | null;
  readonly override: number | null;
  readonly quantity_from: string | null;
  readonly tax_codes: readonly string[] | null;
  /** Those without a meaning for the price. */
  readonly properties: Record<string, unknown>;
};

function termsOf(input: Parameters<typeof draftCharge>[0]): Terms {
  const draft = draftCharge(input, "");
  const { metric, price } = draft;
  return {
    type: draft.charge_model,
    name: draft.name,
    timing: draft.invoice_timing,
    metric: metric !== null && "code" in metric ? metric.code : null,
    price,
    item: draft.catalog_item_code,
    override: draft.amount_override_cents,
    quantity_from: draft.quantity_from,
    tax_codes: codeSet(draft.tax_codes),
    properties: without(draft.properties, Object.keys(price)),
  };
}

function without(properties: Charge["properties"], names: readonly string[]) {
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !names.includes(name)));
}

function ofApi(charge: Charge): Terms {
  const { id: _id, plan_id: _plan, billable_metric_id: _metric, created_at: _at, ...own } = charge;
  try {
    return termsOf(own);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // Before these properties had a meaning they could be anything, and they still have none there.
    const meaningless = PRICE_PROPERTIES.filter((name) => name !== "amount");
    return termsOf({ ...own, properties: without(charge.properties, meaningless) });
  }
}

/** "0.10" and "0.1" are one price; 100, "100" and "100.0" are the same units. */
function comparable(terms: Terms | undefined): unknown {
  return terms === undefined ? null : { ...terms, price: comparablePrice(terms.price) };
}

export function chargeChanges(before: readonly Charge[], after: readonly FileCharge[]): Change[] {
  const from = before.map(ofApi);
  const to = after.map(termsOf);
  const places = Array.from({ length: Math.max(from.length, to.length) }, (_, i) => i);
  return places
    .filter((i) => !isSame(comparable(from[i]), comparable(to[i])))
    .flatMap((i) => lineChanges(`charges[${i}]`, from[i], to[i]));
}

/** The lines of a charge that is new. */
export function createdCharge(charge: FileCharge): Change[] {
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

/** What is sent for a charge of the file: the API takes the price as the file writes it, too. */
export function chargeInput(charge: FileCharge): ChargeInput {
  const { type, metric_ref, catalog_ref, ...rest } = charge;
  return {
    charge_model: type,
    ...(metric_ref !== undefined && { billable_metric_code: metric_ref }),
    ...(catalog_ref !== undefined && { catalog_item_code: catalog_ref }),
    ...rest,
  };
}

/** The entry of the file that declares this charge. */
export function fileCharge(charge: Charge): FileCharge {
  const terms = ofApi(charge);
  const { prices, minimum_cents, quantity_mode, ...price } = terms.price;
  const matched = prices?.map(({ match, ...own }) => ({ match, ...filePrice(own) }));
  return {
    type: terms.type,
    ...(terms.name !== null && { name: terms.name }),
    ...(terms.metric !== null && { metric_ref: terms.metric }),
    ...filePrice(price),
    ...(matched !== undefined && { prices: matched }),
    ...(minimum_cents !== undefined && { minimum_cents }),
    ...(terms.item !== null && { catalog_ref: terms.item }),
    ...(terms.override !== null && { amount_override_cents: terms.override }),
    ...(terms.quantity_from !== null && { quantity_from: terms.quantity_from }),
    ...(quantity_mode !== undefined && { quantity_mode }),
    ...(terms.timing !== "arrears" && { invoice_timing: terms.timing }),
    ...(terms.tax_codes !== null && { tax_codes: terms.tax_codes }),
    ...(Object.keys(terms.properties).length > 0 && { properties: terms.properties }),
  };
}

/** The file calls an amount `rate`. */
function filePrice({ amount, tiers, ...rest }: Price) {
  const own = tiers?.map(({ up_to, amount: rate, ...more }) => ({ up_to, rate, ...more }));
  return {
    ...(amount !== undefined && { rate: amount }),
    ...(own !== undefined && { tiers: own }),
    ...rest,
  };
}
