// Usage events as sent. One call of the database's function `record_usage` writes them and adds
// them to the daily sums that periods are billed from, so that the two cannot differ.

import type { Interval } from "../domain/periods.ts";
import { canonicalUuid, digestId } from "../ids.ts";
import type { Unbillable, UsageEvent } from "../schema/events.ts";
import type { Metric } from "../schema/metrics.ts";
import type { Db, Queryable, Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { type Sql, sql } from "./sql.ts";
import { DUE_AT } from "./subscriptions.ts";
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
};

/**
 * A UUID is its own key, which keeps time-ordered ids in order; other text becomes a digest, in the
 * shape of a UUID of version 8. One of that version is digested too, so that no id can be made that
 * has another's key.
 */
export function usageKey(transaction_id: string): string {
  const isKey = canonicalUuid(transaction_id) === transaction_id && transaction_id[14] !== "8";
  return isKey ? transaction_id : digestId(transaction_id, "uuid v8");
}

/** What recording needs of a subscription to place an event in its period. */
export type UsageSubscription = {
  readonly id: string;
  /** Differs after each change of the row. */
  readonly version: string;
  readonly external_id: string;
  readonly live: boolean;
  readonly started_at: Date;
  readonly terminated_at: Date | null;
  readonly period_no: number;
  readonly current_period_start: Date;
  readonly current_period_next: Date;
  /** When its start, its end or the end of the period is due. */
  readonly due_at: Date;
  readonly ends_at: Date | null;
  /** Of the periods that follow the open one. */
  readonly interval: Interval;
  readonly anchor_date: string | null;
  /** Of the open one. */
  readonly open_interval: Interval;
  readonly in_trial: boolean;
  readonly currency: string;
  /** What one unit costs at most in the open period, by metric, in the currency's main unit. */
  readonly rates: Readonly<Record<string, string>>;
};

export type UsageMetric = Metric & { readonly version: string };

/** By id or external_id; of several with one external_id the live one comes last. */
export function listSubscriptions(
  db: Queryable,
  project: ProjectId,
  refs: { ids: readonly string[]; external_ids: readonly string[] },
) {
  const columns = sql`
         s.id, s.revision::text as version, s.external_id,
         s.status in ('pending', 'active', 'suspended') as live, s.started_at, s.terminated_at,
         s.period_no, s.current_period_start, s.current_period_next, ${DUE_AT} as due_at,
         s.ends_at, s.anchor_date, s.in_trial, p.interval as open_interval,
         coalesce((select n.interval
                     from plans n
                    where n.project_id = ${project} and n.id = s.scheduled_plan_id),
                  p.interval) as interval,
         p.amount_currency as currency,
         coalesce((select jsonb_object_agg(r.metric_id, r.rate)
                     from (select c ->> 'metric_id' as metric_id,
                                  max(coalesce(c ->> 'highest_rate', c ->> 'rate')::numeric)::text
                                    as rate
                             from jsonb_array_elements(v.charges) c
                            where coalesce(c ->> 'highest_rate', c ->> 'rate') is not null
                            group by c ->> 'metric_id') r), '{}') as rates`;
  const table = sql`subscriptions s
      join plans p on p.project_id = ${project} and p.id = s.plan_id
      join plan_versions v on v.project_id = ${project} and v.plan_id = s.plan_id
       and v.version = s.plan_version`;
  if (refs.external_ids.length === 0) {
    return db.many<UsageSubscription>(sql`
      select ${columns}
        from ${table}
       where s.project_id = ${project} and s.id = any(${refs.ids}::uuid[])`);
  }
  return db.many<UsageSubscription>(sql`
    select ${columns}
      from ${table}
     where s.project_id = ${project}
       and (s.id = any(${refs.ids}::uuid[]) or s.external_id = any(${refs.external_ids}::text[]))
     order by live, s.id`);
}

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
  const metrics = new Map(events.map(({ metric_id }) => [metric_id, "0"]));
  const unchecked = { locks: [], subscriptions: NOTHING, metrics, closing_until: null };
  const { repeated } = await tx.one<Recorded>(recording(project, events, unchecked, false));
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

