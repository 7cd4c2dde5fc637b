// A fee as a line of a document: what it is called, what it is for in words, and how its amount
// comes about. Fees keep what they were called when they were issued.

import type { Fee } from "../../schema/invoices.ts";
import { minimumTarget } from "../usage-fees.ts";
import { formatMoney, formatPeriod, formatRate, formatUnits } from "./format.ts";
import { type DocumentPart, partsOf } from "./parts.ts";

export type DocumentNames = {
  /** The names of the plans that are billed, by code. */
  readonly plans: ReadonlyMap<string, string>;
  /** Each metric's dimensions in their order, which the properties of a fee do not keep. */
  readonly dimensions: ReadonlyMap<string, readonly string[]>;
};

export type DocumentLine = {
  readonly title: string;
  readonly details: readonly string[];
  /** How the amount comes about: they add up to it before it was rounded. */
  readonly parts: readonly DocumentPart[];
  readonly units: string;
  readonly rate: string;
  readonly amount: string;
};

type LineText = Pick<DocumentLine, "details" | "parts">;

export function lineOf(fee: Fee, names: DocumentNames): DocumentLine {
  // The one unit of a minimum, of days given back, or of a top-up says nothing.
  const isCounted = !isMinimum(fee) && !isBaseCorrection(fee) && fee.fee_type !== "top_up";
  return {
    title: titleOf(fee, names),
    ...textOf(fee),
    units: isCounted ? formatUnits(fee.units) : "",
    rate: rateOf(fee),
    amount: formatMoney(fee.amount_cents, fee.amount_currency),
  };
}

/** The plan of the period as its fees have it; undefined where none is of a plan. */
export function planNameOf(
  fees: readonly Fee[],
  { plans }: Pick<DocumentNames, "plans">,
): string | undefined {
  const own = fees.filter((fee) => fee.fee_type !== "adjustment" || isBaseCorrection(fee));
  const fee = own.find(({ charge_id }) => charge_id === null) ?? own[0];
  const code = text(fee?.properties.plan_code);
  if (fee === undefined || code === "") return undefined;
  if (fee.charge_id === null) return text(fee.properties.name);
  return plans.get(code) ?? code;
}

/** Whether the fee is a minimum, or corrects one: lines of usage name their charge model. */
function isMinimum({ fee_type, properties }: Fee): boolean {
  if (fee_type === "minimum") return true;
  const { charge_model, minimum_cents } = properties;
  return (
    fee_type === "adjustment" && charge_model === undefined && typeof minimum_cents === "number"
  );
}

/** Whether the fee gives back or adds days of a base fee that was billed in advance. */
function isBaseCorrection(fee: Fee): boolean {
  const isAdjustment = fee.fee_type === "adjustment" && fee.billable_metric_code === null;
  return isAdjustment && !isMinimum(fee);
}

function titleOf(fee: Fee, names: DocumentNames): string {
  const { name, dimensions, match } = fee.properties;
  // Without `match` a property `dimensions` is the caller's own.
  const values = match === undefined || !isObject(dimensions) ? null : dimensions;
  const called = lineTitle(
    text(name),
    values,
    names.dimensions.get(fee.billable_metric_code ?? ""),
  );
  return fee.fee_type === "adjustment" ? `Adjustment: ${called}` : called;
}

/** "Tokens, model large, no kind": the name with the values of the usage that the line is for. */
export function lineTitle(
  name: string,
  values: Readonly<Record<string, unknown>> | null,
  order: readonly string[] = Object.keys(values ?? {}),
): string {
  if (values === null) return name;
  const texts = order.map((dimension) => {
    const value = values[dimension];
    if (typeof value !== "string") return `no ${dimension}`;
    return `${dimension} ${value === "" ? '""' : value}`;
  });
  return [name, ...texts].join(", ");
}

function textOf(fee: Fee): LineText {
  if (isBaseCorrection(fee)) return correctedBase(fee);
  switch (fee.fee_type) {
    case "subscription":
      return { details: days(fee), parts: [] };
    case "adjustment":
      return corrected(fee);
    case "minimum":
      return { details: [minimumText(fee)], parts: [] };
    case "charge":
      return { details: quantityTexts(fee), parts: partsOf(fee) };
    default:
      return { details: [], parts: [] };
  }
}

/** "17 of 31 days"; none where every day of the period counts. */
function days({ properties }: Fee): string[] {
  const { billable_days: billed, period_days: whole } = properties;
  return billed === whole ? [] : [`${String(billed)} of ${String(whole)} days`];
}

