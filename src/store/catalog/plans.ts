// Plans, their charges as callers see them, and the price lists that periods are billed by.

import type { ChargePrice } from "../../domain/charge-properties.ts";
import type { PlanVersion, PricedCharge } from "../../domain/pricing.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { Charge, Plan, PlanCreate } from "../../schema/plans.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { columnsOf, rowsOf } from "../db/rows.ts";
import { type Sql, sql } from "../db/sql.ts";

export type PlanRow = Omit<Plan, "charges"> & { readonly version: number };

/** A charge with everything resolved: what callers see, and what prices it. */
export type ChargeRow = Charge & {
  readonly position: number;
  readonly rate: string | null;
  readonly price: ChargePrice;
  readonly catalog_item_id: string | null;
  readonly catalog_amount_cents: number | null;
  readonly aggregation_type: PricedCharge["aggregation_type"];
  readonly dimensions: readonly string[] | null;
  readonly weighted_by: "hour" | "period" | null;
};

/** A charge about to be written. */
export type ChargeTerms = {
  readonly id: string;
  readonly position: number;
  readonly name: string | null;
  readonly charge_model: Charge["charge_model"];
  readonly invoice_timing: Charge["invoice_timing"];
  readonly metric_id: string | null;
  readonly rate: string | null;
  readonly price: ChargePrice;
  readonly catalog_item_id: string | null;
  readonly amount_override_cents: number | null;
  readonly quantity_from: string | null;
  readonly tax_codes: readonly string[] | null;
  readonly properties: Record<string, unknown>;
};

const COLUMNS: Sql = sql`id, code, name, description, category, interval, amount_cents,
  amount_currency, minimum_cents, base_timing, trial_days, tax_codes, labels, archived_at,
  created_at, version`;

const CHARGE_COLUMNS: Sql = sql`c.id, c.plan_id, c.position, c.name, c.charge_model,
  c.invoice_timing, c.metric_id as billable_metric_id, m.code as billable_metric_code,
  m.aggregation_type, m.dimensions, m.weighted_by, trim_scale(c.rate)::text as rate, c.price,
  c.catalog_item_id, i.code as catalog_item_code,
  i.amount_cents as catalog_amount_cents, c.amount_override_cents, c.quantity_from, c.tax_codes,
  c.properties,
  c.created_at`;

const CHARGE = {
  id: "uuid",
  plan_id: "uuid",
  position: "integer",
  name: "text",
  charge_model: "text",
  invoice_timing: "text",
  metric_id: "uuid",
  rate: "numeric",
  price: "jsonb",
  catalog_item_id: "uuid",
  amount_override_cents: "bigint",
  quantity_from: "text",
  tax_codes: "text[]",
  properties: "jsonb",
  created_at: "timestamptz",
};

const VERSION = {
  plan_id: "uuid",
  version: "integer",
  amount_cents: "bigint",
  minimum_cents: "bigint",
  base_timing: "text",
  tax_codes: "text[]",
  charges: "jsonb",
  effective_at: "timestamptz",
};

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<PlanRow>(sql`
    select ${COLUMNS}
      from plans
     where project_id = ${project} and id = ${id}`);
}

/** The live plan of this code, else the newest archived one. */
export function getByCode(db: Queryable, project: ProjectId, code: string) {
  return db.maybeOne<PlanRow>(sql`
    select ${COLUMNS}
      from plans
     where project_id = ${project} and code = ${code}
     order by archived_at is null desc, id desc
     limit 1`);
}

