// The daily sums of usage that periods are billed from: read for a close, and made again from the
// events when a period is cut or the schedule changes.

import type { MetricUsage } from "../domain/usage-fees.ts";
import type { Queryable, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

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

/** Each value times its instant: a day's row has the part within the day. */
const MOMENT: Sql = sql`d.moment + d.sum * extract(epoch from d.day) * 1000`;

/** The same from the events themselves, leaving out those at or after `end`. */
export function totalsBefore(db: Queryable, project: ProjectId, period: PeriodRef, end: Date) {
  return db.many<PeriodUsage>(sql`
    select e.subscription_id, e.period_no, e.metric_id, e.combination, count(*) as events,
           sum(e.quantity)::text as sum, max(e.quantity)::text as max,
           count(distinct e.unique_value) as uniques,
           (array_agg(e.quantity::text order by e.at desc, e.arrival desc))[1] as latest,
           max(e.at) as last_at,
           (array_agg(e.arrival::text order by e.at desc, e.arrival desc))[1] as last_arrival,
           case when min(m.weighted_by) is not null
                then sum(e.quantity * extract(epoch from e.at) * 1000)::text end as moment
      from usage_events e
      join metrics m on m.project_id = ${project} and m.id = e.metric_id
     where e.project_id = ${project} and e.subscription_id = ${period.subscription_id}
       and e.period_no = ${period.period_no} and e.at < ${end} and e.unbillable is null
     group by e.subscription_id, e.period_no, e.metric_id, e.combination`);
}

export type UsageDayRow = MetricUsage & PeriodRef & { readonly day: string };

/** Of open periods, one row a day and metric or combination. */
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

/** Whether events at or after the end are in the sums: they may be sent ahead of their time. */
export async function hasUsageFrom(
  db: Queryable,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<boolean> {
  const ahead = sql`
         project_id = ${project} and subscription_id = ${period.subscription_id}
         and (period_no > ${period.period_no}
              or (period_no = ${period.period_no} and last_at >= ${end}))`;
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (select 1 from usage_days where ${ahead})
           or exists (select 1 from usage_parts where ${ahead}) as found`);
  return found;
}

/** Marks events at or after the end as never billed, and makes the sums again from the rest. */
export async function cutAt(
  tx: Tx,
  project: ProjectId,
  period: PeriodRef,
  end: Date,
): Promise<void> {
  await tx.run(sql`
    update usage_events
       set unbillable = 'after_termination'
     where project_id = ${project} and subscription_id = ${period.subscription_id}
       and at >= ${end} and unbillable is null`);
  await sumAgain(tx, project, period);
}

/**
 * Gives events that were sent ahead the periods of a schedule that has changed: those from the
 * first boundary on belong to the period behind this one, from the second on to the next, and so
 * on.
 */
export async function placeAgain(
  tx: Tx,
  project: ProjectId,
  period: PeriodRef,
  boundaries: readonly Date[],
): Promise<void> {
  await tx.run(sql`
    update usage_events e
       set period_no = ${period.period_no} + (
             select count(*) from unnest(${boundaries}::timestamptz[]) as b (at)
              where b.at <= e.at)
     where e.project_id = ${project} and e.subscription_id = ${period.subscription_id}
       and e.period_no >= ${period.period_no} and e.unbillable is null`);
  await sumAgain(tx, project, period);
}

/** The sums of this period and those behind it, from the events. */
async function sumAgain(tx: Tx, project: ProjectId, from: PeriodRef): Promise<void> {
  const { subscription_id, period_no } = from;
  await removeSums(tx, project, from);
  const counted = sql`e.project_id = ${project} and e.subscription_id = ${subscription_id}
       and e.period_no >= ${period_no} and e.unbillable is null`;
  await tx.run(sql`
    insert into usage_uniques (project_id, subscription_id, period_no, metric_id, unique_value, day)
    select distinct on (e.project_id, e.period_no, e.metric_id, e.unique_value)
           e.project_id, e.subscription_id, e.period_no, e.metric_id, e.unique_value, ${DAY}
      from usage_events e
     where ${counted} and e.unique_value is not null
     order by e.project_id, e.period_no, e.metric_id, e.unique_value, e.arrival`);
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
                   from usage_uniques u
                  where u.project_id = ${project} and u.subscription_id = ${subscription_id}
                    and u.period_no >= ${period_no}
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

async function removeSums(tx: Tx, project: ProjectId, from: PeriodRef): Promise<void> {
  const behind = sql`project_id = ${project} and subscription_id = ${from.subscription_id}
       and period_no >= ${from.period_no}`;
  await tx.run(sql`delete from usage_days where ${behind}`);
  await tx.run(sql`delete from usage_parts where ${behind}`);
  await tx.run(sql`delete from usage_uniques where ${behind}`);
}

export type MetricPeriod = PeriodRef & { readonly metric_id: string };

/** The combinations of dimensions that periods have usage of, or started with a level of. */
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