function quantityTexts(fee: Fee): string[] {
  const { billable_days, period_days, quantity_mode } = fee.properties;
  if (fee.billable_metric_code !== null) return [];
  if (quantity_mode === "max") return ["Highest quantity of the period"];
  if (quantity_mode !== "prorated" || billable_days === undefined) return [];
  const average = formatUnits(fee.units);
  return [`Average of ${average}, ${String(billable_days)} of ${String(period_days)} days`];
}

/** "Minimum of $31.00 for 17 of 31 days ($17.00), $5.00 counted". */
function minimumText({ properties, amount_currency }: Fee): string {
  const minimum_cents = whole(properties.minimum_cents);
  const billable_days = whole(properties.billable_days);
  const period_days = whole(properties.period_days);
  const money = (cents: number) => formatMoney(cents, amount_currency);
  const target = minimumTarget(minimum_cents, { billable_days, period_days });
  const share =
    billable_days === period_days
      ? ""
      : ` for ${billable_days} of ${period_days} days (${money(target)})`;
  const counted = money(whole(properties.counted_cents));
  return `Minimum of ${money(minimum_cents)}${share}, ${counted} counted`;
}

/** A closed period rated again: what it comes to now, less what was billed for it. */
function corrected(fee: Fee): LineText {
  const { properties } = fee;
  const period = formatPeriod(text(properties.period_start), text(properties.period_end));
  const number = text(properties.invoice_number);
  const now = isMinimum(fee)
    ? [{ text: minimumText(fee), amount: money(fee, properties.corrected_amount_cents) }]
    : partsOf(fee);
  const before = formatUnits(text(properties.billed_units));
  const after = formatUnits(text(properties.corrected_units));
  const units = isMinimum(fee) ? "" : `: ${before} billed, ${after} used`;
  const late = `Late usage of ${period}${units}`;
  if (now.length === 0) {
    return { details: number === "" ? [late] : [late, `Corrects ${number}`], parts: [] };
  }
  return { details: [late], parts: [...now, billedBefore(fee, "Billed before")] };
}

function correctedBase(fee: Fee): LineText {
  const { properties, amount_cents } = fee;
  const period = formatPeriod(text(properties.period_start), text(properties.period_end));
  const [billed, all] = [properties.billable_days, properties.period_days];
  const due =
    typeof billed === "number"
      ? `${billed} of ${String(all)} days of ${money(fee, properties.amount_cents)}`
      : "No day due";
  return {
    details: [`${amount_cents < 0 ? "Days given back" : "Days added"}, ${period}`],
    parts: [
      { text: due, amount: money(fee, properties.corrected_amount_cents) },
      billedBefore(fee, "Billed in advance"),
      ...creditedBefore(fee),
    ],
  };
}

/** The part of these days that credit notes have credited: it does not come back again. */
function creditedBefore(fee: Fee): DocumentPart[] {
  const { credited_cents, corrected_amount_cents, billed_amount_cents } = fee.properties;
  const uncredited = whole(corrected_amount_cents) - whole(billed_amount_cents);
  const rest = fee.amount_cents - uncredited;
  // A note over so little that it changes no cent has no line.
  if (whole(credited_cents) === 0 || rest === 0) return [];
  return [{ text: "Credited before", amount: money(fee, rest) }];
}

function billedBefore(fee: Fee, texts: string): DocumentPart {
  const { billed_amount_cents, invoice_number } = fee.properties;
  const number = text(invoice_number);
  return {
    text: number === "" ? texts : `${texts}, ${number}`,
    amount: money(fee, -whole(billed_amount_cents)),
  };
}

/** What one unit costs, "" where the line does not say so. */
function rateOf({ fee_type, properties, amount_cents, amount_currency: currency }: Fee): string {
  if (fee_type === "add_on") return formatMoney(amount_cents, currency);
  if (fee_type === "subscription") return centsText(properties.amount_cents, currency);
  // On a charge by usage `unit_amount_cents` would be a property of the caller's own.
  if (fee_type === "one_off" || properties.charge_model === "flat_fee") {
    return centsText(properties.unit_amount_cents, currency);
  }
  if (properties.charge_model === "percentage") return `${text(properties.percent)} %`;
  // The amount of a package is not that of a unit.
  if (properties.charge_model === "package") return "";
  const rate = text(properties.amount);
  return /^\d+(\.\d+)?$/.test(rate) ? formatRate(rate, currency) : "";
}

function centsText(cents: unknown, currency: string): string {
  return typeof cents === "number" ? formatMoney(cents, currency) : "";
}

function money({ amount_currency }: Fee, cents: unknown): string {
  return formatMoney(whole(cents), amount_currency);
}

function whole(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
