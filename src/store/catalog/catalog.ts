// Catalog items and every price they have had.

import { newId, type ProjectId } from "../../ids.ts";
import type { CatalogItem, CatalogUpsert } from "../../schema/catalog.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { json, type Sql, sql } from "../db/sql.ts";

const COLUMNS: Sql = sql`id, code, name, amount_cents, currency, metadata, archived_at, created_at,
  updated_at`;

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<CatalogItem>(sql`
    select ${COLUMNS}
      from catalog_items
     where project_id = ${project} and id = ${id}`);
}

export function getByCode(db: Queryable, project: ProjectId, code: string) {
  return db.maybeOne<CatalogItem>(sql`
    select ${COLUMNS}
      from catalog_items
     where project_id = ${project} and code = ${code}`);
}

export function list(db: Queryable, project: ProjectId, archived: boolean, request: PageRequest) {
  const where = [sql`project_id = ${project}`];
  if (!archived) where.push(sql`archived_at is null`);
  return page<CatalogItem>(
    db,
    {
      columns: COLUMNS,
      from: sql`catalog_items`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

export function listLive(db: Queryable, project: ProjectId, codes: readonly string[]) {
  return db.many<CatalogItem>(sql`
    select ${COLUMNS}
      from catalog_items
     where project_id = ${project} and archived_at is null and code = any(${codes}::text[])
     order by id`);
}

/** Keeps items, live or not, from being archived or repriced until the transaction ends. */
export async function hold(tx: Tx, project: ProjectId, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await tx.many(sql`
    select 1
      from catalog_items
     where project_id = ${project} and code = any(${codes}::text[])
     order by id
       for share`);
}

/** Live items by code, kept from being archived or repriced until the transaction ends. */
export function lockLive(tx: Tx, project: ProjectId, codes: readonly string[]) {
  return tx.many<CatalogItem>(sql`
    select ${COLUMNS}
      from catalog_items
     where project_id = ${project} and archived_at is null and code = any(${codes}::text[])
     order by id
       for share`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<CatalogItem>(sql`
    select ${COLUMNS}
      from catalog_items
     where project_id = ${project} and id = ${id}
       for no key update`);
}

export function lockByCode(tx: Tx, project: ProjectId, code: string) {
  return tx.maybeOne<CatalogItem>(sql`
    select ${COLUMNS}
      from catalog_items
     where project_id = ${project} and code = ${code}
       for no key update`);
}

export type CatalogTerms = Required<CatalogUpsert>;

/** Makes an item; undefined when the code is taken: the caller then updates. */
export function insert(tx: Tx, project: ProjectId, item: CatalogTerms, now: Date) {
  return tx.maybeOne<CatalogItem>(sql`
    insert into catalog_items (project_id, id, code, name, amount_cents, currency, metadata,
                               created_at, updated_at)
    values (${project}, ${newId()}, ${item.code}, ${item.name}, ${item.amount_cents},
            ${item.currency}, ${json(item.metadata)}, ${now}, ${now})
    on conflict on constraint catalog_items_code_key do nothing
    returning ${COLUMNS}`);
}

/** Changes an item; an archived one becomes live again. */
export function update(tx: Tx, project: ProjectId, id: string, item: CatalogTerms, now: Date) {
  return tx.one<CatalogItem>(sql`
    update catalog_items
       set name = ${item.name}, amount_cents = ${item.amount_cents}, currency = ${item.currency},
           metadata = ${json(item.metadata)}, archived_at = null, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
}

export async function insertPrice(
  tx: Tx,
  project: ProjectId,
  item: Pick<CatalogItem, "id" | "amount_cents" | "currency">,
  now: Date,
): Promise<void> {
  // The item is locked, so no other price comes in between.
  const { version } = await tx.one<{ version: number }>(sql`
    select coalesce(max(version), 0) + 1 as version
      from catalog_prices
     where project_id = ${project} and catalog_item_id = ${item.id}`);
  await tx.run(sql`
    insert into catalog_prices (project_id, catalog_item_id, version, amount_cents, currency,
                                effective_at)
    values (${project}, ${item.id}, ${version}, ${item.amount_cents}, ${item.currency}, ${now})`);
}

/** Plans whose live charges take their price from the item, in the order of locking. */
export async function pricedPlans(db: Queryable, project: ProjectId, id: string) {
  const rows = await db.many<{ plan_id: string }>(sql`
    select distinct plan_id
      from charges
     where project_id = ${project} and catalog_item_id = ${id} and removed_at is null
     order by plan_id`);
  return rows.map((row) => row.plan_id);
}

/** Whether a live charge of a live plan, or a live add-on, takes its price from the item. */
export async function isUsed(db: Queryable, project: ProjectId, id: string): Promise<boolean> {
  const { used } = await db.one<{ used: boolean }>(sql`
    select exists (
      select 1
        from charges c
        join plans p on p.project_id = ${project} and p.id = c.plan_id
       where c.project_id = ${project} and c.catalog_item_id = ${id}
         and c.removed_at is null and p.archived_at is null)
    or exists (
      select 1
        from add_ons
       where project_id = ${project} and catalog_item_id = ${id} and archived_at is null) as used`);
  return used;
}

export async function archive(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update catalog_items
       set archived_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}
