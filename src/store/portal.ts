// What the portal shows of a customer, and the cached views of it. A view is cached only if it was
// computed from a snapshot that has every change that dropped the one before.

import type { UsageDay } from "../domain/aggregation.ts";
import type { PortalPage } from "../schema/portal.ts";
import type { Db, Queryable, Tx } from "./db.ts";
import { NUMBER } from "./invoices.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";
import type { PeriodRef } from "./usage.ts";

/** Stands for all customers of a project: its row says when all views were dropped. */
const ALL_CUSTOMERS = "00000000-0000-0000-0000-000000000000";

export type Found = {
  readonly project_id: ProjectId;
  readonly frozen_at: Date | null;
  readonly body: string | null;
  readonly page: PortalPage | null;
  readonly generated_at: Date | null;
};

/** The customer's project and cached view; undefined when no customer has this id. */
export function find(db: Queryable, customer_id: string) {
  // across projects: the id is all a visitor has, and it is 122 random bits.
  return db.maybeOne<Found>(sql`
    select c.project_id, p.frozen_at, v.body, v.page, v.generated_at
      from customers c
      join projects p on p.id = c.project_id
      left join portal_views v on v.project_id = c.project_id and v.customer_id = c.id
     where c.id = ${customer_id}
     limit 1`);
}

/** The snapshot of the transaction it is called in. */
export async function snapshot(db: Queryable): Promise<string> {
  const { seen } = await db.one<{ seen: string }>(sql`
    select pg_current_snapshot()::text as seen`);
  return seen;
}

export type View = {
  readonly body: string;
  readonly page: PortalPage;
  readonly generated_at: Date;
  readonly seen: string;
};

/** Caches a view, unless a newer one is there or it was dropped while this one was computed. */
export async function keep(
  tx: Tx,
  project: ProjectId,
  customer_id: string,
  view: View,
): Promise<void> {
  await tx.many(sql`select pg_advisory_xact_lock_shared(${purgeKey(project)})`);
  await tx.run(sql`
    insert into portal_views as v (project_id, customer_id, body, page, generated_at, as_of)
    select ${project}, ${customer_id}, ${view.body}, ${json(view.page)}::jsonb,
           ${view.generated_at}, pg_snapshot_xmax(${view.seen}::pg_snapshot)
     where not exists (
       select 1
         from portal_views e
        where e.project_id = ${project} and e.customer_id = ${ALL_CUSTOMERS}
          and not pg_visible_in_snapshot(e.dropped_by, ${view.seen}::pg_snapshot))
    on conflict (project_id, customer_id) do update
       set body = excluded.body, page = excluded.page, generated_at = excluded.generated_at,
           as_of = excluded.as_of
     where (v.as_of is null or v.as_of <= excluded.as_of
            -- Written by another server and restored here: its transaction ids are not ours.
            or v.as_of > pg_snapshot_xmax(pg_current_snapshot()))
       and (v.dropped_by is null or pg_visible_in_snapshot(v.dropped_by, ${view.seen}::pg_snapshot)
            or v.dropped_by > pg_snapshot_xmax(pg_current_snapshot()))`);
}

/** The advisory lock that a purge of the project takes alone; whoever caches a view shares it. */
function purgeKey(project: ProjectId): Sql {
  return sql`hashtextextended(${`portal ${project}`}::text, 0)`;
}

const DROPPED: Sql = sql`body = null, page = null, generated_at = null, as_of = null,
  dropped_by = pg_current_xact_id()`;

/** Writes a row also where no view is cached: one may be being computed at this moment. */
export async function drop(
  tx: Tx,
  project: ProjectId,
  customer_ids: readonly string[],
): Promise<void> {
  if (customer_ids.length === 0) return;
  const sorted = [...new Set(customer_ids)].sort();
  await tx.run(sql`
    insert into portal_views (project_id, customer_id, dropped_by)
    select ${project}, c.id, pg_current_xact_id()
      from unnest(${sorted}::uuid[]) as c (id)
    on conflict (project_id, customer_id) do update
       set ${DROPPED}`);
}

/** Returns how many views were cached. */
export async function dropAll(tx: Tx, project: ProjectId): Promise<number> {
  await tx.many(sql`select pg_advisory_xact_lock(${purgeKey(project)})`);
  await drop(tx, project, [ALL_CUSTOMERS]);
  return tx.run(sql`
    update portal_views
       set ${DROPPED}
     where project_id = ${project} and body is not null`);
}

export type Change = { readonly type: string; readonly resource_id: string };

/**
 * Drops the views of customers that were updated, and with `portal_auto_invalidate` every view that
 * the changes make untrue. Without it no statement is run for changes of other kinds.
 */
