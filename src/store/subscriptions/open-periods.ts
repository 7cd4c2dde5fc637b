// The open periods of subscriptions: what is due of them, and the steps from one to the next.

import type { Levels } from "../../domain/usage-fees.ts";
import type { ProjectId } from "../../ids.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "../db/db.ts";
import { recordset } from "../db/rows.ts";
import { type Sql, sql } from "../db/sql.ts";
import {
  BILLED_COLUMNS,
  type BilledSubscription,
  billedTable,
  DUE_AT,
  jsonOrNull,
  NOT_ENDED,
  type SubscriptionRow,
} from "./subscriptions.ts";

const SET_ASIDE_MIN = 1;
/** Longer reasons are cut. */
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
           left_behind = s.left_behind and least(n.current_period_next, s.ends_at) <= ${now},
           set_aside_reason = null, set_aside_until = null, updated_at = ${now}
      from ${recordset("n", OPEN_PERIOD, periods)}
     where s.project_id = ${project} and s.id = n.id`);
}

/**
 * Reopens an ended subscription with a new period; false when another one holds its external_id.
 * One that was withdrawn before it began, and so has the same period open, starts now.
 */
export async function reopen(
  tx: Tx,
  project: ProjectId,
  period: OpenPeriod,
  now: Date,
): Promise<boolean> {
  const reopened = await tx.run(sql`
    update subscriptions s
       set status = 'active', is_called_suspended = false, terminated_at = null,
           period_no = ${period.period_no},
           started_at = case when s.period_no = ${period.period_no}
                             then ${period.current_period_start}::timestamptz
                             else started_at end,
           current_period_start = ${period.current_period_start},
           current_period_next = ${period.current_period_next},
           anchor_date = ${period.anchor_date}::date,
           plan_version = ${period.plan_version}, override_no = ${period.override_no},
           advance = ${jsonOrNull(period.advance)}, recurring_cents = ${period.recurring_cents},
           ends_at = null, scheduled_plan_id = null, in_trial = false, left_behind = false,
           updated_at = ${now}
     where s.project_id = ${project} and s.id = ${period.id}
       and not exists (
         select 1
           from subscriptions o
          where o.project_id = ${project} and o.external_id = s.external_id and o.id <> s.id
            and o.status in ('pending', 'active', 'suspended'))`);
  return reopened === 1;
}

/**
 * Locks subscriptions with something due, the first due first, and reads them under the lock. The
 * ones that another worker has locked are skipped; so are, with `groups`, those whose customer gets
 * one invoice of what falls due together.
 */
export async function lockDue(
  tx: Tx,
  project: ProjectId,
  now: Date,
  limit: number,
  groups: boolean,
) {
  const rows = await tx.many<{ id: string }>(sql`
    select s.id, ${PLAN_FOR_ANY_PROJECT}
      from subscriptions s
     where ${isDue(project, now)}${groups ? isApart(project) : sql``}
     order by ${DUE_AT}, s.id
     limit ${limit}
       for no key update skip locked`);
  return tx.many<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and s.id = any(${rows.map(({ id }) => id)}::uuid[])
     order by ${DUE_AT}, s.id`);
}

/**
 * A column of a transaction's first statement, evaluated once: those behind it are planned for any
 * project. Planned for one that the statistics do not know, a new one beside a large one, each
 * project is a single row, any index is as good as the right one, and all customers were read for
 * each subscription.
 */
export const PLAN_FOR_ANY_PROJECT: Sql = sql`
           (select set_config('plan_cache_mode', 'force_generic_plan', true)) as plan_mode`;

/** One that was left behind is billed by itself, whatever its customer gets. */
function isApart(project: ProjectId): Sql {
  return sql`
       and (s.left_behind or not ${isGrouped(project)})`;
}

