// The sums that a project's analytics reads, at the same cost for any number of rows. Triggers
// write each change as a delta, so that no writer waits for another; a worker adds them to the
// totals.

import { addDays, startOfDay, utcDate } from "../domain/dates.ts";
import type { Interval } from "../domain/periods.ts";
import type { Queryable, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const TOP_PLANS = 10;

/** The totals with the deltas that are not yet part of them, by key; keys that count 0 left out. */
function sums(project: ProjectId, kind: "active" | "due" | "paid", keys: Sql = sql`true`): Sql {
  return sql`
      select key, sum(count)::bigint as count, sum(cents) as cents
        from (
          select key, count, cents from analytics_totals
           where project_id = ${project} and kind = ${kind} and ${keys}
           union all
          select key, count, cents from analytics_deltas
           where project_id = ${project} and kind = ${kind} and ${keys}) t
       group by key
      having sum(count) <> 0`;
}

/** Adds at most `limit` deltas to the totals; returns how many there were. */
export async function addDeltas(tx: Tx, limit: number): Promise<number> {
  // across projects: each delta names its own.
  return tx.run(sql`
    with taken as (
      delete from analytics_deltas
       where ctid = any(array(
         select ctid from analytics_deltas limit ${limit} for update skip locked))
      returning project_id, kind, key, count, cents),
    added as (
      insert into analytics_totals as t (project_id, kind, key, count, cents)
      select project_id, kind, key, sum(count), sum(cents)
        from taken
       group by project_id, kind, key
       order by project_id, kind, key
      on conflict (project_id, kind, key) do update
         set count = t.count + excluded.count, cents = t.cents + excluded.cents)
    select 1 from taken`);
}

export type RecurringSum = {
  readonly interval: Interval;
  readonly currency: string;
  readonly cents: string;
  readonly count: number;
};

/** Active subscriptions and what they bring in each interval. */
export function recurring(db: Queryable, project: ProjectId) {
  return db.many<RecurringSum>(sql`
    select p.interval, p.amount_currency as currency, sum(s.cents)::text as cents,
           sum(s.count)::bigint as count
      from (${sums(project, "active")}) s
      join plans p on p.project_id = ${project} and p.id = s.key::uuid
     group by p.interval, p.amount_currency`);
}

export type MoneySum = {
  readonly currency: string;
  readonly cents: number;
  readonly count: number;
};

/** What is still due, by currency. */
export function outstanding(db: Queryable, project: ProjectId) {
  return db.many<MoneySum>(sql`
    select key as currency, cents::bigint as cents, count
      from (${sums(project, "due")}) d`);
}

/** Payments with paid_at in (from, to]: whole days from the totals, first and last by payment. */
export function paid(db: Queryable, project: ProjectId, span: { from: Date; to: Date }) {
  const [first, last] = [addDays(utcDate(span.from), 1), utcDate(span.to)];
  return db.many<MoneySum>(sql`
    select currency, sum(cents)::bigint as cents, sum(count)::bigint as count
      from (
        select substr(key, 12) as currency, cents, count
          from (${sums(project, "paid", sql`key >= ${first} and key < ${last}`)}) d
         union all
        select currency, amount_cents, 1
          from payments
         where project_id = ${project} and paid_at > ${span.from}
           and paid_at < ${startOfDay(first)}
         union all
        select currency, amount_cents, 1
          from payments
         where project_id = ${project} and paid_at >= ${startOfDay(last)}
           and paid_at <= ${span.to}) p
     group by currency`);
}

export function topPlans(db: Queryable, project: ProjectId) {
  return db.many<{ plan_code: string; plan_name: string; active_count: number }>(sql`
    select p.code as plan_code, p.name as plan_name, s.count as active_count
      from (${sums(project, "active")}) s
      join plans p on p.project_id = ${project} and p.id = s.key::uuid
     order by s.count desc, p.code
     limit ${TOP_PLANS}`);
}
