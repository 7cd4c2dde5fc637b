// How the amount of a usage fee comes about, part by part: tiers, packages, a share and the fixed
// amounts of events, free units. Read from the properties of the fee, which explain it for ever.

import type { Fee } from "../../schema/invoices.ts";
import {
  type Decimal,
  decimal,
  formatDecimal,
  integer,
  isZero,
  max,
  multiply,
  shiftPoint,
  subtract,
  ZERO,
} from "../decimal.ts";
import { exponentOf } from "../money.ts";
import { formatExact, formatRate, formatUnits } from "./format.ts";

export type DocumentPart = { readonly text: string; readonly amount: string };

type Tier = Readonly<Record<"units" | "amount" | "flat_amount" | "precise_amount", string>> & {
  readonly from: string;
  readonly up_to: string | null;
};

/** The parts of a fee: none where units and price of the line say it all, or nothing was used. */
export function partsOf(fee: Fee): DocumentPart[] {
  if (isZero(unitsOf(fee)) && isZero(preciseOf(fee))) return [];
  switch (fee.properties.charge_model) {
    case "graduated":
      return tiersOf(fee).map((tier) => tierPart(fee, tier, ""));
    case "volume":
      return tiersOf(fee).map((tier) => tierPart(fee, tier, ", all units"));
    case "package":
      return [packages(fee)];
    case "percentage":
      return share(fee);
    case "standard":
      return paidUnits(fee);
    default:
      return [];
  }
}

function tiersOf({ properties }: Fee): Tier[] {
  return Array.isArray(properties.tiers) ? (properties.tiers as Tier[]) : [];
}

/** "0 to 100: 100 × $0.10 + $5.00". */
function tierPart(fee: Fee, tier: Tier, whom: string): DocumentPart {
  const { from, up_to, units, amount, flat_amount, precise_amount } = tier;
  const range =
    up_to === null ? `Above ${formatUnits(from)}` : `${formatUnits(from)} to ${formatUnits(up_to)}`;
  const isStep = isZero(decimal(amount)) && !isZero(decimal(flat_amount));
  const terms = [
    ...(isStep ? [] : [`${formatUnits(units)} × ${formatRate(amount, fee.amount_currency)}`]),
    ...(isZero(decimal(flat_amount)) ? [] : [formatRate(flat_amount, fee.amount_currency)]),
  ];
  return {
    text: `${range}${whom}: ${terms.join(" + ")}`,
    amount: formatExact(decimal(precise_amount), fee.amount_currency),
  };
}

/** "1,000 free, 3 packages of 100 at $5.00". */
function packages(fee: Fee): DocumentPart {
  const { properties, amount_currency } = fee;
  const begun = count(properties.packages);
  const noun = begun === 1 ? "package" : "packages";
  const size = formatUnits(text(properties.package_size));
  const price = formatRate(text(properties.amount), amount_currency);
  const label = `${formatUnits(String(begun))} ${noun} of ${size} at ${price}`;
  return {
    text: [...freeUnits(fee), label].join(", "),
    amount: formatExact(preciseOf(fee), amount_currency),
  };
}

/** The share of the units, and what the events cost one by one. */
function share(fee: Fee): DocumentPart[] {
  const { properties, amount_currency } = fee;
  const fixed_amount = text(properties.fixed_amount);
  if (fixed_amount === "" && freeUnits(fee).length === 0) return [];
  const [all, paid] = [count(properties.events), count(properties.paid_events)];
  const cost = multiply(integer(paid), figure(fixed_amount));
  const fixed = shiftPoint(cost, exponentOf(amount_currency));
  const ofUnits = `${text(properties.percent)} % of ${shownUnits(paidOf(fee))}`;
  const parts = [
    {
      text: [...freeUnits(fee), ofUnits].join(", "),
      amount: formatExact(subtract(preciseOf(fee), fixed), amount_currency),
    },
  ];
  if (fixed_amount === "") return parts;
  const label = `${eventText(all, paid)} × ${formatRate(fixed_amount, amount_currency)}`;
  return [...parts, { text: label, amount: formatExact(fixed, amount_currency) }];
}

/** "2 events", or "1 of 3 events free, 2". */
function eventText(all: number, paid: number): string {
  const number = (value: number) => formatUnits(String(value));
  const named = (value: number) => `${number(value)} ${value === 1 ? "event" : "events"}`;
  return all === paid ? named(all) : `${number(all - paid)} of ${named(all)} free, ${number(paid)}`;
}

/** "100 free, 50 × $0.10". */
function paidUnits(fee: Fee): DocumentPart[] {
  const { properties, amount_currency } = fee;
  const free = freeUnits(fee);
  if (free.length === 0) return [];
  const price = formatRate(text(properties.amount), amount_currency);
  const label = `${shownUnits(paidOf(fee))} × ${price}`;
  const amount = formatExact(preciseOf(fee), amount_currency);
  return [{ text: [...free, label].join(", "), amount }];
}

function freeUnits({ properties }: Fee): string[] {
  const free = figure(properties.free_units);
  return isZero(free) ? [] : [`${shownUnits(free)} free`];
}

function paidOf(fee: Fee): Decimal {
  return max(subtract(unitsOf(fee), figure(fee.properties.free_units)), ZERO);
}

/** All units of the period, also where the line is for the difference alone. */
function unitsOf({ fee_type, units, properties }: Fee): Decimal {
  return figure(fee_type === "adjustment" ? properties.corrected_units : units);
}

/** The exact amount, in the currency's minor unit. */
function preciseOf({ properties }: Fee): Decimal {
  return figure(properties.precise_amount);
}

function shownUnits(units: Decimal): string {
  return formatUnits(formatDecimal(units));
}

/** The decimal, 0 for what is none: properties may be the caller's own. */
function figure(value: unknown): Decimal {
  return /^-?\d+(\.\d+)?$/.test(text(value)) ? decimal(text(value)) : ZERO;
}

function count(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
