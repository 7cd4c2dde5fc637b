// What the portal shows of a customer, and the cached views of it. A view is cached only if none
// was dropped since its computation began.

import { customerPrefixOf } from "../ids.ts";
import type { PortalPage, PortalShape } from "../schema/portal.ts";
import type { Settings } from "../schema/settings.ts";
import { DATABASE_NOW, type Db, type Queryable, type Tx } from "./db.ts";
import { isUnavailable } from "./failures.ts";
import type { Binding } from "./keys.ts";
import { NUMBER } from "./numbers.ts";
import { type PageRequest, page } from "./page.ts";
import { columnsOf, rowsOf } from "./rows.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** Stands for all customers of a project: its row says when all views were dropped. */
const ALL_CUSTOMERS = "00000000-0000-0000-0000-000000000000";

export type Found = {
  readonly project_id: ProjectId;
  readonly organization_id: string;
  readonly access: Settings["portal_access"];
  readonly links_version: number;
  readonly frozen_at: Date | null;
  readonly body: string | null;
  readonly page: PortalShape | null;
  readonly generated_at: Date | null;
};

/** The database, or a transaction, which has its connection already. */
type Access = Queryable & Partial<Pick<Db, "forProject" | "forEveryNode">>;

/**
 * The project and cached view of a customer of whom only the id is known; undefined when no
 * customer has this id, or when it `isHidden`: after the same statements, so that the time it takes
 * does not tell the two apart. The id begins with the prefix of the project.
 */
export async function find(
  db: Access,
  customer_id: string,
  isHidden: (found: Found) => boolean = () => false,
): Promise<Found | undefined> {
  const project = await db.maybeOne<{ project_id: ProjectId }>(sql`
    select id as project_id
      from projects
     where customer_prefix = ${customerPrefixOf(customer_id)}`);
  const found = project && (await findIn(db, project.project_id, customer_id));
  if (found !== undefined && !isHidden(found)) return found;
  const older = await projectOfOlder(db, customer_id);
  const other = older && (await findIn(db, older, customer_id));
  return other === undefined || isHidden(other) ? undefined : other;
}

function findIn(db: Access, project: ProjectId, customer_id: string) {
  return (db.forProject?.(project) ?? db).maybeOne<Found>(sql`
    select c.project_id, p.organization_id, p.portal_access as access,
           c.portal_links_version as links_version, p.frozen_at, v.body, v.page, v.generated_at
      from customers c
      join projects p on p.id = ${project}
      left join portal_views v on v.project_id = ${project} and v.customer_id = ${customer_id}
     where c.project_id = ${project} and c.id = ${customer_id}`);
}

/** The project of a customer from before ids began with a prefix. */
async function projectOfOlder(db: Access, customer_id: string): Promise<ProjectId | undefined> {
  const rows = await db.many<{ id: ProjectId }>(sql`
    select id
      from projects
     where has_older_customers`);
  if (rows.length === 0) return undefined;
  const projects = rows.map(({ id }) => id);
  try {
    return await findAmong(db.forEveryNode?.() ?? db, projects, customer_id);
  } catch (error) {
    if (db.forProject === undefined || !isUnavailable(error)) throw error;
    // A node is away: the customer may belong to a project of another one.
    for (const project of projects) {
      const asked = findAmong(db.forProject(project), [project], customer_id);
      const found = await asked.catch(unlessUnavailable);
      if (found !== undefined) return found;
    }
    throw error;
  }
}

async function findAmong(db: Queryable, projects: readonly ProjectId[], customer_id: string) {
  // across projects: one index probe in each that has customers from before migration 12.
  const found = await db.maybeOne<{ project_id: ProjectId }>(sql`
    select project_id
      from customers
     where project_id = any(${projects}::uuid[]) and id = ${customer_id}
     limit 1`);
  return found?.project_id;
}

function unlessUnavailable(error: unknown): undefined {
  if (!isUnavailable(error)) throw error;
}

/** How often views were dropped, the customer's and all at once, and when that was asked. */
export type Drops = { readonly own: number; readonly all: number; readonly as_of: Date };

