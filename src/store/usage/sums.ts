// The daily sums of usage that periods are billed from: read for a close, and made again from the
// events when a period is cut or the schedule changes.

import { startOfDay, utcDate } from "../../domain/dates.ts";
import type { MetricUsage } from "../../domain/usage-fees.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Sql, sql } from "../db/sql.ts";
import { listMetricsOf } from "./events.ts";

export type PeriodRef = { readonly subscription_id: string; readonly period_no: number };
export type PeriodUsage = PeriodRef & MetricUsage;

/**
 * The usage of whole periods, one row a metric or combination; a period may be named twice.
 * `latest` is looked up only for metrics that bill by it and is null for others: sorting the days
 * of every metric for it made this the most expensive statement of a close. The sums of
 * combinations are looked at only in projects that have a metric with dimensions.
 */
export function totals(db: Queryable, project: ProjectId, periods: readonly PeriodRef[]) {
  return db.many<PeriodUsage>(sql`
    with wanted as (
      select distinct *
        from unnest(${periods.map((period) => period.subscription_id)}::uuid[],
                    ${periods.map((period) => period.period_no)}::integer[])
             as n (subscription_id, period_no)),
    total as (
      select d.subscription_id, d.period_no, d.metric_id, sum(d.events) as events,
             sum(d.sum) as sum, max(d.max) as max, sum(d.uniques) as uniques,
             max(d.last_at) as last_at, sum(${MOMENT}) as moment
        from usage_days d
        join wanted w
          on w.subscription_id = d.subscription_id and w.period_no = d.period_no
       where d.project_id = ${project}
       group by d.subscription_id, d.period_no, d.metric_id)
    select t.subscription_id, t.period_no, t.metric_id, null as combination,
           t.events::bigint as events, t.sum::text as sum, t.max::text as max,
           t.uniques::bigint as uniques, t.last_at, '0' as last_arrival,
           case when m.aggregation_type = 'latest' then (
             select d.latest::text
               from usage_days d
              where d.project_id = ${project} and d.subscription_id = t.subscription_id
                and d.period_no = t.period_no and d.metric_id = t.metric_id
              order by d.last_at desc, d.last_arrival desc
              limit 1) end as latest,
           t.moment::text as moment
      from total t
      join metrics m on m.project_id = ${project} and m.id = t.metric_id
     union all
    select d.subscription_id, d.period_no, d.metric_id, d.combination, sum(d.events)::bigint,
           sum(d.sum)::text, max(d.max)::text, 0, max(d.last_at),
           (array_agg(d.last_arrival order by d.last_at desc, d.last_arrival desc))[1]::text,
           (array_agg(d.latest order by d.last_at desc, d.last_arrival desc))[1]::text,
           sum(${MOMENT})::text
      from usage_parts d
      join wanted w
        on w.subscription_id = d.subscription_id and w.period_no = d.period_no
     where d.project_id = ${project}
       and exists (select 1 from metrics where project_id = ${project} and dimensions <> '{}')
     group by d.subscription_id, d.period_no, d.metric_id, d.combination`);
}

/** The moment of a day: each value times its instant. The row has the part within the day. */
const MOMENT: Sql = sql`d.moment + d.sum * extract(epoch from d.day) * 1000`;

/**
 * The usage of a period without the events at or after `end`, one row a metric or combination:
 * whole days before it from their sums, the rest from the events.
 */