/** Whether the customer of the subscription `s` gets one invoice for all that is due together. */
export function isGrouped(project: ProjectId): Sql {
  return sql`exists (
         select 1
           from customers c
           join projects o on o.id = ${project}
          where c.project_id = ${project} and c.id = s.customer_id
            and coalesce(c.invoice_grouping, o.invoice_grouping) = 'customer')`;
}

export function isDue(project: ProjectId, now: Date): Sql {
  return sql`s.project_id = ${project} and ${NOT_ENDED} and ${DUE_AT} <= ${now}
       and (s.set_aside_until is null or s.set_aside_until <= ${DATABASE_NOW})`;
}

/** The ids of subscriptions with something due, the first due first, without a lock. */
export async function listDue(
  db: Queryable,
  project: ProjectId,
  now: Date,
  limit: number,
  groups: boolean,
) {
  const rows = await db.many<{ id: string }>(sql`
    select s.id
      from subscriptions s
     where ${isDue(project, now)}${groups ? isApart(project) : sql``}
     order by ${DUE_AT}, s.id
     limit ${limit}`);
  return rows.map((row) => row.id);
}

/** When the next subscription is due: a sandbox clock goes from one such instant to the next. */
export async function nextDue(db: Queryable, project: ProjectId, until: Date, groups: boolean) {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select min(${DUE_AT}) as at
      from subscriptions s
     where ${isDue(project, until)}${groups ? isApart(project) : sql``}`);
  return at;
}

export type EndedSubscription = {
  readonly id: string;
  readonly status: "terminated" | "canceled";
  readonly terminated_at: Date;
  readonly levels: Levels | null;
};

const ENDED = { id: "uuid", status: "text", terminated_at: "timestamptz", levels: "jsonb" };

/** Ends subscriptions, with the suspensions that are still on. */
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
           scheduled_plan_id = null, in_trial = false, left_behind = false,
           set_aside_reason = null, set_aside_until = null, updated_at = ${now}
      from ${recordset("n", ENDED, ended)}
     where s.project_id = ${project} and s.id = n.id`);
}

/** Sets the levels that late usage leaves behind the last closed period. */
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

/** The start, the trial and the plan of a subscription whose paid periods have not begun. */
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
           advance = ${jsonOrNull(to.advance)},
           left_behind = left_behind
                         and least(${to.current_period_next}::timestamptz, ends_at,
                                   case when ${to.status} = 'pending'
                                        then ${to.started_at}::timestamptz end) <= ${now},
           set_aside_reason = null, set_aside_until = null, recurring_cents = ${to.recurring_cents},
           updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** Sets the plan that it changes to at the end of the period; null: it does not change. */
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

/** Lets all periods that have ended by now be billed, however many. */
export async function allowCatchUp(
  tx: Tx,
  project: ProjectId,
  id: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set catch_up_to = ${now}, set_aside_reason = null, set_aside_until = null, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** Takes up a subscription again: the reason for which it was set aside is gone. */
export async function takeUp(tx: Tx, project: ProjectId, id: string): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set set_aside_reason = null, set_aside_until = null
     where project_id = ${project} and id = ${id}`);
}

/**
 * Sets a subscription aside whose close failed, with the reason, and so leaves it behind the others
 * of its customer until nothing of it is due any more. It is tried again after the pause;
 * null: when somebody has changed it or had it catch up.
 */
export async function setAside(
  tx: Tx,
  project: ProjectId,
  id: string,
  reason: string,
  pause_min: number | null = SET_ASIDE_MIN,
): Promise<void> {
  // Not coalesce: Citus takes none around the time where rows change.
  const at_least = pause_min === null ? "infinity" : "-infinity";
  await tx.run(sql`
    update subscriptions
       set set_aside_reason = ${reason},
           left_behind = status in ('pending', 'active', 'suspended'),
           set_aside_until = greatest(${DATABASE_NOW} + ${pause_min ?? 0} * interval '1 minute',
                                      ${at_least}::timestamptz)
     where project_id = ${project} and id = ${id}`);
}
