// Prices that one subscription has of its own, each list for one plan, and never changed.

import type { Override } from "../domain/price-lists.ts";
import type { Overrides } from "../schema/subscriptions.ts";
import type { Queryable, Tx } from "./db.ts";
import { columnsOf, rowsOf } from "./rows.ts";
import { sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type OverrideRow = Override & {
  readonly subscription_id: string;
  /** As they were sent; null where they were removed. */
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

/** Newest first. */
export function list(db: Queryable, project: ProjectId, subscription_ids: readonly string[]) {
  return db.many<OverrideRow>(sql`
    select subscription_id, override_no, plan_id, amount_cents, minimum_cents, charges, overrides,
           effective_at
      from price_overrides
     where project_id = ${project} and subscription_id = any(${subscription_ids}::uuid[])
     order by subscription_id, override_no desc`);
}

/** Subscriptions that have a list, perhaps no longer the newest, that names the catalog item. */
export async function listPricedBy(db: Queryable, project: ProjectId, item_code: string) {
  const rows = await db.many<{ subscription_id: string }>(sql`
    select distinct subscription_id
      from price_overrides
     where project_id = ${project}
       and charges @> jsonb_build_array(jsonb_build_object('catalog_item_code',
                                                           ${item_code}::text))`);
  return rows.map((row) => row.subscription_id);
}

/** Whether a live subscription's own charges name the metric or the catalog item. */
export async function isUsed(
  db: Queryable,
  project: ProjectId,
  what: { readonly metric_id: string } | { readonly catalog_item_code: string },
): Promise<boolean> {
  const { used } = await db.one<{ used: boolean }>(sql`
    select exists (
      select 1
        from price_overrides o
        join subscriptions s on s.project_id = ${project} and s.id = o.subscription_id
       where o.project_id = ${project} and s.status in ('pending', 'active', 'suspended')
         and o.plan_id in (s.plan_id, s.scheduled_plan_id)
         and o.charges @> ${JSON.stringify([what])}::jsonb
         and not exists (
           select 1
             from price_overrides n
            where n.project_id = ${project} and n.subscription_id = o.subscription_id
              and n.plan_id = o.plan_id and n.override_no > o.override_no)) as used`);
  return used;
}
