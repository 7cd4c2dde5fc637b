// Usage events as sent: what is looked up to record one, and what is read of those that are stored.

import type { Interval } from "../../domain/periods.ts";
import { canonicalUuid, digestId, type ProjectId } from "../../ids.ts";
import type { UsageEvent } from "../../schema/events.ts";
import type { Metric } from "../../schema/metrics.ts";
import type { Queryable } from "../db/db.ts";
import {
  type Apart,
  firstOf,
  type PageRequest,
  type PageResult,
  type Position,
  page,
} from "../db/page.ts";
import { join, type Sql, sql } from "../db/sql.ts";
import { DUE_AT, NOT_ENDED } from "../subscriptions/subscriptions.ts";

/**
 * The key that an event is stored under. A UUID is its own key, which keeps time-ordered ids in
 * order; other text becomes a digest, in the shape of a UUID of version 8. A UUID of that version
 * is digested too, so that nobody can make an id that has another's key.
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
  readonly has_ended: boolean;
  /** Whether its start is to come. */
  readonly pending: boolean;
  readonly started_at: Date;
  readonly terminated_at: Date | null;
  readonly period_no: number;
  readonly current_period_start: Date;
  readonly current_period_next: Date;
  /** When its start, its end or the end of the period is due. */
  readonly due_at: Date;
  readonly ends_at: Date | null;
  /** The interval of the periods that follow the open one. */
  readonly interval: Interval;
  readonly anchor_date: string | null;
  /** The interval of the open period. */
  readonly open_interval: Interval;
  readonly in_trial: boolean;
  readonly currency: string;
  /** What one unit costs at most in the open period, by metric, in the currency's main unit. */
  readonly rates: Readonly<Record<string, string>>;
};

export type UsageMetric = Metric & { readonly version: string };

/** Subscriptions by id or external_id; of several with one external_id the ended come first. */
export function listSubscriptions(
  db: Queryable,
  project: ProjectId,
  refs: { ids: readonly string[]; external_ids: readonly string[] },
) {
  const columns = sql`
         s.id, s.revision::text as version, s.external_id,
         not ${NOT_ENDED} as has_ended, s.status = 'pending' as pending,
         s.started_at, s.terminated_at, s.period_no, s.current_period_start, s.current_period_next,
         ${DUE_AT} as due_at, s.ends_at, s.anchor_date, s.in_trial, p.interval as open_interval,
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
     order by has_ended desc, s.id`);
}

export type EventFilter = {
  readonly subscription_id?: string;
  readonly metric_id?: string;
  readonly state?: "billable" | "unbillable";
  readonly from?: Date;
  readonly to?: Date;
};

/**
 * Whether the event `e` is of a period that was ended without a bill. Its sums stay, as they are a
 * part of the levels behind it; so such events are not marked one by one.
 */
function isCanceled(project: ProjectId): Sql {
  return sql`exists (
         select 1
           from closed_periods c
          where c.project_id = ${project} and c.subscription_id = e.subscription_id
            and c.period_no = e.period_no and not c.billable)`;
}

export function eventColumns(project: ProjectId): Sql {
  const reason = sql`coalesce(e.unbillable, case when ${isCanceled(project)} then 'canceled' end)`;
  return sql`coalesce(e.transaction_id, e.key::text) as transaction_id,
  e.subscription_id, n.external_id as subscription_external_id, m.code, e.value,
  e.at as timestamp, coalesce(e.properties, '{}') as properties,
  e.received_at, case when ${reason} is null then 'billable' else 'unbillable' end as state,
  ${reason} as reason`;
}

/**
 * Events never billed: marked ones, which have an index, and those of periods without a bill. The
 * first rows of each are enough for a page: of both together PostgreSQL would sort all. Periods
 * without a bill are few and lead to theirs; events of one that has none would all be looked at.
 */
function unbillableEvents(project: ProjectId, where: readonly Sql[], most?: number): Sql {
  const conditions = join(where, " and ");
  const first = (all: Sql) =>
    most === undefined ? all : firstOf(sql`${all} order by e.at desc, e.key desc`, most);
  const marked = sql`
    select e.*
      from usage_events e
     where ${conditions} and e.unbillable is not null`;
  const ofPeriod = sql`
    select e.*
      from usage_events e
     where ${conditions} and e.subscription_id = c.subscription_id and e.period_no = c.period_no
       and e.unbillable is null`;
  const canceled = sql`
    select e.*
      from closed_periods c
     cross join lateral (${first(ofPeriod)}) e
     where c.project_id = ${project} and not c.billable`;
  return sql`((${first(marked)}) union all (${first(canceled)})) e`;
}

export function joinNames(project: ProjectId): Sql {
  return sql`
      join metrics m on m.project_id = ${project} and m.id = e.metric_id
      join subscriptions n on n.project_id = ${project} and n.id = e.subscription_id`;
}

/**
 * The metrics that a subscription ever had events of, found by one look into the index for each.
 * That index has the metric before the instant: whoever asks for a span of time names these.
 */
export function metricsOf(project: ProjectId, subscription: Sql): Sql {
  return sql`
      with recursive used (metric_id) as (
        (select u.metric_id
           from usage_events u
          where u.project_id = ${project} and u.subscription_id = ${subscription}
          order by u.metric_id
          limit 1)
         union all
        select (select u.metric_id
                  from usage_events u
                 where u.project_id = ${project} and u.subscription_id = ${subscription}
                   and u.metric_id > used.metric_id
                 order by u.metric_id
                 limit 1)
          from used
         where used.metric_id is not null)
      select metric_id
        from used
       where metric_id is not null`;
}