/** To be read before what the view shows: a drop in between is then noticed. */
export function countDrops(db: Queryable, project: ProjectId, customer_id: string) {
  return db.one<Drops>(sql`
    select coalesce(v.drops, 0) as own, coalesce(e.drops, 0) as all, ${DATABASE_NOW} as as_of
      from project_anchors a
      left join portal_views v on v.project_id = ${project} and v.customer_id = ${customer_id}
      left join portal_views e on e.project_id = ${project} and e.customer_id = ${ALL_CUSTOMERS}
     where a.project_id = ${project}`);
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
  view: View,
): Promise<void> {
  await tx.many(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for share`);
  const { drops } = view;
  if ((await countDrops(tx, project, customer_id)).all !== drops.all) return;
  await tx.run(sql`
    insert into portal_views as v (project_id, customer_id, body, page, generated_at, as_of, drops)
    values (${project}, ${customer_id}, ${view.body}, ${json(view.page)}::jsonb,
            ${view.generated_at}, ${drops.as_of}, ${drops.own})
    on conflict (project_id, customer_id) do update
       set body = excluded.body, page = excluded.page, generated_at = excluded.generated_at,
           as_of = excluded.as_of
     where (v.as_of is null or v.as_of <= excluded.as_of) and v.drops = excluded.drops`);
}

const DROPPED: Sql = sql`body = null, page = null, generated_at = null, as_of = null,
  drops = v.drops + 1`;
const DROP = { customer_id: "uuid", drops: "bigint" };

/** Writes a row also where no view is cached: one may be being computed at this moment. */
export async function drop(
  tx: Tx,
  project: ProjectId,
  customer_ids: readonly string[],
): Promise<void> {
  if (customer_ids.length === 0) return;
  const rows = [...new Set(customer_ids)].sort().map((customer_id) => ({ customer_id, drops: 1 }));
  await tx.run(sql`
    insert into portal_views as v (${columnsOf(DROP)})
    ${rowsOf(project, DROP, rows)}
    on conflict (project_id, customer_id) do update
       set ${DROPPED}`);
}

/** Returns how many views were cached. Waits for those who are caching one. */
export async function dropAll(tx: Tx, project: ProjectId): Promise<number> {
  await tx.many(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for no key update`);
  await drop(tx, project, [ALL_CUSTOMERS]);
  return tx.run(sql`
    update portal_views v
       set ${DROPPED}
     where v.project_id = ${project} and v.body is not null`);
}

export type Change = {
  readonly type: string;
  readonly resource_id: string;
  readonly payload?: Readonly<Record<string, unknown>>;
};

/** Of a plan's or metric's name, of what runs up with taxes, and of the links to pay. */
function changesAll({ type, payload = {} }: Change): boolean {
  if (type === "settings.updated") return "payment_url" in payload || "tax_codes" in payload;
  return /^(plan|metric|tax)\.updated$/.test(type);
}

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
  if (changes.some(changesAll)) {
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

export function listProjects(db: Queryable, organization_id: string, within: Binding) {
  return db.many<{ id: ProjectId }>(sql`
    select id
      from projects
     where organization_id = ${organization_id}
       and (${within}::uuid[] is null or id = any(${within}::uuid[]))
     order by id`);
}

export type ShownPayment = {
  readonly id: string;
  readonly invoice_number: string;
  readonly amount_cents: number;
  readonly refunded_cents: number;
  readonly currency: string;
  readonly provider: string;
  readonly status: string;
  readonly paid_at: Date;
};

export function listPayments(
  db: Queryable,
  project: ProjectId,
  customer_id: string,
  request: PageRequest,
) {
  return page<ShownPayment>(
    db,
    {
      columns: sql`p.id, ${NUMBER} as invoice_number, p.amount_cents, p.refunded_cents, p.currency,
        p.provider, p.status, p.paid_at`,
      from: sql`payments p`,
      joined: sql`join invoices i on i.project_id = ${project} and i.id = p.invoice_id`,
      where: [sql`p.project_id = ${project}`, sql`p.customer_id = ${customer_id}`],
      project: sql`p.project_id`,
      order: [{ column: sql`p.id`, type: sql`uuid` }],
    },
    request,
  );
}

export type Due = PortalPage["due"][number];

/** What is still to be paid, by currency. */
export function listDue(db: Queryable, project: ProjectId, customer_id: string) {
  const open = sql`total_cents - credit_applied_cents - offset_cents - amount_paid_cents
    + overpaid_cents - written_off_cents`;
  return db.many<Due>(sql`
    select currency, sum(${open})::bigint as outstanding_cents,
           coalesce(sum(${open}) filter (where status = 'overdue'), 0)::bigint as overdue_cents
      from invoices
     where project_id = ${project} and customer_id = ${customer_id}
       and status in ('outstanding', 'overdue', 'uncollectible') and ${open} > 0
     group by currency
     order by currency`);
}

/** Currencies in which the customer has, or had, money that was granted to it. */
export async function listGranted(db: Queryable, project: ProjectId, customer_id: string) {
  const rows = await db.many<{ currency: string }>(sql`
    select distinct currency
      from grants
     where project_id = ${project} and customer_id = ${customer_id}
       and kind in ('free', 'paid') and status not in ('pending', 'voided')`);
  return rows.map(({ currency }) => currency);
}