export function list(db: Queryable, project: ProjectId, archived: boolean, request: PageRequest) {
  const where = [sql`project_id = ${project}`];
  if (!archived) where.push(sql`archived_at is null`);
  return page<PlanRow>(
    db,
    {
      columns: COLUMNS,
      from: sql`plans`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

/** The charges that are in force of these plans, in the order in which they were given. */
export function listCharges(db: Queryable, project: ProjectId, plan_ids: readonly string[]) {
  return db.many<ChargeRow>(sql`
    select ${CHARGE_COLUMNS}
      from charges c
      left join metrics m on m.project_id = ${project} and m.id = c.metric_id
      left join catalog_items i on i.project_id = ${project} and i.id = c.catalog_item_id
     where c.project_id = ${project} and c.plan_id = any(${plan_ids}::uuid[])
       and c.removed_at is null
     order by c.plan_id, c.position, c.id`);
}

/** Locks plans against other changes of them and their prices. */
export function lock(tx: Tx, project: ProjectId, plan_ids: readonly string[]) {
  return tx.many<PlanRow>(sql`
    select ${COLUMNS}
      from plans
     where project_id = ${project} and id = any(${plan_ids}::uuid[])
     order by id
       for no key update`);
}

/** Keeps plans, live or not, from being archived or repriced until the transaction ends. */
export async function hold(tx: Tx, project: ProjectId, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.many(sql`
    select 1
      from plans
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for share`);
}

/** Locks a plan against archiving while a subscription is made on it. */
export function lockShared(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<PlanRow>(sql`
    select ${COLUMNS}
      from plans
     where project_id = ${project} and id = ${id}
       for share`);
}

/** Makes a plan; undefined when a live one has the code. */
export function insert(
  tx: Tx,
  project: ProjectId,
  plan: Required<Omit<PlanCreate, "charges">>,
  now: Date,
) {
  return tx.maybeOne<PlanRow>(sql`
    insert into plans (project_id, id, code, name, description, category, interval, amount_cents,
                       amount_currency, minimum_cents, base_timing, trial_days, tax_codes, labels, version,
                       created_at, updated_at)
    values (${project}, ${newId()}, ${plan.code}, ${plan.name}, ${plan.description},
            ${plan.category}, ${plan.interval}, ${plan.amount_cents}, ${plan.amount_currency},
            ${plan.minimum_cents}, ${plan.base_timing}, ${plan.trial_days}, ${plan.tax_codes},
            ${plan.labels}, 1,
            ${now}, ${now})
    on conflict (project_id, code) where archived_at is null do nothing
    returning ${COLUMNS}`);
}

export type PlanFields = Pick<
  PlanRow,
  | "name"
  | "description"
  | "category"
  | "labels"
  | "amount_cents"
  | "minimum_cents"
  | "base_timing"
  | "trial_days"
  | "tax_codes"
>;

export function update(tx: Tx, project: ProjectId, id: string, plan: PlanFields, now: Date) {
  return tx.one<PlanRow>(sql`
    update plans
       set name = ${plan.name}, description = ${plan.description}, category = ${plan.category},
           labels = ${plan.labels}, amount_cents = ${plan.amount_cents},
           minimum_cents = ${plan.minimum_cents}, base_timing = ${plan.base_timing},
           trial_days = ${plan.trial_days}, tax_codes = ${plan.tax_codes}, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
}

export async function archive(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update plans
       set archived_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

export async function insertCharges(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  charges: readonly ChargeTerms[],
  now: Date,
): Promise<void> {
  if (charges.length === 0) return;
  const rows = charges.map((charge) => ({ ...charge, plan_id, created_at: now }));
  await tx.run(sql`
    insert into charges (${columnsOf(CHARGE)})
    ${rowsOf(project, CHARGE, rows)}`);
}

/** Removes charges from force. The rows stay: closed periods still refer to them. */
export async function removeCharges(
  tx: Tx,
  project: ProjectId,
  ids: readonly string[],
  now: Date,
): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(sql`
    update charges
       set removed_at = ${now}
     where project_id = ${project} and id = any(${ids}::uuid[])`);
}

export async function moveCharges(
  tx: Tx,
  project: ProjectId,
  moves: readonly { id: string; position: number }[],
): Promise<void> {
  if (moves.length === 0) return;
  await tx.run(sql`
    update charges c
       set position = m.position
      from unnest(${moves.map((move) => move.id)}::uuid[],
                  ${moves.map((move) => move.position)}::integer[]) as m (id, position)
     where c.project_id = ${project} and c.id = m.id and c.position <> m.position`);
}

export type NewVersion = Pick<
  PlanVersion,
  "plan_id" | "version" | "amount_cents" | "minimum_cents" | "base_timing" | "tax_codes" | "charges"
>;

/** Writes price lists, which their plans point at from now on. */
export async function insertVersions(
  tx: Tx,
  project: ProjectId,
  versions: readonly NewVersion[],
  now: Date,
): Promise<void> {
  const rows = versions.map((version) => ({ tax_codes: null, ...version, effective_at: now }));
  await tx.run(sql`
    insert into plan_versions (${columnsOf(VERSION)})
    ${rowsOf(project, VERSION, rows)}`);
  await tx.run(sql`
    update plans p
       set version = v.version
      from unnest(${versions.map(({ plan_id }) => plan_id)}::uuid[],
                  ${versions.map(({ version }) => version)}::integer[]) as v (plan_id, version)
     where p.project_id = ${project} and p.id = v.plan_id`);
}

/** Lists that were made later than the clock, which was set back, count from that instant. */
export async function countFrom(tx: Tx, project: ProjectId, at: Date): Promise<void> {
  await tx.run(sql`
    update plan_versions
       set effective_at = ${at}
     where project_id = ${project} and effective_at > ${at}`);
}

export type VersionRow = PlanVersion & { readonly effective_at: Date };

/** Every price list these plans have had, newest first. */
export function listVersions(db: Queryable, project: ProjectId, plan_ids: readonly string[]) {
  return db.many<VersionRow>(sql`
    select v.plan_id, v.version, p.code as plan_code, p.interval, p.amount_currency as currency,
           v.amount_cents, v.minimum_cents, v.base_timing, v.tax_codes, v.charges, v.effective_at
      from plan_versions v
      join plans p on p.project_id = ${project} and p.id = v.plan_id
     where v.project_id = ${project} and v.plan_id = any(${plan_ids}::uuid[])
     order by v.plan_id, v.version desc`);
}
