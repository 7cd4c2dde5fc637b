// Subscriptions: read, listed, locked and made. The steps of their periods are in open-periods.ts.

import type { EndedStatus } from "../../domain/lifecycle.ts";
import type { Advance } from "../../domain/pricing.ts";
import type { Levels } from "../../domain/usage-fees.ts";
import { canonicalUuid, type ProjectId } from "../../ids.ts";
import { type InvoiceGrouping, SUBSCRIPTION_STATUSES } from "../../schema/enums.ts";
import type { BillingTime, Overrides, SubscriptionStatus } from "../../schema/subscriptions.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { Overtaken } from "../db/failures.ts";
import { type Apart, type PageRequest, page } from "../db/page.ts";
import { json, type Sql, sql } from "../db/sql.ts";

export type SubscriptionRow = {
  readonly id: string;
  readonly external_id: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly status: SubscriptionStatus;
  /** Whether it has ended and callers asked to suspend it after that. */
  readonly is_called_suspended: boolean;
  readonly billing_time: BillingTime;
  /** The date that periods are counted from; null: they are the calendar's. */
  readonly anchor_date: string | null;
  readonly is_anchor_given: boolean;
  readonly properties: Record<string, unknown>;
  readonly started_at: Date;
  readonly period_no: number;
  readonly current_period_start: Date;
  /** The start of the next period, at which the open one has ended. */
  readonly current_period_next: Date;
  readonly plan_version: number;
  readonly override_no: number | null;
  readonly overrides: Overrides | null;
  readonly scheduled_plan_id: string | null;
  /** Whether the open period is the trial. */
  readonly in_trial: boolean;
  readonly trial_ends_at: Date | null;
  readonly ends_at: Date | null;
  readonly advance: Advance | null;
  readonly levels: Levels | null;
  readonly metadata: Record<string, string>;
  readonly terminated_at: Date | null;
  readonly set_aside_reason: string | null;
  /** Whether its close has failed and something of it is due still. */
  readonly left_behind: boolean;
  /** The instant up to which all ended periods are billed, however many. */
  readonly catch_up_to: Date | null;
  readonly created_at: Date;
};

/** A subscription with the names that people know its customer and plan by. */
export type NamedSubscription = SubscriptionRow & {
  readonly plan_code: string;
  readonly customer_external_id: string;
};

/** A subscription with what its invoices and webhooks say about customer and plan. */
export type BilledSubscription = NamedSubscription & {
  readonly customer_name: string;
  readonly customer_email: string;
  /** The customer's own, else that of the settings. */
  readonly invoice_grouping: InvoiceGrouping;
};

const COLUMNS: Sql = sql`s.id, s.external_id, s.customer_id, s.plan_id, s.status, s.is_called_suspended,
  s.billing_time, s.anchor_date, s.is_anchor_given, s.properties, s.started_at, s.period_no,
  s.current_period_start, s.current_period_next, s.plan_version, s.override_no, s.overrides,
  s.scheduled_plan_id, s.in_trial, s.trial_ends_at, s.ends_at, s.advance, s.levels, s.metadata,
  s.terminated_at, s.set_aside_reason, s.left_behind, s.catch_up_to, s.created_at`;

const NAMED_COLUMNS: Sql = sql`${COLUMNS}, p.code as plan_code,
  c.external_id as customer_external_id`;
/** Joins customer and plan, each by the project itself: a cluster would else ask all nodes. */
function joinNames(project: ProjectId): Sql {
  return sql`
      join customers c on c.project_id = ${project} and c.id = s.customer_id
      join plans p on p.project_id = ${project} and p.id = s.plan_id`;
}

export const BILLED_COLUMNS: Sql = sql`${NAMED_COLUMNS}, c.name as customer_name,
  c.email as customer_email, coalesce(c.invoice_grouping, o.invoice_grouping) as invoice_grouping`;
export function billedTable(project: ProjectId): Sql {
  return sql`subscriptions s ${joinNames(project)}
      join projects o on o.id = ${project}`;
}

/** Whether the subscription `s` has an open period, or a first one to come. */
export const NOT_ENDED: Sql = sql`s.status in ('pending', 'active', 'suspended')`;

/** The status that callers see; there is an index of exactly this expression. */
const SHOWN_STATUS: Sql = sql`case when s.is_called_suspended then 'suspended' else s.status end`;

/** When anything is due next: the start, the end that was set, or the end of the period. */
export const DUE_AT: Sql = sql`least(s.current_period_next, s.ends_at,
  case when s.status = 'pending' then s.started_at end)`;

