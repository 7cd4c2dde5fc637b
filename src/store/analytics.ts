// The sums that a project's analytics reads, at the same cost for any number of rows. Triggers
// write each change as a delta, so that no writer waits for another; a worker adds them to the
// totals.

import { addDays, startOfDay, utcDate } from "../domain/dates.ts";
import type { Interval } from "../domain/periods.ts";
import { ALL_PROJECTS, type Among } from "./among.ts";
import type { Db, Queryable } from "./db.ts";
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

/** Projects with deltas, found by a look at no more than `limit` of them. */
export async function listWithDeltas(
  db: Queryable,
  limit: number,
  among: Among = ALL_PROJECTS,
): Promise<ProjectId[]> {
  // across projects: each delta names its own.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select distinct project_id as id
      from (select d.project_id
              from analytics_deltas d
             where ${among(sql`d.project_id`)}
             limit ${limit}) found`);
  return rows.map((row) => row.id);
}

/** Adds at most `limit` deltas of a project to its totals; returns how many there were. */
export async function addDeltas(db: Db, project: ProjectId, limit: number): Promise<number> {
  const [row] = await db.alone<{ added: number }>(sql`
    select add_analytics_deltas(${project}, ${limit}) as added`);
  return row?.added ?? 0;
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
  /** An integer of any length. */
  readonly cents: string;
  readonly count: number;
};

/** What is still due, by currency. */
export function outstanding(db: Queryable, project: ProjectId) {
  return db.many<MoneySum>(sql`
    select key as currency, cents::text as cents, count
      from (${sums(project, "due")}) d`);
}

/** Payments with paid_at in (from, to]: whole days from the totals, first and last by payment. */
export function paid(db: Queryable, project: ProjectId, span: { from: Date; to: Date }) {
  const [first, last] = [addDays(utcDate(span.from), 1), utcDate(span.to)];
  return db.many<MoneySum>(sql`
    select currency, sum(cents)::text as cents, sum(count)::bigint as count
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
