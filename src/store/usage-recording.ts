// Writes usage events by one call of the database's function `record_usage`, which also adds them
// to the daily sums that periods are billed from, so that the two cannot differ.

import { type DaySum, daySums } from "../domain/day-sums.ts";
import { formatDecimal } from "../domain/decimal.ts";
import type { Unbillable } from "../schema/events.ts";
import type { Db, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type EventRow = {
  readonly key: string;
  /** Null when the key is the transaction_id itself. */
  readonly transaction_id: string | null;
  readonly subscription_id: string;
  readonly metric_id: string;
  readonly period_no: number;
  readonly at: Date;
  readonly received_at: Date;
  readonly arrival: number;
  readonly quantity: string | null;
  readonly unique_value: string | null;
  readonly value: string | null;
  readonly properties: Record<string, unknown> | null;
  readonly unbillable: Unbillable | null;
  /** Of a metric with dimensions: the JSON list of their values. */
  readonly combination: string | null;
  /** Of a weighted sum. */
  readonly is_weighted: boolean;
};

/** What a write counts on: versions by row id, the cutoff, and the locks that keep them as is. */
export type Expected = {
  readonly locks: readonly number[];
  readonly subscriptions: ReadonlyMap<string, string>;
  readonly metrics: ReadonlyMap<string, string>;
  readonly closing_until: Date | null;
};

/** What a key was first stored with, to tell a repeat from a different event. */
export type StoredEvent = Pick<
  EventRow,
  "key" | "subscription_id" | "metric_id" | "at" | "value" | "properties"
>;
export type StoredEvents = ReadonlyMap<string, StoredEvent>;

/** Stores the events with new keys, adds those alone to the sums, and returns the others' first. */
export async function record(
  tx: Tx,
  project: ProjectId,
  events: readonly EventRow[],
): Promise<StoredEvents> {
  if (events.length === 0) return new Map();
  const { repeated } = await tx.one<Recorded>(recording(project, events, unchecked(events), false));
  return byKey(repeated ?? []);
}

/** The same, if all is still as expected; else nothing is stored and undefined returned. */
export async function recordIfUnchanged(
  db: Db,
  project: ProjectId,
  events: readonly EventRow[],
  expected: Expected,
): Promise<StoredEvents | undefined> {
  const [row] = await db.alone<Recorded>(recording(project, events, expected, true));
  return row?.repeated ? byKey(row.repeated) : undefined;
}

/** Instants come as text within JSON. */
type Repeated = Omit<StoredEvent, "at"> & { readonly at: string };
type Recorded = { readonly repeated: readonly Repeated[] | null };

function byKey(repeated: readonly Repeated[]): StoredEvents {
  return new Map(repeated.map((row) => [row.key, { ...row, at: new Date(row.at) }]));
}

/** With the ids that they name, and versions that nobody looks at. */
function unchecked(events: readonly EventRow[]): Expected {
  return {
    locks: [],
    subscriptions: new Map(events.map(({ subscription_id }) => [subscription_id, "0"])),
    metrics: new Map(events.map(({ metric_id }) => [metric_id, "0"])),
    closing_until: null,
  };
}

/** One call, which a cluster hands to the node that has the project. */
function recording(
  project: ProjectId,
  events: readonly EventRow[],
  { locks, subscriptions, metrics, closing_until }: Expected,
  checked: boolean,
): Sql {
  const [subscription, metric] = [inOrder(subscriptions), inOrder(metrics)];
  const places = { subscription: placesOf(subscription.ids), metric: placesOf(metric.ids) };
  const column = (pick: Picked) => arrayText(events.map(pick));
  const shared = (pick: Picked) => sharedText(events.map(pick));
  return sql`
    select record_usage(
      ${project}, ${checked}, ${locks}::integer[], ${subscription.ids}::uuid[],
      ${subscription.versions}::bigint[], ${metric.ids}::uuid[], ${metric.versions}::bigint[],
      ${closing_until}::timestamptz,
      ${column(({ key }) => key)},
      ${column(({ transaction_id }) => quoted(transaction_id))},
      ${shared(({ subscription_id }) => places.subscription.get(subscription_id))},
      ${shared(({ metric_id }) => places.metric.get(metric_id))},
      ${shared(({ period_no }) => period_no)},
      ${shared(({ at }) => at.getTime())},
      ${shared(({ received_at }) => received_at.getTime())},
      ${arrivalsText(events)},
      ${column(({ quantity }) => quantity)},
      ${column(({ unique_value }) => unique_value)},
      ${column(({ value }) => quoted(value))},
      ${column(({ properties }) => quotedJson(properties))},
      ${column(({ unbillable }) => unbillable)},
      ${column(({ combination }) => quoted(combination))},
      ${events.length}::integer, ${sumsJson(events, places)}::json) as repeated`;
}

/** The places of ids in their list, from 1 on: each id is sent once. */
type Places = {
  readonly subscription: ReadonlyMap<string, number>;
  readonly metric: ReadonlyMap<string, number>;
};

function inOrder(versions: ReadonlyMap<string, string>): { ids: string[]; versions: string[] } {
  const ids = [...versions.keys()].sort();
  return { ids, versions: ids.map((id) => versions.get(id) ?? "") };
}

function placesOf(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, i) => [id, i + 1]));
}

type Value = string | number | null | undefined;
type Picked = (event: EventRow) => Value;

/** The column as PostgreSQL writes an array; empty when no event has a value. */
function arrayText(values: readonly Value[]): string {
  return values.some(isGiven) ? `{${values.map(textOf).join(",")}}` : "{}";
}

function isGiven(value: Value): boolean {
  return value !== null && value !== undefined;
}

function textOf(value: Value): string {
  return isGiven(value) ? String(value) : "null";
}

/** A column that every event has: one value, when they all have the same. */
function sharedText(values: readonly Value[]): string {
  const isShared = values.every((value) => value === values[0]);
  return arrayText(isShared ? values.slice(0, 1) : values);
}

/** The first alone, when they count up from it. */
function arrivalsText(events: readonly EventRow[]): string {
  const arrivals = events.map(({ arrival }) => arrival);
  const [first = 0] = arrivals;
  const countUp = arrivals.every((arrival, i) => arrival === first + i);
  return arrayText(countUp ? arrivals.slice(0, 1) : arrivals);
}

function quoted(text: string | null): string | null {
  return text === null ? null : `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** JSON has its control characters escaped, so that quoting it again escapes what arrays need. */
function quotedJson(value: Record<string, unknown> | null): string | null {
  return value === null ? null : JSON.stringify(JSON.stringify(value));
}

/** What they add to the days; which distinct values are new, the database alone knows. */
function sumsJson(events: readonly EventRow[], places: Places): string | null {
  if (events.some((event) => event.unique_value !== null)) return null;
  const sums = daySums(events.filter(isBillable));
  return JSON.stringify(sums.map((sum) => sumRow(sum, places)));
}

function isBillable({ unbillable }: EventRow): boolean {
  return unbillable === null;
}

function sumRow({ last, events, sum, max, moment }: DaySum, { subscription, metric }: Places) {
  const last_at = last.at.toISOString();
  return {
    subscription: subscription.get(last.subscription_id),
    period_no: last.period_no,
    metric: metric.get(last.metric_id),
    combination: last.combination ?? undefined,
    day: last_at.slice(0, 10),
    events,
    sum: sum && formatDecimal(sum),
    max: max && formatDecimal(max),
    latest: last.quantity,
    last_at,
    last_arrival: last.arrival,
    moment: moment ? formatDecimal(moment) : undefined,
  };
}
