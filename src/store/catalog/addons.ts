// Add-ons: one-off items with a price of their own or of a catalog item.

import { newId, type ProjectId } from "../../ids.ts";
import type { AddOn, AppliedAddOn } from "../../schema/addons.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";

const COLUMNS: Sql = sql`a.id, a.code, a.name, a.description, i.code as catalog_item_code,
  coalesce(i.amount_cents, a.amount_cents) as amount_cents,
  coalesce(i.currency, a.currency) as currency, 'immediate' as invoice_timing, a.tax_codes,
  a.archived_at, a.created_at, a.updated_at`;
function joinItem(project: ProjectId): Sql {
  return sql`
      left join catalog_items i on i.project_id = ${project} and i.id = a.catalog_item_id`;
}
function tableOf(project: ProjectId): Sql {
  return sql`add_ons a ${joinItem(project)}`;
}

export type AddOnTerms = {
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly catalog_item_id: string | null;
  readonly amount_cents: number | null;
  readonly currency: string | null;
  readonly tax_codes: readonly string[] | null;
};

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<AddOn>(sql`
    select ${COLUMNS}
      from ${tableOf(project)}
     where a.project_id = ${project} and a.id = ${id}`);
}

export function getByCode(db: Queryable, project: ProjectId, code: string) {
  return db.maybeOne<AddOn>(sql`
    select ${COLUMNS}
      from ${tableOf(project)}
     where a.project_id = ${project} and a.code = ${code}`);
}

export function list(db: Queryable, project: ProjectId, archived: boolean, request: PageRequest) {
  const where = [sql`a.project_id = ${project}`];
  if (!archived) where.push(sql`a.archived_at is null`);
  return page<AddOn>(
    db,
    {
      columns: COLUMNS,
      from: sql`add_ons a`,
      joined: joinItem(project),
      where,
      project: sql`a.project_id`,
      order: [{ column: sql`a.id`, type: sql`uuid` }],
    },
    request,
  );
}

/**
 * Locks the add-on against changes, and then reads it with its price: locked in the join, one that
 * has got another catalog item meanwhile would be joined with its former item, and have no price.
 */
export async function lock(tx: Tx, project: ProjectId, id: string) {
  const [, addOn] = await Promise.all([
    tx.many(sql`
    select 1
      from add_ons
     where project_id = ${project} and id = ${id}
       for share`),
    get(tx, project, id),
  ]);
  return addOn;
}

/** Locks the add-on as it is until the transaction ends. */
export async function lockByCode(tx: Tx, project: ProjectId, code: string) {
  await tx.run(sql`
    select 1
      from add_ons
     where project_id = ${project} and code = ${code}
       for no key update`);
  return getByCode(tx, project, code);
}

/** Makes or changes the add-on of this code; an archived one becomes live again. */
export function upsert(tx: Tx, project: ProjectId, addOn: AddOnTerms, now: Date) {
  const id = newId();
  return tx.one<{ id: string; created: boolean }>(sql`
    insert into add_ons (project_id, id, code, name, description, catalog_item_id, amount_cents,
                         currency, tax_codes, created_at, updated_at)
    values (${project}, ${id}, ${addOn.code}, ${addOn.name}, ${addOn.description},
            ${addOn.catalog_item_id}, ${addOn.amount_cents}, ${addOn.currency},
            ${addOn.tax_codes}, ${now}, ${now})
    on conflict on constraint add_ons_code_key do update
       set name = excluded.name, description = excluded.description,
           catalog_item_id = excluded.catalog_item_id, amount_cents = excluded.amount_cents,
           currency = excluded.currency, tax_codes = excluded.tax_codes, archived_at = null,
           updated_at = excluded.updated_at
    returning id, id = ${id} as created`);
}

/** Archives the add-on; false when it was archived before. */
export async function archive(tx: Tx, project: ProjectId, id: string, now: Date): Promise<boolean> {
  const archived = await tx.run(sql`
    update add_ons
       set archived_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id} and archived_at is null`);
  return archived === 1;
}

export async function insertApplied(
  tx: Tx,
  project: ProjectId,
  applied: AppliedAddOn,
): Promise<void> {
  const a = applied;
  await tx.run(sql`
    insert into applied_add_ons (project_id, id, customer_id, add_on_id, invoice_id, amount_cents,
                                 currency, applied_at)
    values (${project}, ${a.id}, ${a.customer_id}, ${a.add_on_id}, ${a.invoice_id},
            ${a.amount_cents}, ${a.currency}, ${a.applied_at})`);
}
