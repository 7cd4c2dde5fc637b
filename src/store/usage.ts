// Usage: the events as sent, and the daily sums that periods are billed from. One call of the
// database's function `record_usage` writes both, so that they cannot differ.

import type { UsageDay } from "../domain/aggregation.ts";
import { canonicalUuid, digestId } from "../ids.ts";
import type { Unbillable, UsageEvent } from "../schema/events.ts";
import type { Metric } from "../schema/metrics.ts";
import type { Db, Queryable, Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
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
  readonly arrival: string;
  readonly quantity: string | null;
  readonly unique_value: string | null;
  readonly value: string | null;
  readonly properties: Record<string, unknown> | null;
  readonly unbillable: Unbillable | null;
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
  readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
  readonly currency: string;
  /** What one unit costs in the open period, by metric, in the currency's main unit. */
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
         s.status in ('active', 'suspended') as live, s.started_at, s.terminated_at, s.period_no,
         s.current_period_start, s.current_period_next, p.interval, p.amount_currency as currency,
         coalesce((select jsonb_object_agg(r.metric_id, r.rate)
                     from (select c ->> 'metric_id' as metric_id,
                                  max((c ->> 'rate')::numeric)::text as rate
                             from jsonb_array_elements(v.charges) c
                            where c ->> 'rate' is not null
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
  const { repeated } = await tx.one<Recorded>(recording(project, events, undefined));
  return newKeys(events, repeated ?? []);
}

/** The same, if all is still as expected; else nothing is stored and undefined returned. */
export async function recordIfUnchanged(
  db: Db,
  project: ProjectId,
  events: readonly EventRow[],
  expected: Expected,
): Promise<ReadonlySet<string> | undefined> {
  const [row] = await db.alone<Recorded>(recording(project, events, expected));
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
  expected: Expected | undefined,
): Sql {
  const { locks = [], closing_until = null } = expected ?? {};
  const subscriptions = expected?.subscriptions ?? NOTHING;
  const metrics = expected?.metrics ?? NOTHING;
  const hasUniqueValues = events.some((event) => event.unique_value !== null);
  return sql`
    select record_usage(${project}, ${expected !== undefined}, ${locks}::integer[],
                        ${[...subscriptions.keys()]}::uuid[],
                        ${[...subscriptions.values()]}::bigint[], ${[...metrics.keys()]}::uuid[],
                        ${[...metrics.values()]}::bigint[], ${closing_until}::timestamptz,
                        ${`[${events.map(rowJson).join(",")}]`}::json,
                        ${hasUniqueValues}) as repeated`;
}

const NOTHING: ReadonlyMap<string, string> = new Map();

/**
 * Written by hand, at half the cost of `JSON.stringify` for the whole row, which was the most
 * expensive of our own functions. Ids, numbers and instants need no escaping; nulls are left out.
 */
function rowJson(row: EventRow): string {
  const { transaction_id, quantity, unique_value, value, properties, unbillable } = row;
  let text =
    `{"key":"${row.key}","subscription_id":"${row.subscription_id}",` +
    `"metric_id":"${row.metric_id}","period_no":${row.period_no},"at":"${row.at.toISOString()}",` +
    `"received_at":"${row.received_at.toISOString()}","arrival":${row.arrival}`;
  if (transaction_id !== null) text += `,"transaction_id":${JSON.stringify(transaction_id)}`;
  if (quantity !== null) text += `,"quantity":"${quantity}"`;
  if (unique_value !== null) text += `,"unique_value":"${unique_value}"`;
  if (value !== null) text += `,"value":${JSON.stringify(value)}`;
  if (properties !== null) text += `,"properties":${JSON.stringify(properties)}`;
  if (unbillable !== null) text += `,"unbillable":"${unbillable}"`;
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

export type PeriodRef = { readonly subscription_id: string; readonly period_no: number };
export type PeriodUsage = PeriodRef & UsageDay & { readonly metric_id: string };

/**
 * The usage of whole periods, one row a metric; a period may be named twice. `latest` is looked up
 * only for metrics that bill by it and is null for others: sorting the days of every metric for it
 * made this the most expensive statement of a close.
 */
export function totals(db: Queryable, project: ProjectId, periods: readonly PeriodRef[]) {
  return db.many<PeriodUsage>(sql`
    with total as (
      select d.subscription_id, d.period_no, d.metric_id, sum(d.events) as events,
             sum(d.sum) as sum, max(d.max) as max, sum(d.uniques) as uniques,
             max(d.last_at) as last_at
        from usage_days d
        join (select distinct *
                from unnest(${periods.map((period) => period.subscription_id)}::uuid[],
                            ${periods.map((period) => period.period_no)}::integer[])
                     as n (subscription_id, period_no)) w
          on w.subscription_id = d.subscription_id and w.period_no = d.period_no
       where d.project_id = ${project}
       group by d.subscription_id, d.period_no, d.metric_id)
    select t.subscription_id, t.period_no, t.metric_id, t.events::bigint as events,
           t.sum::text as sum, t.max::text as max, t.uniques::bigint as uniques, t.last_at,
           '0' as last_arrival,
           case when m.aggregation_type = 'latest' then (
             select d.latest::text
               from usage_days d
              where d.project_id = ${project} and d.subscription_id = t.subscription_id
                and d.period_no = t.period_no and d.metric_id = t.metric_id
              order by d.last_at desc, d.last_arrival desc
              limit 1) end as latest
      from total t
      join metrics m on m.project_id = ${project} and m.id = t.metric_id`);
}

/** The same from the events themselves, leaving out those at or after `end`. */
export function totalsBefore(db: Queryable, project: ProjectId, period: PeriodRef, end: Date) {
  return db.many<PeriodUsage>(sql`
    select subscription_id, period_no, metric_id, count(*) as events, sum(quantity)::text as sum,
           max(quantity)::text as max, count(distinct unique_value) as uniques,
           (array_agg(quantity::text order by at desc, arrival desc))[1] as latest,
           max(at) as last_at, '0' as last_arrival
      from usage_events
     where project_id = ${project} and subscription_id = ${period.subscription_id}
       and period_no = ${period.period_no} and at < ${end} and unbillable is null
     group by subscription_id, period_no, metric_id`);
}

export type UsageDayRow = UsageDay & { readonly metric_id: string; readonly day: string };

export function listDays(db: Queryable, project: ProjectId, period: PeriodRef) {
  return db.many<UsageDayRow>(sql`
    select metric_id, day, events, sum::text as sum, max::text as max, latest::text as latest,
           uniques, last_at, last_arrival::text as last_arrival
      from usage_days
     where project_id = ${project} and subscription_id = ${period.subscription_id}
       and period_no = ${period.period_no}
     order by metric_id, day`);
}

/** Whether events at or after the end are in the sums: they may be sent ahead of their time. */
export async function hasUsageFrom(
  db: Queryable,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (
      select 1
        from usage_days
       where project_id = ${project} and subscription_id = ${period.subscription_id}
         and (period_no > ${period.period_no}
              or (period_no = ${period.period_no} and last_at >= ${end}))) as found`);
  return found;
}

/** Marks events at or after the end as never billed, and makes the sums again from the rest. */
export async function cutAt(
  tx: Tx,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<void> {
  const { subscription_id, period_no } = period;
  await tx.run(sql`
    update usage_events
       set unbillable = 'after_termination'
     where project_id = ${project} and subscription_id = ${subscription_id} and at >= ${end}
       and unbillable is null`);
  await removeSums(tx, project, period);
  await tx.run(sql`
    insert into usage_uniques (project_id, subscription_id, period_no, metric_id, unique_value, day)
    select distinct on (e.project_id, e.metric_id, e.unique_value)
           e.project_id, e.subscription_id, e.period_no, e.metric_id, e.unique_value, ${DAY}
      from usage_events e
     where e.project_id = ${project} and e.subscription_id = ${subscription_id}
       and e.period_no = ${period_no} and e.unbillable is null and e.unique_value is not null
     order by e.project_id, e.metric_id, e.unique_value, e.arrival`);
  await tx.run(sql`
    insert into usage_days (project_id, subscription_id, period_no, metric_id, day, events, sum,
                            max, latest, uniques, last_at, last_arrival)
    select e.project_id, e.subscription_id, e.period_no, e.metric_id, ${DAY}, count(*),
           sum(e.quantity), max(e.quantity),
           (array_agg(e.quantity order by e.at desc, e.arrival desc))[1],
           coalesce(min(u.uniques), 0), max(e.at),
           (array_agg(e.arrival order by e.at desc, e.arrival desc))[1]
      from usage_events e
      left join (select u.metric_id, u.day, count(*) as uniques
                   from usage_uniques u
                  where u.project_id = ${project} and u.subscription_id = ${subscription_id}
                    and u.period_no = ${period_no}
                  group by u.metric_id, u.day) u
        on u.metric_id = e.metric_id and u.day = ${DAY}
     where e.project_id = ${project} and e.subscription_id = ${subscription_id}
       and e.period_no = ${period_no} and e.unbillable is null
     group by e.project_id, e.subscription_id, e.period_no, e.metric_id, ${DAY}`);
}

/** The UTC day of an event. */
const DAY: Sql = sql`(e.at at time zone 'UTC')::date`;

async function removeSums(tx: Tx, project: ProjectId, from: PeriodRef): Promise<void> {
  await tx.run(sql`
    delete from usage_days
     where project_id = ${project} and subscription_id = ${from.subscription_id}
       and period_no >= ${from.period_no}`);
  await tx.run(sql`
    delete from usage_uniques
     where project_id = ${project} and subscription_id = ${from.subscription_id}
       and period_no >= ${from.period_no}`);
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
function eventTable(project: ProjectId): Sql {
  return sql`usage_events e
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
      from: eventTable(project),
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
      from ${eventTable(project)}
     where e.project_id = ${project} and e.key = ${usageKey(transaction_id)}
       and coalesce(e.transaction_id, e.key::text) = ${transaction_id}`);
}
