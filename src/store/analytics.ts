// The sums behind the figures of a project.

import type { Interval } from "../domain/periods.ts";
import type { Queryable } from "./db.ts";
import { sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const TOP_PLANS = 10;

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
      from (
        select plan_id, sum(recurring_cents) as cents, count(*) as count
          from subscriptions
         where project_id = ${project} and status = 'active'
         group by plan_id) s
      join plans p on p.project_id = ${project} and p.id = s.plan_id
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
    select currency, sum(total_cents - amount_paid_cents - credit_applied_cents)::bigint as cents,
           count(*) as count
      from invoices
     where project_id = ${project} and status in ('outstanding', 'overdue')
     group by currency`);
}

/** Payments with paid_at in (from, to]. */
export function paid(db: Queryable, project: ProjectId, span: { from: Date; to: Date }) {
  return db.many<MoneySum>(sql`
    select currency, sum(amount_cents)::bigint as cents, count(*) as count
      from payments
     where project_id = ${project} and paid_at > ${span.from} and paid_at <= ${span.to}
     group by currency`);
}

export function topPlans(db: Queryable, project: ProjectId) {
  return db.many<{ plan_code: string; plan_name: string; active_count: number }>(sql`
    select p.code as plan_code, p.name as plan_name, s.active_count
      from (
        select plan_id, count(*) as active_count
          from subscriptions
         where project_id = ${project} and status = 'active'
         group by plan_id
         order by count(*) desc, plan_id
         limit ${TOP_PLANS}) s
      join plans p on p.project_id = ${project} and p.id = s.plan_id
     order by s.active_count desc, p.code`);
}
