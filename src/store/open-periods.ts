// The open periods of subscriptions: what is due of them, and the steps from one to the next.

import type { Levels } from "../domain/usage-fees.ts";
import type { SubscriptionStatus } from "../schema/subscriptions.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "./db.ts";
import { recordset } from "./rows.ts";
import { type Sql, sql } from "./sql.ts";
import {
  BILLED_COLUMNS,
  type BilledSubscription,
  billedTable,
  DUE_AT,
  jsonOrNull,
  LIVE,
  type SubscriptionRow,
} from "./subscriptions.ts";
import type { ProjectId } from "./tenants.ts";

const SET_ASIDE_FOR: Sql = sql`interval '1 minute'`;
/** A longer reason is cut. */
export const SET_ASIDE_REASON_MAX = 500;

export type OpenPeriod = Pick<
  SubscriptionRow,
  | "id"
  | "plan_id"
  | "period_no"
  | "current_period_start"
  | "current_period_next"
  | "anchor_date"
  | "plan_version"
  | "override_no"
  | "overrides"
  | "scheduled_plan_id"
  | "advance"
  | "levels"
> & { readonly recurring_cents: string };

const OPEN_PERIOD = {
  id: "uuid",
  plan_id: "uuid",
  period_no: "integer",
  current_period_start: "timestamptz",
  current_period_next: "timestamptz",
  anchor_date: "date",
  plan_version: "integer",
  override_no: "integer",
  overrides: "jsonb",
  scheduled_plan_id: "uuid",
  advance: "jsonb",
  levels: "jsonb",
  recurring_cents: "numeric",
};

/** Opens the next period of each; a close that had failed is no longer set aside. */
export async function renew(
  tx: Tx,
  project: ProjectId,
  periods: readonly OpenPeriod[],
  now: Date,
): Promise<void> {
  if (periods.length === 0) return;
  await tx.run(sql`
    update subscriptions s
       set plan_id = n.plan_id, period_no = n.period_no,
           current_period_start = n.current_period_start,
           current_period_next = n.current_period_next, anchor_date = n.anchor_date,
           plan_version = n.plan_version, override_no = n.override_no, overrides = n.overrides,
           scheduled_plan_id = n.scheduled_plan_id, advance = n.advance, levels = n.levels,
           recurring_cents = n.recurring_cents, in_trial = false,
           status = case when s.status = 'pending' then 'active' else s.status end,
           set_aside_reason = null, set_aside_until = null, updated_at = ${now}
      from ${recordset("n", OPEN_PERIOD, periods)}
     where s.project_id = ${project} and s.id = n.id`);
}

/**
 * False when another live subscription holds the external_id. One that was withdrawn before it
 * began, and so has the same period open, starts now.
 */
export async function reopen(
  tx: Tx,
  project: ProjectId,
  period: OpenPeriod,
  status: SubscriptionStatus,
  now: Date,
): Promise<boolean> {
  const reopened = await tx.run(sql`
    update subscriptions s
       set status = ${status}, terminated_at = null, period_no = ${period.period_no},
           started_at = case when s.period_no = ${period.period_no}
                             then ${period.current_period_start}::timestamptz
                             else started_at end,
           current_period_start = ${period.current_period_start},
           current_period_next = ${period.current_period_next},
           plan_version = ${period.plan_version}, override_no = ${period.override_no},
           advance = ${jsonOrNull(period.advance)}, recurring_cents = ${period.recurring_cents},
           ends_at = null, scheduled_plan_id = null, in_trial = false, updated_at = ${now}
     where s.project_id = ${project} and s.id = ${period.id}
       and not exists (
         select 1
           from subscriptions o
          where o.project_id = ${project} and o.external_id = s.external_id and o.id <> s.id
            and o.status in ('pending', 'active', 'suspended'))`);
  return reopened === 1;
}