export async function listMetricsOf(
  db: Queryable,
  project: ProjectId,
  subscription_id: string,
): Promise<string[]> {
  const rows = await db.many<{ metric_id: string }>(metricsOf(project, sql`${subscription_id}`));
  return rows.map(({ metric_id }) => metric_id);
}

/** What all lists filter by; neither the subscription nor the reasons of those never billed. */
export function filtered(project: ProjectId, filter: EventFilter): Sql[] {
  const where: Sql[] = [sql`e.project_id = ${project}`];
  if (filter.metric_id) where.push(sql`e.metric_id = ${filter.metric_id}`);
  if (filter.state === "billable") {
    where.push(sql`e.unbillable is null`, sql`not ${isCanceled(project)}`);
  }
  if (filter.from) where.push(sql`e.at >= ${filter.from}`);
  if (filter.to) where.push(sql`e.at < ${filter.to}`);
  return where;
}

/** Newest first: of one subscription, or those never billed. */
export async function list(
  db: Queryable,
  project: ProjectId,
  filter: EventFilter,
  request: PageRequest,
): Promise<PageResult<UsageEvent>> {
  const { subscription_id, metric_id } = filter;
  const where = filtered(project, filter);
  if (subscription_id) where.push(sql`e.subscription_id = ${subscription_id}`);
  const source = {
    columns: eventColumns(project),
    joined: joinNames(project),
    where,
    project: sql`e.project_id`,
    order: ORDER,
  };
  if (filter.state === "unbillable") {
    const { after: [at, key] = [], offset, limit } = request;
    const behind = sql`(e.at, e.key) < (${at ?? null}::timestamptz, ${key ?? null}::uuid)`;
    const rest = at === undefined ? where : [...where, behind];
    const from = unbillableEvents(project, rest, offset + limit + 1);
    const counted = unbillableEvents(project, where);
    return page<UsageEvent>(db, { ...source, from, counted }, request);
  }
  if (subscription_id === undefined) {
    throw new Error("Events of all subscriptions are listed by subscription.");
  }
  const from = sql`usage_events e`;
  const metrics = metric_id ? [metric_id] : await listMetricsOf(db, project, subscription_id);
  const apart = eachMetric(metrics);
  const { limit, offset, count, after } = request;
  const isSkipping = after === undefined && offset > 0 && metrics.length > 0;
  const asked = isSkipping
    ? { limit, offset: 0, count, after: await placeOf(db, where, metrics, offset) }
    : request;
  return page<UsageEvent>(db, { ...source, from, ...(!metric_id && { apart }) }, asked);
}

/**
 * The position of the event before an offset, counted over the index alone: that has the instant of
 * each event but not its key, which is looked up among those of the one instant.
 */
async function placeOf(
  db: Queryable,
  where: readonly Sql[],
  metrics: readonly string[],
  offset: number,
): Promise<Position> {
  const conditions = join(where, " and ");
  // One for each metric, which come merged in order: of all at once PostgreSQL would sort them.
  const instants = metrics.map(
    (metric) => sql`
          select e.at
            from usage_events e
           where ${conditions} and e.metric_id = ${metric}`,
  );
  const row = await db.maybeOne<{ at: string; key: string }>(sql`
    with last as (
      select at, rank() over (order by at desc) as first
        from (${join(instants, " union all ")}) each_metric
       order by at desc
       limit 1 offset ${offset - 1})
    select e.at::text, e.key::text
      from usage_events e
     where ${conditions} and e.metric_id = any(${metrics}::uuid[])
       and e.at = (select at from last)
     order by e.key desc
     limit 1 offset ${offset}::bigint - coalesce((select first from last), ${offset})`);
  return row === undefined ? BEFORE_ALL : [row.at, row.key];
}

const BEFORE_ALL: Position = ["-infinity", "00000000-0000-0000-0000-000000000000"];

const ORDER = [
  { column: sql`e.at`, type: sql`timestamptz` },
  { column: sql`e.key`, type: sql`uuid` },
];

function eachMetric(metrics: readonly string[]): Apart {
  return {
    values: sql`unnest(${metrics}::uuid[]) as v (metric_id)`,
    on: sql`e.metric_id = v.metric_id`,
    alias: sql`e`,
  };
}

/** The event of a transaction_id. Its text is compared too: a caller may have sent the digest. */
export function getByTransaction(db: Queryable, project: ProjectId, transaction_id: string) {
  return db.maybeOne<UsageEvent>(sql`
    select ${eventColumns(project)}
      from usage_events e ${joinNames(project)}
     where e.project_id = ${project} and e.key = ${usageKey(transaction_id)}
       and coalesce(e.transaction_id, e.key::text) = ${transaction_id}`);
}

/** The names by which these events named subscription and metric: neither ever changes. */
export async function listNames(
  db: Queryable,
  project: ProjectId,
  stored: readonly { readonly subscription_id: string; readonly metric_id: string }[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.many<{ id: string; name: string }>(sql`
    select id, external_id as name
      from subscriptions
     where project_id = ${project}
       and id = any(${stored.map(({ subscription_id }) => subscription_id)}::uuid[])
     union all
    select id, code
      from metrics
     where project_id = ${project}
       and id = any(${stored.map(({ metric_id }) => metric_id)}::uuid[])`);
  return new Map(rows.map(({ id, name }) => [id, name]));
}
