// The dunning policy, the steps that were sent, and the invoices a step is due for.

import type { ProjectId } from "../../ids.ts";
import type { Dunning, DunningStep } from "../../schema/dunning.ts";
import type { InvoiceStatus } from "../../schema/invoices.ts";
import type { SubscriptionStatus } from "../../schema/subscriptions.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { columnsOf, recordset, rowsOf } from "../db/rows.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { DUE } from "./invoices.ts";
import { NUMBER } from "./numbers.ts";

/** A policy with the day on which it was switched on: no step is counted from a day before. */
export type Policy = Dunning & { readonly enabled_on: string | null };

/** The project's policy: dunning is off where none was ever set. */
export async function getPolicy(db: Queryable, project: ProjectId): Promise<Policy> {
  const policy = await db.maybeOne<Policy>(sql`
    select enabled, steps, enabled_on
      from dunning_policies
     where project_id = ${project}`);
  return policy ?? { enabled: false, steps: [], enabled_on: null };
}

/**
 * Keeps the policy as it is until the commit, for who plans steps by it; who changes it waits.
 * Otherwise an invoice could be planned by neither, or reminded of after dunning was switched off.
 * The anchor is locked, as there may be no row of a policy.
 */
export async function holdPolicy(tx: Tx, project: ProjectId): Promise<void> {
  await tx.many(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for share`);
}

/** Locks the policy, to change it. */
export async function lockPolicy(tx: Tx, project: ProjectId): Promise<void> {
  await tx.many(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for no key update`);
}

/** An id before those of all invoices. */
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** Sets the policy that is in force from now on. A job plans what it means for overdue invoices. */
export async function putPolicy(
  tx: Tx,
  project: ProjectId,
  policy: Policy,
  now: Date,
): Promise<void> {
  const { enabled, steps, enabled_on } = policy;
  await tx.run(sql`
    insert into dunning_policies as d (project_id, enabled, steps, enabled_on, updated_at,
                                       replan_after)
    values (${project}, ${enabled}, ${json(steps)}, ${enabled_on}, ${now}, ${FIRST_ID})
    on conflict (project_id) do update
       set enabled = excluded.enabled, steps = excluded.steps, enabled_on = excluded.enabled_on,
           updated_at = excluded.updated_at, version = d.version + 1,
           replan_after = excluded.replan_after, replan_queued_at = excluded.replan_queued_at,
           replan_done = 0`);
}

/** How far a version of the policy has planned overdue invoices anew: up to the one `after`. */
export type Replan = {
  readonly version: number;
  readonly after: string;
  /** How many it has planned. */
  readonly done: number;
};

/** How far the job is that plans anew; undefined when all are planned. */
export function getReplan(db: Queryable, project: ProjectId) {
  return db.maybeOne<Replan>(sql`
    select version, replan_after as after, replan_done as done
      from dunning_policies
     where project_id = ${project} and replan_after is not null`);
}

/** Notes how far the job is that plans anew; null: all are planned. */
export async function moveReplan(
  tx: Tx,
  project: ProjectId,
  { after, done }: { readonly after: string | null; readonly done: number },
): Promise<void> {
  await tx.run(sql`
    update dunning_policies
       set replan_after = ${after}, replan_done = ${done}
     where project_id = ${project}`);
}

/** A policy that was switched on later than the clock, which was set back, is on since that day. */
export async function countFrom(tx: Tx, project: ProjectId, today: string): Promise<void> {
  await lockPolicy(tx, project);
  await tx.run(sql`
    update dunning_policies
       set enabled_on = ${today}::date
     where project_id = ${project} and enabled_on > ${today}::date`);
}

/** An overdue invoice with all that its reminders say. */
export type DunnedInvoice = {
  readonly id: string;
  readonly number: string;
  readonly status: InvoiceStatus;
  readonly invoice_type: string;
  readonly total_cents: number;
  readonly amount_due_cents: number;
  readonly currency: string;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly reopened_on: string | null;
  readonly sent: string[];
  readonly last_sent_on: string | null;
  readonly customer_id: string;
  readonly customer_external_id: string;
  readonly customer_name: string;
  readonly customer_email: string;
  /** The subscription that all of it is of; null: it is of several, or of none. */
  readonly subscription: DunnedSubscription | null;
};

/** A subscription as it is now. */
export type DunnedSubscription = {
  readonly id: string;
  readonly external_id: string;
  readonly plan_code: string;
  readonly status: SubscriptionStatus;
};

/** What was sent for the invoice `i`. */
function sentFor(project: ProjectId): Sql {
  return sql`
      left join lateral (
        select array_agg(webhook_event) as sent, max(sent_on) as last_sent_on
          from dunning_steps x
         where x.project_id = ${project} and x.invoice_id = i.id) d on true`;
}

/**
 * Invoices with a step due, locked and then read; those that another worker has are skipped. The
 * first statement takes as many as are wanted from the front of the index and looks at no others.
 * Each limit has one row looked up: without it whole tables are joined to a few hundred invoices.
 */