/** Subscriptions that `ref` may mean: of an external_id one that has not ended, else the newest. */
function refCondition(ref: string): Sql {
  if (ref.startsWith("ext:")) return sql`s.external_id = ${ref.slice(4)}`;
  const id = canonicalUuid(ref);
  return id === undefined ? sql`false` : sql`s.id = ${id}`;
}

export function get(db: Queryable, project: ProjectId, ref: string) {
  return db.maybeOne<NamedSubscription>(sql`
    select ${NAMED_COLUMNS}
      from subscriptions s ${joinNames(project)}
     where s.project_id = ${project} and ${refCondition(ref)}
     order by ${NOT_ENDED} desc, s.id desc
     limit 1`);
}

/** When something of each of a customer's subscriptions falls due, the earliest first. */
export function listDueAt(db: Queryable, project: ProjectId, customer_id: string) {
  return db.many<{ readonly id: string; readonly due_at: Date }>(sql`
    select s.id, ${DUE_AT} as due_at
      from subscriptions s
     where s.project_id = ${project} and s.customer_id = ${customer_id} and ${NOT_ENDED}
     order by due_at, s.id`);
}

/** These subscriptions, the oldest first. */
export function listBilled(db: Queryable, project: ProjectId, ids: readonly string[]) {
  return db.many<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and s.id = any(${ids}::uuid[])
     order by s.id`);
}

export function getBilled(db: Queryable, project: ProjectId, ref: string) {
  return db.maybeOne<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and ${refCondition(ref)}
     order by ${NOT_ENDED} desc, s.id desc
     limit 1`);
}

/**
 * Locks a subscription until the transaction ends: no close and no other change meanwhile. Where
 * `ext:` has come to mean another one while this waited, the transaction is tried again.
 */
export async function lock(tx: Tx, project: ProjectId, ref: string) {
  const id = await find(tx, project, ref);
  if (id === undefined) return undefined;
  const [locked] = await lockBilled(tx, project, [id]);
  if (ref.startsWith("ext:") && (await find(tx, project, ref)) !== id)
    throw new Overtaken("The subscription");
  return locked;
}

async function find(db: Queryable, project: ProjectId, ref: string): Promise<string | undefined> {
  const found = await db.maybeOne<{ id: string }>(sql`
    select s.id
      from subscriptions s
     where s.project_id = ${project} and ${refCondition(ref)}
     order by ${NOT_ENDED} desc, s.id desc
     limit 1`);
  return found?.id;
}

/**
 * Locks subscriptions in the order of their ids, and then reads them: locked in the join, one that
 * was moved to another plan meanwhile would be joined with its former plan, and drop out.
 */