export async function dropChanged(
  tx: Tx,
  project: ProjectId,
  changes: readonly Change[],
): Promise<void> {
  const patched = changes.filter(({ type }) => type === "customer.updated");
  if (!tx.portal_auto_invalidate) {
    await drop(
      tx,
      project,
      patched.map(({ resource_id }) => resource_id),
    );
    return;
  }
  if (changes.some(({ type }) => /^(plan|metric)\.updated$/.test(type))) {
    await dropAll(tx, project);
    return;
  }
  const ids = changes.map(({ resource_id }) => resource_id);
  const touched = await tx.many<{ customer_id: string }>(sql`
    select id as customer_id from customers
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select customer_id from subscriptions
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select customer_id from invoices
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select customer_id from payments
     where project_id = ${project} and id = any(${ids}::uuid[])`);
  await drop(
    tx,
    project,
    touched.map(({ customer_id }) => customer_id),
  );
}

/** The same for usage, which is not logged event by event; `used` lists the subscriptions. */
export async function dropUsed(
  db: Db,
  project: ProjectId,
  used: () => readonly string[],
): Promise<void> {
  if (!db.portal_auto_invalidate) return;
  const subscription_ids = used();
  if (subscription_ids.length === 0) return;
  const users = await db.many<{ customer_id: string }>(sql`
    select distinct customer_id
      from subscriptions
     where project_id = ${project} and id = any(${[...new Set(subscription_ids)]}::uuid[])`);
  const customer_ids = users.map(({ customer_id }) => customer_id);
  await db.tx((tx) => drop(tx, project, customer_ids));
}

export function listProjects(db: Queryable, organization_id: string) {
  return db.many<{ id: ProjectId }>(sql`
    select id
      from projects
     where organization_id = ${organization_id}
     order by id`);
}

/** The project of a customer, if it is one of the organization's. */
export function projectOf(db: Queryable, organization_id: string, customer_id: string) {
  // across projects: narrowed to the caller's organization.
  return db.maybeOne<{ id: ProjectId }>(sql`
    select p.id
      from customers c
      join projects p on p.id = c.project_id
     where c.id = ${customer_id} and p.organization_id = ${organization_id}
     limit 1`);
}

export type DayRow = PeriodRef & UsageDay & { readonly metric_id: string; readonly day: string };

/** The days of several open periods at once. */
export function listDays(db: Queryable, project: ProjectId, periods: readonly PeriodRef[]) {
  return db.many<DayRow>(sql`
    select d.subscription_id, d.period_no, d.metric_id, d.day, d.events, d.sum::text as sum,
           d.max::text as max, d.latest::text as latest, d.uniques, d.last_at,
           d.last_arrival::text as last_arrival
      from usage_days d
      join unnest(${periods.map((period) => period.subscription_id)}::uuid[],
                  ${periods.map((period) => period.period_no)}::integer[])
           as w (subscription_id, period_no)
        on w.subscription_id = d.subscription_id and w.period_no = d.period_no
     where d.project_id = ${project}
     order by d.subscription_id, d.metric_id, d.day`);
}

export type ShownPayment = {
  readonly id: string;
  readonly invoice_number: string;
  readonly amount_cents: number;
  readonly currency: string;
  readonly provider: string;
  readonly status: string;
  readonly paid_at: Date;
};

export function listPayments(db: Queryable, project: ProjectId, customer_id: string, max: number) {
  return db.many<ShownPayment>(sql`
    select p.id, ${NUMBER} as invoice_number, p.amount_cents, p.currency, p.provider, p.status,
           p.paid_at
      from payments p
      join invoices i on i.project_id = p.project_id and i.id = p.invoice_id
     where p.project_id = ${project} and p.customer_id = ${customer_id}
     order by p.id desc
     limit ${max}`);
}

export type Due = PortalPage["due"][number];

/** What is still to be paid, by currency. */
export function listDue(db: Queryable, project: ProjectId, customer_id: string) {
  const open = sql`greatest(total_cents - amount_paid_cents - credit_applied_cents, 0)`;
  return db.many<Due>(sql`
    select currency, sum(${open})::bigint as outstanding_cents,
           coalesce(sum(${open}) filter (where status = 'overdue'), 0)::bigint as overdue_cents
      from invoices
     where project_id = ${project} and customer_id = ${customer_id}
       and status in ('outstanding', 'overdue')
     group by currency
     order by currency`);
}

export function listPlanNames(db: Queryable, project: ProjectId, ids: readonly string[]) {
  return db.many<{ id: string; name: string }>(sql`
    select id, name
      from plans
     where project_id = ${project} and id = any(${ids}::uuid[])`);
}

export function listMetricNames(db: Queryable, project: ProjectId, ids: readonly string[]) {
  return db.many<{ id: string; name: string }>(sql`
    select id, name
      from metrics
     where project_id = ${project} and id = any(${ids}::uuid[])`);
}