export async function lockDue(tx: Tx, project: ProjectId, today: string, limit: number) {
  const due = await tx.many<{ id: string }>(sql`
    select i.id
      from invoices i
     where i.project_id = ${project} and i.dunning_on <= ${today}::date
     order by i.dunning_on, i.id
     limit ${limit}
       for no key update skip locked`);
  if (due.length === 0) return [];
  return tx.many<DunnedInvoice>(sql`
    select i.id, ${NUMBER} as number, i.status, i.invoice_type, i.total_cents,
           ${DUE} as amount_due_cents, i.currency, i.issuing_date, i.due_date, i.reopened_on,
           coalesce(d.sent, '{}') as sent, d.last_sent_on, c.id as customer_id,
           c.external_id as customer_external_id, c.name as customer_name,
           c.email as customer_email,
           case when s.id is not null
                then json_build_object('id', s.id, 'external_id', s.external_id,
                                       'plan_code', s.plan_code, 'status', s.status)
           end as subscription
      from invoices i
     cross join lateral (
        select c.id, c.external_id, c.name, c.email
          from customers c
         where c.project_id = ${project} and c.id = i.customer_id
         limit 1) c
      left join lateral (
        select s.id, s.external_id, s.status, p.code as plan_code
          from subscriptions s
          join plans p on p.project_id = ${project} and p.id = s.plan_id
         where s.project_id = ${project} and s.id = i.subscription_id
         limit 1) s on true ${sentFor(project)}
     where i.project_id = ${project} and i.id = any(${due.map(({ id }) => id)}::uuid[])
     order by i.dunning_on, i.id`);
}

/**
 * The subscriptions that owe on these invoices of several: those whose lines, less discounts, come
 * to more than 0. In the order of the lines.
 */
export function listOwing(db: Queryable, project: ProjectId, invoice_ids: readonly string[]) {
  return db.many<DunnedSubscription & { readonly invoice_id: string }>(sql`
    select o.invoice_id, s.id, s.external_id, p.code as plan_code, s.status
      from (select t.invoice_id, t.subscription_id, min(t.part_no) as first
              from invoice_parts t
              join fees f on f.project_id = ${project} and f.invoice_id = t.invoice_id
                   and f.part_no = t.part_no
             where t.project_id = ${project} and t.invoice_id = any(${invoice_ids}::uuid[])
             group by t.invoice_id, t.subscription_id
            having sum(f.amount_cents - f.discount_cents) > 0) o
      join subscriptions s on s.project_id = ${project} and s.id = o.subscription_id
      join plans p on p.project_id = ${project} and p.id = s.plan_id
     order by o.invoice_id, o.first`);
}

/** What an invoice's next step follows from. */
export type Progress = Pick<
  DunnedInvoice,
  "due_date" | "reopened_on" | "invoice_type" | "sent" | "last_sent_on"
>;

/** The overdue invoices behind this one. */
export async function listOverdue(db: Queryable, project: ProjectId, after: string, limit: number) {
  const rows = await db.many<{ id: string }>(sql`
    select id
      from invoices
     where project_id = ${project} and status = 'overdue' and id > ${after}
     order by id
     limit ${limit}`);
  return rows.map(({ id }) => id);
}

/** Locks these invoices, and reads those that are still overdue. */
export async function lockOverdue(tx: Tx, project: ProjectId, ids: readonly string[]) {
  const [, overdue] = await Promise.all([
    tx.many(sql`
    select 1
      from invoices
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for no key update`),
    tx.many<Progress & { readonly id: string }>(sql`
    select i.id, i.due_date, i.reopened_on, i.invoice_type, coalesce(d.sent, '{}') as sent,
           d.last_sent_on
      from invoices i ${sentFor(project)}
     where i.project_id = ${project} and i.id = any(${ids}::uuid[]) and i.status = 'overdue'
     order by i.id`),
  ]);
  return overdue;
}

/** The next step of an invoice; null: it has none. */
export type NextStep = { readonly id: string; readonly step_on: string | null };

const NEXT_STEP = { id: "uuid", step_on: "date" };

export async function setNext(
  tx: Tx,
  project: ProjectId,
  next: readonly NextStep[],
): Promise<void> {
  if (next.length === 0) return;
  await tx.run(sql`
    update invoices i
       set dunning_on = n.step_on
      from ${recordset("n", NEXT_STEP, next)}
     where i.project_id = ${project} and i.id = n.id and i.dunning_on is distinct from n.step_on`);
}

/** A step that was sent, or was answered already and so done without. */
export type SentStep = {
  readonly invoice_id: string;
  readonly webhook_event: DunningStep["webhook_event"];
  readonly sent_on: string;
};

const STEP = { invoice_id: "uuid", webhook_event: "text", sent_on: "date" };

export async function recordSent(
  tx: Tx,
  project: ProjectId,
  steps: readonly SentStep[],
): Promise<void> {
  if (steps.length === 0) return;
  await tx.run(sql`
    insert into dunning_steps (${columnsOf(STEP)})
    ${rowsOf(project, STEP, steps)}`);
}

/** The day of the next step of any invoice, if there is one until the day. */
export async function nextDay(db: Queryable, project: ProjectId, until: string) {
  const { on } = await db.one<{ on: string | null }>(sql`
    select min(dunning_on) as "on"
      from invoices
     where project_id = ${project} and dunning_on <= ${until}::date`);
  return on;
}
