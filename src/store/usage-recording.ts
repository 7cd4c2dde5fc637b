// Writes usage events by one call of the database's function `record_usage`, which also adds them
// to the daily sums that periods are billed from, so that the two cannot differ.

import { instantTexts } from "../domain/dates.ts";
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

/** Stores the events with new keys and adds those alone to the sums. Returns the new keys. */
export async function record(
  tx: Tx,
  project: ProjectId,
  events: readonly EventRow[],
): Promise<ReadonlySet<string>> {
  if (events.length === 0) return new Set();
  const { repeated } = await tx.one<Recorded>(recording(project, events, unchecked(events), false));
  return newKeys(events, repeated ?? []);
}

/** The same, if all is still as expected; else nothing is stored and undefined returned. */
export async function recordIfUnchanged(
  db: Db,
  project: ProjectId,
  events: readonly EventRow[],
  expected: Expected,
): Promise<ReadonlySet<string> | undefined> {
  const [row] = await db.alone<Recorded>(recording(project, events, expected, true));
  return row?.repeated ? newKeys(events, row.repeated) : undefined;
}

type Recorded = { readonly repeated: readonly string[] | null };

function newKeys(events: readonly EventRow[], repeated: readonly string[]): ReadonlySet<string> {
  const keys = new Set(events.map((event) => event.key));
  for (const key of repeated) keys.delete(key);
  return keys;
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
  const texts: Texts = {
    subscription: placesOf(subscription.ids),
    metric: placesOf(metric.ids),
    instant: instantTexts(),
  };
  const rows = events.map((event) => rowJson(event, texts));
  return sql`
    select record_usage(${project}, ${checked}, ${locks}::integer[], ${subscription.ids}::uuid[],
                        ${subscription.versions}::bigint[], ${metric.ids}::uuid[],
                        ${metric.versions}::bigint[], ${closing_until}::timestamptz,
                        ${`[${rows.join(",")}]`}::json, ${sumsJson(events, texts)}::json,
                        ${events.length}::integer) as repeated`;
}

/** How rows name subscriptions and metrics, by the places of the ids from 1 on, and instants. */
type Texts = {
  readonly subscription: ReadonlyMap<string, number>;
  readonly metric: ReadonlyMap<string, number>;
  readonly instant: (at: Date) => string;
};

function inOrder(versions: ReadonlyMap<string, string>): { ids: string[]; versions: string[] } {
  const ids = [...versions.keys()].sort();
  return { ids, versions: ids.map((id) => versions.get(id) ?? "") };
}

function placesOf(ids: readonly string[]): Map<string, number> {
  return new Map(ids.map((id, i) => [id, i + 1]));
}

/** What they add to the days; which distinct values are new, the database alone knows. */
function sumsJson(events: readonly EventRow[], texts: Texts): string | null {
  if (events.some((event) => event.unique_value !== null)) return null;
  const sums = daySums(events.filter(isBillable));
  return `[${sums.map((sum) => sumJson(sum, texts)).join(",")}]`;
}

function isBillable({ unbillable }: EventRow): boolean {
  return unbillable === null;
}

function sumJson({ last, events, sum, max, moment }: DaySum, texts: Texts): string {
  const { subscription_id, period_no, metric_id, combination, quantity } = last;
  const last_at = texts.instant(last.at);
  let text =
    `{"subscription":${texts.subscription.get(subscription_id)},"period_no":${period_no},` +
    `"metric":${texts.metric.get(metric_id)},"day":"${last_at.slice(0, 10)}",` +
    `"events":${events},"last_at":"${last_at}","last_arrival":${last.arrival}`;
  if (combination !== null) text += `,"combination":${JSON.stringify(combination)}`;
  if (sum !== null) text += `,"sum":"${formatDecimal(sum)}"`;
  if (max !== null) text += `,"max":"${formatDecimal(max)}"`;
  if (quantity !== null) text += `,"latest":"${quantity}"`;
  if (moment !== null) text += `,"moment":"${formatDecimal(moment)}"`;
  return `${text}}`;
}

/**
 * Written by hand, at half the cost of `JSON.stringify` for the whole row, which was the most
 * expensive of our own functions. Ids, numbers and instants need no escaping; nulls are left out.
 */
function rowJson(row: EventRow, texts: Texts): string {
  const { transaction_id, quantity, unique_value, value, properties, unbillable } = row;
  let text =
    `{"key":"${row.key}","subscription":${texts.subscription.get(row.subscription_id)},` +
    `"metric":${texts.metric.get(row.metric_id)},"period_no":${row.period_no},` +
    `"at":"${texts.instant(row.at)}","received_at":"${texts.instant(row.received_at)}",` +
    `"arrival":${row.arrival}`;
  if (transaction_id !== null) text += `,"transaction_id":${JSON.stringify(transaction_id)}`;
  if (quantity !== null) text += `,"quantity":"${quantity}"`;
  if (unique_value !== null) text += `,"unique_value":"${unique_value}"`;
  if (value !== null) text += `,"value":${JSON.stringify(value)}`;
  if (properties !== null) text += `,"properties":${JSON.stringify(properties)}`;
  if (unbillable !== null) text += `,"unbillable":"${unbillable}"`;
  if (row.combination !== null) text += `,"combination":${JSON.stringify(row.combination)}`;
  return `${text}}`;
}
