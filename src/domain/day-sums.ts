// What events come to by subscription, period, metric, combination and UTC day: how they are added
// to the days that periods are billed from.

import { isNewer } from "./aggregation.ts";
import { DAY_MS } from "./dates.ts";
import { add, type Decimal, decimal, formatDecimal, integer, max, multiply } from "./decimal.ts";

export type CountedEvent = {
  readonly subscription_id: string;
  readonly period_no: number;
  readonly metric_id: string;
  /** The JSON list of the dimensions' values; null for a metric without dimensions. */
  readonly combination: string | null;
  readonly at: Date;
  readonly arrival: number;
  /** Canonical decimal text. */
  readonly quantity: string | null;
  /** Whether the metric is a weighted sum. */
  readonly is_weighted: boolean;
};

export type DaySum = {
  /** The newest event of the day. */
  readonly last: CountedEvent;
  readonly events: number;
  readonly sum: string | null;
  readonly max: string | null;
  /** Each value times its milliseconds since midnight, added up; null but for weighted sums. */
  readonly moment: string | null;
};

export function daySums(events: readonly CountedEvent[]): DaySum[] {
  // A subscription has few days in what is sent at once, but may have many combinations.
  const days = new Map<string, CountedEvent[][]>();
  for (const event of events) {
    const { subscription_id, combination } = event;
    const key = combination === null ? subscription_id : subscription_id + combination;
    const own = days.get(key);
    if (own === undefined) days.set(key, [[event]]);
    else addTo(own, event);
  }
  const sums: DaySum[] = [];
  for (const own of days.values()) for (const alike of own) sums.push(sumOf(alike));
  return sums;
}

function addTo(days: CountedEvent[][], event: CountedEvent): void {
  const day = days.find(([first]) => first !== undefined && isSameDay(first, event));
  if (day === undefined) days.push([event]);
  else day.push(event);
}

function isSameDay(a: CountedEvent, b: CountedEvent): boolean {
  return a.metric_id === b.metric_id && a.period_no === b.period_no && dayNo(a) === dayNo(b);
}

function dayNo({ at }: CountedEvent): number {
  return Math.floor(at.getTime() / DAY_MS);
}

function sumOf(events: readonly CountedEvent[]): DaySum {
  const last = events.reduce((newest, event) => (isNewer(event, newest) ? event : newest));
  const moment = last.is_weighted ? momentOf(events) : null;
  // Most days have one event, which needs no arithmetic.
  if (events.length === 1 || last.quantity === null) {
    return { last, events: events.length, sum: last.quantity, max: last.quantity, moment };
  }
  const quantities = events.map(quantityOf);
  const sum = formatDecimal(quantities.reduce(add));
  return { last, events: events.length, sum, max: formatDecimal(quantities.reduce(max)), moment };
}

/** The quantity of an event. All events of a metric have one, or none has. */
function quantityOf({ quantity }: CountedEvent): Decimal {
  return decimal(quantity ?? "0");
}

function momentOf(events: readonly CountedEvent[]): string {
  const moments = events.map((event) =>
    multiply(quantityOf(event), integer(event.at.getTime() % DAY_MS)),
  );
  return formatDecimal(moments.reduce(add));
}