/** One call, which a cluster hands to the node that has the project. */
function recording(
  project: ProjectId,
  events: readonly EventRow[],
  { locks, subscriptions, metrics, closing_until }: Expected,
  checked: boolean,
): Sql {
  const hasUniqueValues = events.some((event) => event.unique_value !== null);
  const received = instantTexts();
  const rows = events.map((event) => rowJson(event, received(event.received_at)));
  return sql`
    select record_usage(${project}, ${checked}, ${locks}::integer[],
                        ${[...subscriptions.keys()]}::uuid[],
                        ${[...subscriptions.values()]}::bigint[], ${[...metrics.keys()]}::uuid[],
                        ${[...metrics.values()]}::bigint[], ${closing_until}::timestamptz,
                        ${`[${rows.join(",")}]`}::json, ${events.length}::integer,
                        ${hasUniqueValues}) as repeated`;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/** Events that are written together came in together, and the text of an instant takes 0.7 µs. */
function instantTexts(): (at: Date) => string {
  let last_ms: number | undefined;
  let text = "";
  return (at) => {
    if (at.getTime() !== last_ms) text = at.toISOString();
    last_ms = at.getTime();
    return text;
  };
}

/**
 * Written by hand, at half the cost of `JSON.stringify` for the whole row, which was the most
 * expensive of our own functions. Ids, numbers and instants need no escaping; nulls are left out.
 */
function rowJson(row: EventRow, received_at: string): string {
  const { transaction_id, quantity, unique_value, value, properties, unbillable } = row;
  let text =
    `{"key":"${row.key}","subscription_id":"${row.subscription_id}",` +
    `"metric_id":"${row.metric_id}","period_no":${row.period_no},"at":"${row.at.toISOString()}",` +
    `"received_at":"${received_at}","arrival":${row.arrival}`;
  if (transaction_id !== null) text += `,"transaction_id":${JSON.stringify(transaction_id)}`;
  if (quantity !== null) text += `,"quantity":"${quantity}"`;
  if (unique_value !== null) text += `,"unique_value":"${unique_value}"`;
  if (value !== null) text += `,"value":${JSON.stringify(value)}`;
  if (properties !== null) text += `,"properties":${JSON.stringify(properties)}`;
  if (unbillable !== null) text += `,"unbillable":"${unbillable}"`;
  if (row.combination !== null) text += `,"combination":${JSON.stringify(row.combination)}`;
  return `${text}}`;
}

export type StoredEvent = Pick<
  EventRow,
  "key" | "subscription_id" | "metric_id" | "at" | "value" | "properties"
>;

/** What was stored under these keys before, to tell a repeat from a different event. */
export function listByKey(db: Queryable, project: ProjectId, keys: readonly string[]) {
  return db.many<StoredEvent>(sql`
    select key, subscription_id, metric_id, at, value, properties
      from usage_events
     where project_id = ${project} and key = any(${keys}::uuid[])`);
}

export type EventFilter = {
  readonly subscription_id?: string;
  readonly metric_id?: string;
  readonly state?: "billable" | "unbillable";
  readonly from?: Date;
  readonly to?: Date;
};

const EVENT_COLUMNS: Sql = sql`coalesce(e.transaction_id, e.key::text) as transaction_id,
  e.subscription_id, m.code, e.value, e.at as timestamp, coalesce(e.properties, '{}') as properties,
  e.received_at, case when e.unbillable is null then 'billable' else 'unbillable' end as state,
  e.unbillable as reason`;
function joinMetric(project: ProjectId): Sql {
  return sql`
      join metrics m on m.project_id = ${project} and m.id = e.metric_id`;
}

export function list(db: Queryable, project: ProjectId, filter: EventFilter, request: PageRequest) {
  const where: Sql[] = [sql`e.project_id = ${project}`];
  if (filter.subscription_id) where.push(sql`e.subscription_id = ${filter.subscription_id}`);
  if (filter.metric_id) where.push(sql`e.metric_id = ${filter.metric_id}`);
  if (filter.state === "billable") where.push(sql`e.unbillable is null`);
  if (filter.state === "unbillable") where.push(sql`e.unbillable is not null`);
  if (filter.from) where.push(sql`e.at >= ${filter.from}`);
  if (filter.to) where.push(sql`e.at < ${filter.to}`);
  return page<UsageEvent>(
    db,
    {
      columns: EVENT_COLUMNS,
      from: sql`usage_events e`,
      joined: joinMetric(project),
      where,
      project: sql`e.project_id`,
      order: [
        { column: sql`e.at`, type: sql`timestamptz` },
        { column: sql`e.key`, type: sql`uuid` },
      ],
    },
    request,
  );
}

/** Compares the text too: a digest looks like a UUID, and a caller may have sent that very UUID. */
export function getByTransaction(db: Queryable, project: ProjectId, transaction_id: string) {
  return db.maybeOne<UsageEvent>(sql`
    select ${EVENT_COLUMNS}
      from usage_events e ${joinMetric(project)}
     where e.project_id = ${project} and e.key = ${usageKey(transaction_id)}
       and coalesce(e.transaction_id, e.key::text) = ${transaction_id}`);
}
