// The sums behind the figures of a project, kept as they change: the database notes each change of
// a subscription or an invoice, a worker adds the notes up.

import { addDays, startOfDay, utcDate } from "../domain/dates.ts";
import type { Interval } from "../domain/periods.ts";
import type { Queryable, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const TOP_PLANS = 10;

/** Added up and not yet added up; zero is as good as absent. */
function figures(project: ProjectId, kind: "active" | "due" | "paid", keys: Sql = sql`true`): Sql {
  return sql`
      select key, sum(count)::bigint as count, sum(cents) as cents
        from (
          select key, count, cents from figures
           where project_id = ${project} and kind = ${kind} and ${keys}
           union all
          select key, count, cents from figure_changes
           where project_id = ${project} and kind = ${kind} and ${keys}) f
       group by key
      having sum(count) <> 0`;
}

/** Adds up what was noted; returns how many notes that were. */
export async function addUp(tx: Tx, limit: number): Promise<number> {
  // across projects: a note carries its own.
  return tx.run(sql`
    with noted as (
      delete from figure_changes
       where ctid = any(array(
         select ctid from figure_changes limit ${limit} for update skip locked))
      returning project_id, kind, key, count, cents),
    added as (
      insert into figures as f (project_id, kind, key, count, cents)
      select project_id, kind, key, sum(count), sum(cents)
        from noted
       group by project_id, kind, key
       order by project_id, kind, key
      on conflict (project_id, kind, key) do update
         set count = f.count + excluded.count, cents = f.cents + excluded.cents)
    select 1 from noted`);
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
      from (${figures(project, "active")}) s
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
      from (${figures(project, "due")}) d`);
}

/** Payments with paid_at in (from, to]: whole days as they were added up, the ends one by one. */
export function paid(db: Queryable, project: ProjectId, span: { from: Date; to: Date }) {
  const [first, last] = [addDays(utcDate(span.from), 1), utcDate(span.to)];
  return db.many<MoneySum>(sql`
    select currency, sum(cents)::bigint as cents, sum(count)::bigint as count
      from (
        select substr(key, 12) as currency, cents, count
          from (${figures(project, "paid", sql`key >= ${first} and key < ${last}`)}) d
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
      from (${figures(project, "active")}) s
      join plans p on p.project_id = ${project} and p.id = s.key::uuid
     order by s.count desc, p.code
     limit ${TOP_PLANS}`);
}
