// Subscriptions and their suspensions.

import type { Suspension } from "../domain/periods.ts";
import type { Advance } from "../domain/pricing.ts";
import type { Levels } from "../domain/usage-fees.ts";
import { canonicalUuid, newId } from "../ids.ts";
import type { BillingTime, Overrides, SubscriptionStatus } from "../schema/subscriptions.ts";
import type { Queryable, Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type SubscriptionRow = {
  readonly id: string;
  readonly external_id: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly status: SubscriptionStatus;
  readonly billing_time: BillingTime;
  /** Where anniversaries are counted from; null: the periods are the calendar's. */
  readonly anchor_date: string | null;
  readonly is_anchor_given: boolean;
  readonly properties: Record<string, unknown>;
  readonly started_at: Date;
  readonly period_no: number;
  readonly current_period_start: Date;
  /** Half-open: where the next period starts. */
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
  readonly created_at: Date;
};

/** With the names that people know customer and plan by. */
export type NamedSubscription = SubscriptionRow & {
  readonly plan_code: string;
  readonly customer_external_id: string;
};

/** With what its invoices and webhooks say about customer and plan. */
export type BilledSubscription = NamedSubscription & {
  readonly customer_name: string;
  readonly customer_email: string;
};

const COLUMNS: Sql = sql`s.id, s.external_id, s.customer_id, s.plan_id, s.status,
  s.billing_time, s.anchor_date, s.is_anchor_given, s.properties, s.started_at, s.period_no,
  s.current_period_start, s.current_period_next, s.plan_version, s.override_no, s.overrides,
  s.scheduled_plan_id, s.in_trial, s.trial_ends_at, s.ends_at, s.advance, s.levels, s.metadata,
  s.terminated_at, s.set_aside_reason, s.created_at`;

const NAMED_COLUMNS: Sql = sql`${COLUMNS}, p.code as plan_code,
  c.external_id as customer_external_id`;
/** Each table by the project itself: a cluster that had to follow it would ask all nodes. */
function joinNames(project: ProjectId): Sql {
  return sql`
      join customers c on c.project_id = ${project} and c.id = s.customer_id
      join plans p on p.project_id = ${project} and p.id = s.plan_id`;
}

export const BILLED_COLUMNS: Sql = sql`${NAMED_COLUMNS}, c.name as customer_name, c.email as customer_email`;
export function billedTable(project: ProjectId): Sql {
  return sql`subscriptions s ${joinNames(project)}`;
}

/** With a period that is open, or a first one to come. */
export const LIVE: Sql = sql`s.status in ('pending', 'active', 'suspended')`;

/** When anything is due next: the start, the end that was set, or the end of the period. */
export const DUE_AT: Sql = sql`least(s.current_period_next, s.ends_at,
  case when s.status = 'pending' then s.started_at end)`;

/** `ext:` finds the live subscription of this name, else the newest ended one. */
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
     order by ${LIVE} desc, s.id desc
     limit 1`);
}

export function getBilled(db: Queryable, project: ProjectId, ref: string) {
  return db.maybeOne<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and ${refCondition(ref)}
     order by ${LIVE} desc, s.id desc
     limit 1`);
}

/** Locked until the transaction ends: no close and no other change meanwhile. */
export async function lock(tx: Tx, project: ProjectId, ref: string) {
  const found = await get(tx, project, ref);
  if (found === undefined) return undefined;
  return tx.maybeOne<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and s.id = ${found.id}
       for update of s`);
}

/** Several of them, in the order of their ids, which is that of all who lock several. */
export function lockBilled(tx: Tx, project: ProjectId, ids: readonly string[]) {
  return tx.many<BilledSubscription>(sql`
    select ${BILLED_COLUMNS}
      from ${billedTable(project)}
     where s.project_id = ${project} and s.id = any(${ids}::uuid[])
     order by s.id
       for update of s`);
}

/** The same without reading them. */
export async function lockAll(tx: Tx, project: ProjectId, ids: readonly string[]): Promise<void> {
  await tx.many(sql`
    select 1
      from subscriptions
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for no key update`);
}

/** Those that live and cannot be billed; there is an index of them alone. */
export async function countFailed(db: Queryable, project: ProjectId): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*) as count
      from subscriptions s
     where s.project_id = ${project} and s.set_aside_reason is not null and ${LIVE}`);
  return count;
}

export type SubscriptionFilter = {
  readonly customer_id?: string;
  readonly customer?: Sql;
  readonly status?: string;
  readonly plan_id?: string;
  readonly external_id?: string;
  /** "1": whose period could not be billed; "0": the others. */
  readonly billing_error?: string;
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
  if (filter.status) where.push(sql`s.status = ${filter.status}`);
  if (filter.plan_id) where.push(sql`s.plan_id = ${filter.plan_id}`);
  if (filter.external_id !== undefined) where.push(sql`s.external_id = ${filter.external_id}`);
  // Written out, so that the index of those that are set aside serves it.
  if (filter.billing_error === "1") where.push(sql`s.set_aside_reason is not null`);
  if (filter.billing_error === "0") where.push(sql`s.set_aside_reason is null`);
  return page<NamedSubscription>(
    db,
    {
      columns: NAMED_COLUMNS,
      from: sql`subscriptions s`,
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
        from subscriptions
       where project_id = ${project} and plan_id = ${plan_id} and status = 'active') as active`);
  return active;
}

export async function hasAny(db: Queryable, project: ProjectId): Promise<boolean> {
  const { any } = await db.one<{ any: boolean }>(sql`
    select exists (select 1 from subscriptions where project_id = ${project}) as any`);
  return any;
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

/** Undefined when a live subscription has the external_id. */
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

/** Fields that a caller changes and nothing else depends on. */
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

/** Merged by the database, so that two patches at once both count. */
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
  change: { status: SubscriptionStatus; terminated_at: Date | null },
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update subscriptions
       set status = ${change.status}, terminated_at = ${change.terminated_at}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

export async function insertSuspension(
  tx: Tx,
  project: ProjectId,
  subscription_id: string,
  from: Date,
): Promise<void> {
  await tx.run(sql`
    insert into suspensions (project_id, subscription_id, id, suspended_at)
    values (${project}, ${subscription_id}, ${newId()}, ${from})`);
}

export async function endSuspension(
  tx: Tx,
  project: ProjectId,
  subscription_id: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update suspensions
       set resumed_at = ${now}
     where project_id = ${project} and subscription_id = ${subscription_id}
       and resumed_at is null`);
}

export type SuspensionRow = Suspension & { readonly subscription_id: string };

export function listSuspensions(db: Queryable, project: ProjectId, ids: readonly string[]) {
  return db.many<SuspensionRow>(sql`
    select subscription_id, suspended_at as "from", resumed_at as "to"
      from suspensions
     where project_id = ${project} and subscription_id = any(${ids}::uuid[])
     order by subscription_id, id`);
}