export async function totalsBefore(
  db: Queryable,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<PeriodUsage[]> {
  const { subscription_id, period_no } = period;
  const since = await firstDay(db, project, period, end);
  const metrics = await listMetricsOf(db, project, subscription_id);
  const wholeDays = sql`d.project_id = ${project} and d.subscription_id = ${subscription_id}
              and d.period_no = ${period_no} and d.day < ${since}::date`;
  return db.many<PeriodUsage>(sql`
    with parts as (
      select d.metric_id, null as combination, d.events, d.sum, d.max, d.uniques, d.latest,
             d.last_at, d.last_arrival, ${MOMENT} as moment
        from usage_days d
       where ${wholeDays}
       union all
      select d.metric_id, d.combination, d.events, d.sum, d.max, 0, d.latest, d.last_at,
             d.last_arrival, ${MOMENT}
        from usage_parts d
       where ${wholeDays}
       union all
      select e.metric_id, e.combination, count(*), sum(e.quantity), max(e.quantity),
             count(distinct e.unique_value) filter (where not exists (
               select 1
                 from usage_uniques u
                where u.project_id = ${project} and u.subscription_id = ${subscription_id}
                  and u.period_no = ${period_no} and u.metric_id = e.metric_id
                  and u.unique_value = e.unique_value and u.day < ${since}::date)),
             (array_agg(e.quantity order by e.at desc, e.arrival desc))[1], max(e.at),
             (array_agg(e.arrival order by e.at desc, e.arrival desc))[1],
             case when min(m.weighted_by) is not null
                  then sum(e.quantity * extract(epoch from e.at) * 1000) end
        from usage_events e
        join metrics m on m.project_id = ${project} and m.id = e.metric_id
       where e.project_id = ${project} and e.subscription_id = ${subscription_id}
         and e.metric_id = any(${metrics}::uuid[])
         and e.period_no = ${period_no} and e.at >= ${startOfDay(since)} and e.at < ${end}
         and e.unbillable is null
       group by e.metric_id, e.combination)
    select ${subscription_id}::uuid as subscription_id, ${period_no}::integer as period_no,
           p.metric_id, p.combination, sum(p.events)::bigint as events, sum(p.sum)::text as sum,
           max(p.max)::text as max, sum(p.uniques)::bigint as uniques,
           (array_agg(p.latest::text order by p.last_at desc, p.last_arrival desc))[1] as latest,
           max(p.last_at) as last_at,
           (array_agg(p.last_arrival::text order by p.last_at desc, p.last_arrival desc))[1]
             as last_arrival,
           sum(p.moment)::text as moment
      from parts p
     group by p.metric_id, p.combination`);
}

export type UsageDayRow = MetricUsage & PeriodRef & { readonly day: string };

/** The usage of open periods, one row a day and metric or combination. */
export function listDays(db: Queryable, project: ProjectId, periods: readonly PeriodRef[]) {
  const wanted = sql`
      join unnest(${periods.map((period) => period.subscription_id)}::uuid[],
                  ${periods.map((period) => period.period_no)}::integer[])
           as w (subscription_id, period_no)
        on w.subscription_id = d.subscription_id and w.period_no = d.period_no
     where d.project_id = ${project}`;
  return db.many<UsageDayRow>(sql`
    select d.subscription_id, d.period_no, d.metric_id, null as combination, d.day, d.events,
           d.sum::text as sum, d.max::text as max, d.latest::text as latest, d.uniques, d.last_at,
           d.last_arrival::text as last_arrival, (${MOMENT})::text as moment
      from usage_days d ${wanted}
     union all
    select d.subscription_id, d.period_no, d.metric_id, d.combination, d.day, d.events,
           d.sum::text, d.max::text, d.latest::text, 0, d.last_at, d.last_arrival::text,
           (${MOMENT})::text
      from usage_parts d ${wanted}
     order by 1, 3, 4, 5`);
}

/** Whether the sums have events at or after the end: they may be sent ahead of their time. */
export async function hasUsageFrom(
  db: Queryable,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<boolean> {
  const ahead = sql`
         project_id = ${project} and subscription_id = ${period.subscription_id}
         and period_no >= ${period.period_no}
         and (period_no > ${period.period_no} or last_at >= ${end})`;
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (select 1 from usage_days where ${ahead})
           or exists (select 1 from usage_parts where ${ahead}) as found`);
  return found;
}

/** Marks events at or after the end as never billed, and makes the sums again without them. */
export async function cutAt(
  tx: Tx,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<void> {
  const since = await firstDay(tx, project, period, end);
  const metrics = await listMetricsOf(tx, project, period.subscription_id);
  await removeUniques(tx, project, { ...period, metrics }, since);
  await tx.run(sql`
    update usage_events
       set unbillable = 'after_termination'
     where project_id = ${project} and subscription_id = ${period.subscription_id}
       and metric_id = any(${metrics}::uuid[])
       and at >= ${end} and unbillable is null`);
  await sumAgain(tx, project, { ...period, metrics }, since);
}

/**
 * Places events that were sent ahead by a schedule that has changed: from the first boundary on
 * they belong to the period behind this one, from the second on to the next, and so on.
 */
export async function moveToPeriods(
  tx: Tx,
  project: ProjectId,
  period: PeriodRef,
  first: Date,
  later: readonly Date[],
): Promise<void> {
  const since = await firstDay(tx, project, period, first);
  const metrics = await listMetricsOf(tx, project, period.subscription_id);
  await removeUniques(tx, project, { ...period, metrics }, since);
  const moved = sql`${period.period_no} + (
             select count(*)::integer from unnest(${[first, ...later]}::timestamptz[]) as b (at)
              where b.at <= e.at)`;
  await tx.run(sql`
    update usage_events e
       set period_no = ${moved}
     where e.project_id = ${project} and e.subscription_id = ${period.subscription_id}
       and e.metric_id = any(${metrics}::uuid[])
       and e.at >= ${startOfDay(since)} and e.period_no >= ${period.period_no}
       and e.unbillable is null and e.period_no <> ${moved}`);
  await sumAgain(tx, project, { ...period, metrics }, since);
}

/**
 * The first day with sums that change when the period is cut at the instant, or later periods begin
 * there: the instant's own day, or the first one that a later period has now.
 */
async function firstDay(
  db: Queryable,
  project: ProjectId,
  { subscription_id, period_no }: PeriodRef,
  at: Date,
): Promise<string> {
  const behind = sql`
              where d.project_id = ${project} and d.subscription_id = ${subscription_id}
                and d.period_no > ${period_no}`;
  const { day } = await db.one<{ day: string }>(sql`
    select least(${utcDate(at)}::date, (select min(d.day) from usage_days d ${behind}),
                 (select min(d.day) from usage_parts d ${behind})) as day`);
  return day;
}

/** With the metrics of the subscription's events: their index has these before the instant. */
type PeriodMetrics = PeriodRef & { readonly metrics: readonly string[] };

/**
 * Removes distinct values that count on this day or a later one, before their events are moved: a
 * value counts on the first day that it was used on, so each of them has an event there.
 */
async function removeUniques(
  tx: Tx,
  project: ProjectId,
  { subscription_id, period_no, metrics }: PeriodMetrics,
  since: string,
): Promise<void> {
  await tx.run(sql`
    delete from usage_uniques u
     using (select distinct e.period_no, e.metric_id, e.unique_value
              from usage_events e
             where e.project_id = ${project} and e.subscription_id = ${subscription_id}
               and e.metric_id = any(${metrics}::uuid[])
               and e.period_no >= ${period_no} and e.at >= ${startOfDay(since)}
               and e.unique_value is not null and e.unbillable is null) e
     where u.project_id = ${project} and u.subscription_id = ${subscription_id}
       and u.period_no = e.period_no and u.metric_id = e.metric_id
       and u.unique_value = e.unique_value and u.day >= ${since}::date`);
}

/** Makes the sums of this period and later ones anew from the events, from this day on. */
async function sumAgain(
  tx: Tx,
  project: ProjectId,
  from: PeriodMetrics,
  since: string,
): Promise<void> {
  const { subscription_id, period_no, metrics } = from;
  await removeSums(tx, project, from, since);
  const counted = sql`e.project_id = ${project} and e.subscription_id = ${subscription_id}
       and e.metric_id = any(${metrics}::uuid[]) and e.period_no >= ${period_no} and e.at >= ${startOfDay(since)} and e.unbillable is null`;
  await tx.run(sql`
    insert into usage_uniques (project_id, subscription_id, period_no, metric_id, unique_value, day)
    select distinct on (e.project_id, e.period_no, e.metric_id, e.unique_value)
           e.project_id, e.subscription_id, e.period_no, e.metric_id, e.unique_value, ${DAY}
      from usage_events e
     where ${counted} and e.unique_value is not null
     order by e.project_id, e.period_no, e.metric_id, e.unique_value, e.at
    on conflict do nothing`);
  const sums = sql`count(*), sum(e.quantity), max(e.quantity),
           (array_agg(e.quantity order by e.at desc, e.arrival desc))[1], max(e.at),
           (array_agg(e.arrival order by e.at desc, e.arrival desc))[1],
           case when min(m.weighted_by) is not null
                then sum(e.quantity * 1000 * extract(epoch from (e.at at time zone 'UTC')::time))
           end`;
  await tx.run(sql`
    insert into usage_days (project_id, subscription_id, period_no, metric_id, day, events, sum,
                            max, latest, last_at, last_arrival, moment, uniques)
    select e.project_id, e.subscription_id, e.period_no, e.metric_id, ${DAY}, ${sums},
           coalesce(min(u.uniques), 0)
      from usage_events e
      join metrics m on m.project_id = ${project} and m.id = e.metric_id
      left join (select u.period_no, u.metric_id, u.day, count(*) as uniques
                   from (select distinct e.period_no, e.metric_id, e.unique_value
                           from usage_events e
                          where ${counted} and e.unique_value is not null) v
                   join usage_uniques u
                     on u.project_id = ${project} and u.subscription_id = ${subscription_id}
                    and u.period_no = v.period_no and u.metric_id = v.metric_id
                    and u.unique_value = v.unique_value and u.day >= ${since}::date
                  group by u.period_no, u.metric_id, u.day) u
        on u.period_no = e.period_no and u.metric_id = e.metric_id and u.day = ${DAY}
     where ${counted} and e.combination is null
     group by e.project_id, e.subscription_id, e.period_no, e.metric_id, ${DAY}`);
  await tx.run(sql`
    insert into usage_parts (project_id, subscription_id, period_no, metric_id, combination, day,
                             events, sum, max, latest, last_at, last_arrival, moment)
    select e.project_id, e.subscription_id, e.period_no, e.metric_id, e.combination, ${DAY}, ${sums}
      from usage_events e
      join metrics m on m.project_id = ${project} and m.id = e.metric_id
     where ${counted} and e.combination is not null
     group by e.project_id, e.subscription_id, e.period_no, e.metric_id, e.combination, ${DAY}`);
}

/** The UTC day of an event. */
const DAY: Sql = sql`(e.at at time zone 'UTC')::date`;

async function removeSums(
  tx: Tx,
  project: ProjectId,
  from: PeriodRef,
  since: string,
): Promise<void> {
  const behind = sql`project_id = ${project} and subscription_id = ${from.subscription_id}
       and period_no >= ${from.period_no} and day >= ${since}::date`;
  await tx.run(sql`delete from usage_days where ${behind}`);
  await tx.run(sql`delete from usage_parts where ${behind}`);
}

export type MetricPeriod = PeriodRef & { readonly metric_id: string };

/** The combinations that periods have usage of, or started with a level of. */
export function listCombinations(
  db: Queryable,
  project: ProjectId,
  periods: readonly MetricPeriod[],
) {
  const wanted = sql`
      unnest(${periods.map((period) => period.subscription_id)}::uuid[],
             ${periods.map((period) => period.metric_id)}::uuid[],
             ${periods.map((period) => period.period_no)}::integer[])
             as w (subscription_id, metric_id, period_no)`;
  return db.many<MetricPeriod & { readonly combination: string }>(sql`
    select distinct d.subscription_id, d.metric_id, d.period_no, d.combination
      from usage_parts d
      join ${wanted}
        on w.subscription_id = d.subscription_id and w.period_no = d.period_no
       and w.metric_id = d.metric_id
     where d.project_id = ${project}
     union
    select s.id, w.metric_id, s.period_no, jsonb_object_keys(s.levels -> w.metric_id::text)
      from subscriptions s
      join ${wanted}
        on w.subscription_id = s.id and w.period_no = s.period_no
     where s.project_id = ${project} and s.levels is not null`);
}