export async function lockBilled(tx: Tx, project: ProjectId, ids: readonly string[]) {
  const [, rows] = await Promise.all([
    lockAll(tx, project, ids),
    tx.many<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and s.id = any(${ids}::uuid[])
     order by s.id`),
  ]);
  return rows;
}

/** Locks subscriptions in the order of their ids, which is that of all who lock several. */
export async function lockAll(tx: Tx, project: ProjectId, ids: readonly string[]): Promise<void> {
  await tx.many(sql`
    select 1
      from subscriptions
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for no key update`);
}

/** How many subscriptions cannot be billed; there is an index of them alone. */
export async function countFailed(db: Queryable, project: ProjectId): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*) as count
      from subscriptions s
     where s.project_id = ${project} and s.set_aside_reason is not null and ${NOT_ENDED}`);
  return count;
}

export type SubscriptionFilter = {
  readonly customer_id?: string;
  readonly customer?: Sql;
  readonly priced_by?: Sql;
  readonly status?: string;
  readonly plan_id?: string;
  readonly external_id?: string;
  /** "1": those with a period that could not be billed; "0": the others. */
  readonly billing_error?: string;
};

const eachStatus: Apart = {
  values: sql`unnest(${SUBSCRIPTION_STATUSES}::text[]) as v (status)`,
  on: sql`${SHOWN_STATUS} = v.status`,
  alias: sql`s`,
};

export function list(
  db: Queryable,
  project: ProjectId,
  filter: SubscriptionFilter,
  request: PageRequest,
) {
  const where: Sql[] = [sql`s.project_id = ${project}`];
  if (filter.customer_id) where.push(sql`s.customer_id = ${filter.customer_id}`);
  if (filter.customer) where.push(filter.customer);
  if (filter.priced_by) where.push(filter.priced_by);
  if (filter.status) where.push(sql`${SHOWN_STATUS} = ${filter.status}`);
  if (filter.plan_id) where.push(sql`s.plan_id = ${filter.plan_id}`);
  if (filter.external_id !== undefined) where.push(sql`s.external_id = ${filter.external_id}`);
  // The condition is written out, so that the index of those set aside serves it.
  if (filter.billing_error === "1") where.push(sql`s.set_aside_reason is not null`);
  if (filter.billing_error === "0") where.push(sql`s.set_aside_reason is null`);
  // The index by plan has the status before the id; what one customer has is less.
  const { plan_id, status, customer_id, customer, external_id } = filter;
  const isOfPlan = plan_id !== undefined && (status ?? customer_id ?? external_id) === undefined;
  return page<NamedSubscription>(
    db,
    {
      columns: NAMED_COLUMNS,
      from: sql`subscriptions s`,
      ...(isOfPlan && customer === undefined && { apart: eachStatus }),
      joined: joinNames(project),
      where,
      project: sql`s.project_id`,
      order: [{ column: sql`s.id`, type: sql`uuid` }],
    },
    request,
  );
}

export async function hasActive(
  db: Queryable,
  project: ProjectId,
  plan_id: string,
): Promise<boolean> {
  const { active } = await db.one<{ active: boolean }>(sql`
    select exists (
      select 1
        from subscriptions s
       where s.project_id = ${project} and s.plan_id = ${plan_id}
         and ${SHOWN_STATUS} = 'active') as active`);
  return active;
}

export type NewSubscription = Pick<
  SubscriptionRow,
  | "id"
  | "external_id"
  | "customer_id"
  | "plan_id"
  | "status"
  | "billing_time"
  | "anchor_date"
  | "is_anchor_given"
  | "properties"
  | "started_at"
  | "current_period_start"
  | "current_period_next"
  | "plan_version"
  | "override_no"
  | "overrides"
  | "in_trial"
  | "trial_ends_at"
  | "ends_at"
  | "advance"
  | "metadata"
> & { readonly recurring_cents: string };

/** Makes a subscription; undefined when one that has not ended has the external_id. */
export function insert(tx: Tx, project: ProjectId, subscription: NewSubscription, now: Date) {
  const s = subscription;
  return tx.maybeOne<{ id: string }>(sql`
    insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status,
                               billing_time, anchor_date, is_anchor_given, properties, started_at,
                               period_no, current_period_start, current_period_next, plan_version,
                               override_no, overrides, in_trial, trial_ends_at, ends_at, advance,
                               metadata, recurring_cents, created_at, updated_at)
    values (${project}, ${s.id}, ${s.external_id}, ${s.customer_id}, ${s.plan_id}, ${s.status},
            ${s.billing_time}, ${s.anchor_date}, ${s.is_anchor_given}, ${json(s.properties)},
            ${s.started_at}, 1, ${s.current_period_start}, ${s.current_period_next},
            ${s.plan_version}, ${s.override_no}, ${jsonOrNull(s.overrides)}, ${s.in_trial},
            ${s.trial_ends_at}, ${s.ends_at}, ${jsonOrNull(s.advance)}, ${json(s.metadata)},
            ${s.recurring_cents}, ${now}, ${now})
    on conflict (project_id, external_id) where status in ('pending', 'active', 'suspended')
       do nothing
    returning id`);
}

export function jsonOrNull(value: object | null) {
  return value === null ? null : json(value);
}

/** Sets fields that a caller changes and nothing else depends on. */
export async function setFields(
  tx: Tx,
  project: ProjectId,
  id: string,
  fields: Pick<SubscriptionRow, "ends_at" | "overrides" | "metadata">,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set ends_at = ${fields.ends_at}, overrides = ${jsonOrNull(fields.overrides)},
           metadata = ${json(fields.metadata)}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** Merges properties in the database, so that two patches at once both count. */
export function mergeProperties(
  tx: Tx,
  project: ProjectId,
  id: string,
  properties: Record<string, unknown>,
  now: Date,
) {
  return tx.one<{ properties: Record<string, unknown> }>(sql`
    update subscriptions
       set properties = properties || ${json(properties)}::jsonb, updated_at = ${now},
           set_aside_until = null
     where project_id = ${project} and id = ${id}
    returning properties`);
}

export async function setRecurring(
  tx: Tx,
  project: ProjectId,
  id: string,
  recurring_cents: string,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set recurring_cents = ${recurring_cents}
     where project_id = ${project} and id = ${id}`);
}

export async function setStatus(
  tx: Tx,
  project: ProjectId,
  id: string,
  status: "active" | "suspended",
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set status = ${status}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** Gives an ended subscription the status it is asked to be called by: it stays ended. */
export async function rename(
  tx: Tx,
  project: ProjectId,
  { id, status }: Pick<SubscriptionRow, "id" | "status">,
  wanted: EndedStatus,
  now: Date,
): Promise<void> {
  const isSuspended = wanted === "suspended";
  await tx.run(sql`
    update subscriptions
       set status = ${isSuspended ? status : wanted}, is_called_suspended = ${isSuspended},
           updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}
