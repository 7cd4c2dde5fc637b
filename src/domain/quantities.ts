// Quantities over time: which properties a subscription had at each instant, and what a quantity
// among them came to over a period.

import { DAY_MS } from "./dates.ts";
import { add, type Decimal, max, ZERO } from "./decimal.ts";
import { listBillableDays, type Suspension } from "./periods.ts";

type Properties = Readonly<Record<string, unknown>>;

/** The properties that were replaced, oldest first, and those of now. */
export type Quantities = {
  readonly former: readonly { readonly until: Date; readonly properties: Properties }[];
  readonly present: Properties;
};

type Reader = (properties: Properties) => Decimal;

/** The sum over the billable days of the quantity that each day ended with. */
export function averageQuantity(
  quantities: Quantities,
  billed: {
    readonly start: Date;
    readonly end: Date;
    readonly suspensions: readonly Suspension[];
  },
  read: Reader,
): Decimal {
  return listBillableDays(billed)
    .map((day) => Math.min((day + 1) * DAY_MS, billed.end.getTime()))
    .map((end) => firstReadable(quantities, (until) => until >= end, read))
    .reduce(add, ZERO);
}

/** The highest that was in force for a moment of the period. */
export function highestQuantity(
  quantities: Quantities,
  period: { readonly start: Date; readonly end: Date },
  read: Reader,
): Decimal {
  const [start, end] = [period.start.getTime(), period.end.getTime()];
  let from = Number.NEGATIVE_INFINITY;
  let highest: Decimal | undefined;
  for (const { until, properties } of [
    ...quantities.former,
    { until: new Date(8.64e15), properties: quantities.present },
  ]) {
    const lasts = from < until.getTime() && until.getTime() > start && from < end;
    if (lasts) {
      const quantity = readOr(properties, quantities, until, read);
      highest = highest === undefined ? quantity : max(highest, quantity);
    }
    from = Math.max(from, until.getTime());
  }
  return highest ?? read(quantities.present);
}

function firstReadable(
  { former, present }: Quantities,
  isInForce: (until: number) => boolean,
  read: Reader,
): Decimal {
  for (const { until, properties } of former) {
    if (!isInForce(until.getTime())) continue;
    const quantity = readable(properties, read);
    if (quantity !== undefined) return quantity;
  }
  return read(present);
}

function readOr(
  properties: Properties,
  quantities: Quantities,
  until: Date,
  read: Reader,
): Decimal {
  return (
    readable(properties, read) ??
    firstReadable(quantities, (later) => later > until.getTime(), read)
  );
}

/**
 * Undefined where the quantity was missing or no number: then the next one that can be read counts,
 * so that whoever mends the property mends the bill, although the past cannot be changed.
 */
function readable(properties: Properties, read: Reader): Decimal | undefined {
  try {
    return read(properties);
  } catch {
    return undefined;
  }
}
