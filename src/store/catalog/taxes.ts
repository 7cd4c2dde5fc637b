// Taxes.

import { newId, type ProjectId } from "../../ids.ts";
import type { Tax, TaxUpsert } from "../../schema/taxes.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";

const COLUMNS: Sql = sql`id, code, name, trim_scale(percent)::text as percent, description,
  archived_at, created_at, updated_at`;

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project} and id = ${id}`);
}

export function getByCode(db: Queryable, project: ProjectId, code: string) {
  return db.maybeOne<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project} and code = ${code}`);
}

export function list(db: Queryable, project: ProjectId, archived: boolean, request: PageRequest) {
  const where = [sql`project_id = ${project}`];
  if (!archived) where.push(sql`archived_at is null`);
  return page<Tax>(
    db,
    {
      columns: COLUMNS,
      from: sql`taxes`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

/** All taxes of the project, archived ones too, in no order. */
export function listAll(db: Queryable, project: ProjectId) {
  return db.many<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project}`);
}

export function listLive(db: Queryable, project: ProjectId, codes: readonly string[]) {
  return db.many<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project} and code = any(${codes}::text[]) and archived_at is null`);
}

/** Keeps taxes, live or not, from being archived until the transaction ends. */
export async function hold(tx: Tx, project: ProjectId, codes: readonly string[]): Promise<void> {
  if (codes.length === 0) return;
  await tx.many(sql`
    select 1
      from taxes
     where project_id = ${project} and code = any(${codes}::text[])
     order by id
       for share`);
}

/** Live taxes, kept from being archived until the transaction ends. */
export function lockLive(tx: Tx, project: ProjectId, codes: readonly string[]) {
  return tx.many<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project} and code = any(${codes}::text[]) and archived_at is null
     order by id
       for share`);
}

/** Locks the tax as it is until the transaction ends. */
export function lockByCode(tx: Tx, project: ProjectId, code: string) {
  return tx.maybeOne<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project} and code = ${code}
       for no key update`);
}

/** Makes or changes the tax of this code; an archived one becomes live again. */
export function upsert(tx: Tx, project: ProjectId, tax: TaxUpsert, now: Date) {
  const id = newId();
  return tx.one<Tax & { created: boolean }>(sql`
    insert into taxes as t (project_id, id, code, name, percent, description, created_at,
                            updated_at)
    values (${project}, ${id}, ${tax.code}, ${tax.name}, ${tax.percent},
            ${tax.description ?? null}, ${now}, ${now})
    on conflict on constraint taxes_code_key do update
       set name = excluded.name, percent = excluded.percent,
           description = case when ${tax.description === undefined} then t.description
                              else excluded.description end,
           archived_at = null, updated_at = excluded.updated_at
    returning ${COLUMNS}, id = ${id} as created`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<Tax>(sql`
    select ${COLUMNS}
      from taxes
     where project_id = ${project} and id = ${id}
       for no key update`);
}

export async function archive(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update taxes
       set archived_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** Whether settings, a customer, or a live plan, charge or add-on name the tax. */
export async function isUsed(db: Queryable, project: ProjectId, code: string): Promise<boolean> {
  const { used } = await db.one<{ used: boolean }>(sql`
    select exists (select 1 from projects where id = ${project} and ${code} = any(tax_codes))
        or exists (select 1 from customers
                    where project_id = ${project} and ${code} = any(tax_codes))
        or exists (select 1 from plans
                    where project_id = ${project} and archived_at is null
                      and ${code} = any(tax_codes))
        or exists (select 1 from add_ons
                    where project_id = ${project} and archived_at is null
                      and ${code} = any(tax_codes))
        or exists (select 1
                     from charges c
                     join plans p on p.project_id = ${project} and p.id = c.plan_id
                    where c.project_id = ${project} and c.removed_at is null
                      and p.archived_at is null and ${code} = any(c.tax_codes)) as used`);
  return used;
}
