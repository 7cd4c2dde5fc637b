// The cached views of the portal, one for each customer that was looked at: kept, and dropped by
// what makes them untrue. A view counts only if none was dropped since its computation began: its
// own drops are compared as it is kept, and those of all views, which are one row, as it is read.

import type { ProjectId } from "../../ids.ts";
import type { PortalShape } from "../../schema/portal.ts";
import { DATABASE_NOW, type Db, type Queryable, type Tx } from "../db/db.ts";
import { columnsOf, rowsOf } from "../db/rows.ts";
import { json, type Sql, sql } from "../db/sql.ts";

/** Stands for all customers of a project: its row says how often all views were dropped. */
const ALL_CUSTOMERS = "00000000-0000-0000-0000-000000000000";

/** How often the customer's view was dropped, and all views at once; and when that was read. */
export type Drops = { readonly own: number; readonly all: number; readonly as_of: Date };

/** Must be read before what the view shows: a drop in between is then noticed. */
export function countDrops(db: Queryable, project: ProjectId, customer_id: string) {
  return db.one<Drops>(sql`
    select coalesce(v.drops, 0) as own, coalesce(e.drops, 0) as all, ${DATABASE_NOW} as as_of
      from project_anchors a
      left join portal_views v on v.project_id = ${project} and v.customer_id = ${customer_id}
      left join portal_views e on e.project_id = ${project} and e.customer_id = ${ALL_CUSTOMERS}
     where a.project_id = ${project}`);
}

/** Joins the customer's view as `v` to a statement, unless it or all views were dropped since. */
export function joinView(project: ProjectId, customer_id: string): Sql {
  return sql`
      left join portal_views e on e.project_id = ${project} and e.customer_id = ${ALL_CUSTOMERS}
      left join portal_views v on v.project_id = ${project} and v.customer_id = ${customer_id}
            and v.all_drops = coalesce(e.drops, 0)`;
}

export type View = {
  readonly body: string;
  readonly page: PortalShape;
  readonly generated_at: Date;
  readonly drops: Drops;
};

/** Caches a view, unless a newer one is there or it was dropped while this one was computed. */
export async function keep(
  tx: Tx,
  project: ProjectId,
  customer_id: string,
  { body, page, generated_at, drops }: View,
): Promise<void> {
  await tx.run(sql`
    insert into portal_views as v
      (project_id, customer_id, body, page, generated_at, as_of, drops, all_drops)
    values (${project}, ${customer_id}, ${body}, ${json(page)}::jsonb, ${generated_at},
            ${drops.as_of}, ${drops.own}, ${drops.all})
    on conflict (project_id, customer_id) do update
       set body = excluded.body, page = excluded.page, generated_at = excluded.generated_at,
           as_of = excluded.as_of, all_drops = excluded.all_drops
     where (v.as_of is null or v.as_of <= excluded.as_of) and v.drops = excluded.drops
       and v.all_drops <= excluded.all_drops`);
}

const DROP = { customer_id: "uuid", drops: "bigint" };

/**
 * Drops the views of these customers. Writes a row also where none is cached: one may be being
 * computed at this moment.
 */
export async function drop(
  tx: Tx,
  project: ProjectId,
  customer_ids: readonly string[],
): Promise<void> {
  for (const statement of dropOf(project, customer_ids)) await tx.run(statement);
}

function dropOf(project: ProjectId, customer_ids: Iterable<string>): Sql[] {
  const rows = [...new Set(customer_ids)].sort().map((customer_id) => ({ customer_id, drops: 1 }));
  if (rows.length === 0) return [];
  return [
    sql`
    insert into portal_views as v (${columnsOf(DROP)})
    ${rowsOf(project, DROP, rows)}
    on conflict (project_id, customer_id) do update
       set body = null, page = null, generated_at = null, as_of = null, drops = v.drops + 1`,
  ];
}