/** Subscriptions with something due, locked; those that another worker has locked are skipped. */
export function lockDue(tx: Tx, project: ProjectId, now: Date, limit: number) {
  return tx.many<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and ${LIVE} and ${DUE_AT} <= ${now}
       and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})
     order by ${DUE_AT}, s.id
     limit ${limit}
       for update of s skip locked`);
}

/** The ids of the same, without a lock and in the same order. */
export async function listDue(db: Queryable, project: ProjectId, now: Date, limit: number) {
  const rows = await db.many<{ id: string }>(sql`
    select s.id
      from subscriptions s
     where s.project_id = ${project} and ${LIVE} and ${DUE_AT} <= ${now}
       and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})
     order by ${DUE_AT}, s.id
     limit ${limit}`);
  return rows.map((row) => row.id);
}

/** When the next of them is due; for the clock, which goes from one such instant to the next. */
export async function nextDue(db: Queryable, project: ProjectId, until: Date) {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select min(${DUE_AT}) as at
      from subscriptions s
     where s.project_id = ${project} and ${LIVE} and ${DUE_AT} <= ${until}
       and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})`);
  return at;
}

export type EndedSubscription = {
  readonly id: string;
  readonly status: "terminated" | "canceled";
  readonly terminated_at: Date;
  readonly levels: Levels | null;
};

const ENDED = { id: "uuid", status: "text", terminated_at: "timestamptz", levels: "jsonb" };

/** Also ends the suspensions that are still on. */
export async function end(
  tx: Tx,
  project: ProjectId,
  ended: readonly EndedSubscription[],
  now: Date,
): Promise<void> {
  if (ended.length === 0) return;
  await tx.run(sql`
    update suspensions s
       set resumed_at = n.terminated_at
      from ${recordset("n", ENDED, ended)}
     where s.project_id = ${project} and s.subscription_id = n.id and s.resumed_at is null`);
  await tx.run(sql`
    update subscriptions s
       set status = n.status, terminated_at = n.terminated_at, levels = n.levels,
           scheduled_plan_id = null, in_trial = false, set_aside_reason = null,
           set_aside_until = null, updated_at = ${now}
      from ${recordset("n", ENDED, ended)}
     where s.project_id = ${project} and s.id = n.id`);
}

/** The level that late usage leaves behind the last closed period. */
export async function setLevels(
  tx: Tx,
  project: ProjectId,
  id: string,
  levels: Levels | null,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set levels = ${jsonOrNull(levels)}
     where project_id = ${project} and id = ${id}`);
}

/** The start, the trial and the plan of one whose paid periods have not begun. */
export type Unbegun = Pick<
  SubscriptionRow,
  | "plan_id"
  | "plan_version"
  | "override_no"
  | "overrides"
  | "status"
  | "started_at"
  | "current_period_start"
  | "current_period_next"
  | "anchor_date"
  | "in_trial"
  | "trial_ends_at"
  | "advance"
> & { readonly recurring_cents: string };

export async function setUnbegun(
  tx: Tx,
  project: ProjectId,
  id: string,
  to: Unbegun,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set plan_id = ${to.plan_id}, plan_version = ${to.plan_version},
           override_no = ${to.override_no}, overrides = ${jsonOrNull(to.overrides)},
           status = ${to.status}, started_at = ${to.started_at},
           current_period_start = ${to.current_period_start},
           current_period_next = ${to.current_period_next}, anchor_date = ${to.anchor_date},
           in_trial = ${to.in_trial}, trial_ends_at = ${to.trial_ends_at},
           advance = ${jsonOrNull(to.advance)}, set_aside_reason = null, set_aside_until = null,
           recurring_cents = ${to.recurring_cents}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** The change of plan at the end of the period; null: none. */
export async function schedulePlan(
  tx: Tx,
  project: ProjectId,
  id: string,
  plan_id: string | null,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set scheduled_plan_id = ${plan_id}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** What set it aside is over. */
export async function takeUp(tx: Tx, project: ProjectId, id: string): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set set_aside_reason = null, set_aside_until = null
     where project_id = ${project} and id = ${id}`);
}

/** A close that failed: kept with its reason, and tried again after a minute at the earliest. */
export async function setAside(
  tx: Tx,
  project: ProjectId,
  id: string,
  reason: string,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set set_aside_reason = ${reason},
           set_aside_until = ${DATABASE_NOW} + ${SET_ASIDE_FOR}
     where project_id = ${project} and id = ${id}`);
}
