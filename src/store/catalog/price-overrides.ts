// Prices that one subscription has of its own, each list for one plan, and never changed.

import type { Override } from "../../domain/price-lists.ts";
import type { ProjectId } from "../../ids.ts";
import type { Overrides } from "../../schema/subscriptions.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { columnsOf, rowsOf } from "../db/rows.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { NOT_ENDED } from "../subscriptions/subscriptions.ts";

export type OverrideRow = Override & {
  readonly subscription_id: string;
  /** The prices as they were sent; null: the list says that they were removed. */
  readonly overrides: Overrides | null;
};

const OVERRIDE = {
  subscription_id: "uuid",
  override_no: "integer",
  plan_id: "uuid",
  amount_cents: "bigint",
  minimum_cents: "bigint",
  charges: "jsonb",
  overrides: "jsonb",
  effective_at: "timestamptz",
};

export async function insert(tx: Tx, project: ProjectId, rows: readonly OverrideRow[]) {
  if (rows.length === 0) return;
  await tx.run(sql`
    insert into price_overrides (${columnsOf(OVERRIDE)})
    ${rowsOf(project, OVERRIDE, rows)}`);
}

/** The lists of these subscriptions, newest first. */
export function list(db: Queryable, project: ProjectId, subscription_ids: readonly string[]) {
  return db.many<OverrideRow>(sql`
    select subscription_id, override_no, plan_id, amount_cents, minimum_cents, charges, overrides,
           effective_at
      from price_overrides
     where project_id = ${project} and subscription_id = any(${subscription_ids}::uuid[])
     order by subscription_id, override_no desc`);
}

/**
 * Subscriptions with a list, perhaps no longer the newest, that names the catalog item. Lists in
 * another currency are left out: an ended subscription does not keep the item from changing its.
 */
export async function listPricedBy(
  db: Queryable,
  project: ProjectId,
  item: { readonly code: string; readonly currency: string },
) {
  const rows = await db.many<{ subscription_id: string }>(sql`
    select distinct o.subscription_id
      from price_overrides o
      join plans p on p.project_id = ${project} and p.id = o.plan_id
     where o.project_id = ${project} and p.amount_currency = ${item.currency}
       and o.charges @> ${json([{ catalog_item_code: item.code }])}::jsonb`);
  return rows.map((row) => row.subscription_id);
}

type Named = { readonly metric_id: string } | { readonly catalog_item_code: string };

/** Whether `o`, a list of the subscription `s`, counts now or next and names the metric or item. */
function countsAndNames(project: ProjectId, what: Named): Sql {
  return sql`${NOT_ENDED} and o.plan_id in (s.plan_id, s.scheduled_plan_id)
         and o.charges @> ${json([what])}::jsonb
         and not exists (
           select 1
             from price_overrides n
            where n.project_id = ${project} and n.subscription_id = o.subscription_id
              and n.plan_id = o.plan_id and n.override_no > o.override_no)`;
}

/** Whether own charges of a subscription that has not ended name the metric or the catalog item. */
export async function isUsed(db: Queryable, project: ProjectId, what: Named): Promise<boolean> {
  const { used } = await db.one<{ used: boolean }>(sql`
    select exists (
      select 1
        from price_overrides o
        join subscriptions s on s.project_id = ${project} and s.id = o.subscription_id
       where o.project_id = ${project} and ${countsAndNames(project, what)}) as used`);
  return used;
}

/** A subscription in another currency, not ended, whose own charges name the catalog item. */
export function findInOtherCurrency(
  db: Queryable,
  project: ProjectId,
  item: { readonly code: string; readonly currency: string },
) {
  return db.maybeOne<{ external_id: string; currency: string }>(sql`
    select s.external_id, p.amount_currency as currency
      from price_overrides o
      join subscriptions s on s.project_id = ${project} and s.id = o.subscription_id
      join plans p on p.project_id = ${project} and p.id = o.plan_id
     where o.project_id = ${project} and p.amount_currency <> ${item.currency}
       and ${countsAndNames(project, { catalog_item_code: item.code })}
     order by s.id
     limit 1`);
}

/** A condition on the subscription `s`: its own charges name the catalog item. */
export function ownChargesName(project: ProjectId, catalog_item_code: string): Sql {
  return sql`exists (
    select 1
      from price_overrides o
     where o.project_id = ${project} and o.subscription_id = s.id
       and ${countsAndNames(project, { catalog_item_code })})`;
}
