// The quantity of a flat fee: how it is read from a subscription's properties, and what it came to
// over a period in which the properties changed.

import { DAY_MS } from "./dates.ts";
import { add, type Decimal, decimalFromJson, isNegative, max, ONE, ZERO } from "./decimal.ts";
import { listBillableDays, type Suspension } from "./periods.ts";

type Properties = Readonly<Record<string, unknown>>;

/** The `quantity_from` of a charge, `subscription_property.seats`; null: the quantity is 1. */
type Source = string | null;

const PROPERTY_PREFIX = "subscription_property.";

/** A quantity that no fee can be made of. Its message is shown to the operator. */
export class BadQuantity extends Error {
  override readonly name = "BadQuantity";
}

/** The quantity that the properties hold, or why it is none. */
function readQuantity(source: Source, properties: Properties): Decimal | BadQuantity {
  if (source === null) return ONE;
  const name = source.slice(PROPERTY_PREFIX.length);
  if (!source.startsWith(PROPERTY_PREFIX) || name === "") {
    return new BadQuantity(`quantity_from "${source}" names no property.`);
  }
  const sent = Object.hasOwn(properties, name) ? properties[name] : undefined;
  const quantity = decimalFromJson(sent);
  if (quantity !== undefined && !isNegative(quantity)) return quantity;
  // Never taken for 0 or 1: the operator is shown a quantity that cannot be read.
  const found = sent === undefined ? "is missing" : `is ${JSON.stringify(sent)}`;
  return new BadQuantity(`The property "${name}" must be a decimal of 0 or more; it ${found}.`);
}

function checked(quantity: Decimal | BadQuantity): Decimal {
  if (quantity instanceof BadQuantity) throw quantity;
  return quantity;
}

/** The quantity that the properties hold; throws `BadQuantity` where it is none. */
export function quantityOf(source: Source, properties: Properties): Decimal {
  return checked(readQuantity(source, properties));
}

/** A subscription's properties over time: each that was replaced, oldest first, and the present. */
export type Quantities = {
  readonly former: readonly { readonly until: Date; readonly properties: Properties }[];
  readonly present: Properties;
};

/** A quantity and when it was in force: `from <= t < until`, in milliseconds since 1970. */
type Stretch = {
  readonly from: number;
  readonly until: number;
  readonly quantity: Decimal | BadQuantity;
};

/**
 * All of time in stretches, oldest first. A quantity that cannot be read counts as the next one
 * that can: whoever mends the property mends the bill, although the past cannot be changed.
 */
function stretchesOf({ former, present }: Quantities, source: Source): Stretch[] {
  const newestFirst: Stretch[] = [];
  for (let i = former.length; i >= 0; i--) {
    const from = former[i - 1]?.until.getTime() ?? Number.NEGATIVE_INFINITY;
    const until = former[i]?.until.getTime() ?? Number.POSITIVE_INFINITY;
    if (from >= until) continue;
    const own = readQuantity(source, former[i]?.properties ?? present);
    const next = newestFirst.at(-1)?.quantity ?? own;
    newestFirst.push({ from, until, quantity: own instanceof BadQuantity ? next : own });
  }
  return newestFirst.reverse();
}

/** The sum over the billable days of the quantity that each day ended with. */
export function sumOverDays(
  quantities: Quantities,
  billed: {
    readonly start: Date;
    readonly end: Date;
    readonly suspensions: readonly Suspension[];
  },
  source: Source,
): Decimal {
  const stretches = stretchesOf(quantities, source);
  return listBillableDays(billed)
    .map((day) => Math.min((day + 1) * DAY_MS, billed.end.getTime()))
    .map((dayEnd) => stretches.find(({ until }) => until >= dayEnd))
    .map((stretch) => (stretch === undefined ? ZERO : checked(stretch.quantity)))
    .reduce(add, ZERO);
}

/** The highest quantity that was in force for a moment of the period. */
export function highestQuantity(
  quantities: Quantities,
  period: { readonly start: Date; readonly end: Date },
  source: Source,
): Decimal {
  const [start, end] = [period.start.getTime(), period.end.getTime()];
  const [first, ...others] = stretchesOf(quantities, source)
    .filter(({ from, until }) => from < until && start < until && from < end)
    .map(({ quantity }) => checked(quantity));
  return first === undefined ? quantityOf(source, quantities.present) : others.reduce(max, first);
}