/** Drops every view by the one row that all are compared with, and returns how many there were. */
export async function dropAll(tx: Tx, project: ProjectId): Promise<number> {
  const { count } = await tx.one<{ count: number }>(sql`
    select count(*) as count
      from project_anchors a
      left join portal_views e on e.project_id = ${project} and e.customer_id = ${ALL_CUSTOMERS}
      join portal_views v on v.project_id = ${project} and v.body is not null
           and v.all_drops = coalesce(e.drops, 0)
     where a.project_id = ${project}`);
  await drop(tx, project, [ALL_CUSTOMERS]);
  return count;
}

/** What a transaction drops of a project: some views, or all of them. */
type Dropped = { all: boolean; readonly customer_ids: Set<string> };

const droppedBy = new WeakMap<Tx, Map<ProjectId, Dropped>>();

/**
 * What is added to the answer is dropped with the commit: a transaction that goes on to lock its
 * customers holds no view meanwhile.
 */
function atCommit(tx: Tx, project: ProjectId): Dropped {
  let projects = droppedBy.get(tx);
  if (projects === undefined) {
    const dropped = new Map<ProjectId, Dropped>();
    tx.beforeCommit(() =>
      [...dropped].flatMap(([id, { all, customer_ids }]) =>
        dropOf(id, all ? [ALL_CUSTOMERS] : customer_ids),
      ),
    );
    droppedBy.set(tx, dropped);
    projects = dropped;
  }
  const known = projects.get(project) ?? { all: false, customer_ids: new Set<string>() };
  projects.set(project, known);
  return known;
}

/** A setting of the process, handed on by whoever changes something. */
export type ViewRule = {
  /** Every change of a customer's data drops the customer's cached view. */
  readonly portal_auto_invalidate: boolean;
};

/** A change as the log has it. */
type Change = {
  readonly type: string;
  readonly resource_id: string;
  readonly payload?: Readonly<Record<string, unknown>>;
};

/** Changes of names, and of what usage comes to with taxes: they stand in the views of many. */
const SHOWN_TO_MANY = ["plan.updated", "metric.updated", "tax.updated"];

function concernsAll({ type, payload = {} }: Change): boolean {
  if (type === "settings.updated") return "payment_url" in payload || "tax_codes" in payload;
  return SHOWN_TO_MANY.includes(type);
}

/**
 * Drops the views of customers that were updated, and with `portal_auto_invalidate` every view that
 * the changes make untrue. Without it no statement is run for changes of other kinds.
 */
export async function dropChanged(
  tx: Tx,
  project: ProjectId,
  changes: readonly Change[],
  { portal_auto_invalidate }: ViewRule,
): Promise<void> {
  const patched = changes.filter(({ type }) => type === "customer.updated");
  if (!portal_auto_invalidate) {
    if (patched.length === 0) return;
    const { customer_ids } = atCommit(tx, project);
    for (const { resource_id } of patched) customer_ids.add(resource_id);
    return;
  }
  if (changes.some(concernsAll)) {
    atCommit(tx, project).all = true;
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
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select customer_id from grants
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select customer_id from credit_notes
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select customer_id from applied_coupons
     where project_id = ${project} and id = any(${ids}::uuid[])
    union
    select p.customer_id
      from refunds r
      join payments p on p.project_id = ${project} and p.id = r.payment_id
     where r.project_id = ${project} and r.id = any(${ids}::uuid[])`);
  if (touched.length === 0) return;
  const { customer_ids } = atCommit(tx, project);
  for (const { customer_id } of touched) customer_ids.add(customer_id);
}

/**
 * Drops the views that new usage makes untrue, which is not logged event by event. `used`, the
 * subscriptions with usage, are asked for only where they are needed.
 */
export async function dropUsed(
  db: Db,
  project: ProjectId,
  used: () => readonly string[],
  { portal_auto_invalidate }: ViewRule,
): Promise<void> {
  if (!portal_auto_invalidate) return;
  const subscription_ids = used();
  if (subscription_ids.length === 0) return;
  const users = await db.many<{ customer_id: string }>(sql`
    select distinct customer_id
      from subscriptions
     where project_id = ${project} and id = any(${[...new Set(subscription_ids)]}::uuid[])`);
  const customer_ids = users.map(({ customer_id }) => customer_id);
  await db.tx((tx) => drop(tx, project, customer_ids));
}
