// Coupons, their application to customers, and what each took by use.

import type * as domain from "../../domain/coupons.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { AppliedCoupon, Coupon } from "../../schema/coupons.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { columnsOf, rowsOf } from "../db/rows.ts";
import { type Sql, sql } from "../db/sql.ts";

const TERMS: Sql = sql`trim_scale(percent)::text as percent, amount_cents, currency, times,
  plan_codes, metric_codes`;
const COLUMNS: Sql = sql`id, code, name, ${TERMS}, redeem_by, max_redemptions, redemptions,
  archived_at, created_at, updated_at`;

export type CouponTerms = Pick<
  Coupon,
  | "code"
  | "name"
  | "percent"
  | "amount_cents"
  | "currency"
  | "times"
  | "plan_codes"
  | "metric_codes"
  | "redeem_by"
  | "max_redemptions"
>;

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<Coupon>(sql`
    select ${COLUMNS}
      from coupons
     where project_id = ${project} and id = ${id}`);
}

export function getByCode(db: Queryable, project: ProjectId, code: string) {
  return db.maybeOne<Coupon>(sql`
    select ${COLUMNS}
      from coupons
     where project_id = ${project} and code = ${code}`);
}

export function list(db: Queryable, project: ProjectId, archived: boolean, request: PageRequest) {
  const where = [sql`project_id = ${project}`];
  if (!archived) where.push(sql`archived_at is null`);
  return page<Coupon>(
    db,
    {
      columns: COLUMNS,
      from: sql`coupons`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

/** Locks the coupon as it is until the transaction ends. */
export function lockByCode(tx: Tx, project: ProjectId, code: string) {
  return tx.maybeOne<Coupon>(sql`
    select ${COLUMNS}
      from coupons
     where project_id = ${project} and code = ${code}
       for no key update`);
}

/** Makes or changes the coupon of this code; an archived one becomes live, its redemptions stay. */
export function upsert(tx: Tx, project: ProjectId, c: CouponTerms, now: Date) {
  const id = newId();
  return tx.one<Coupon & { created: boolean }>(sql`
    insert into coupons (project_id, id, code, name, percent, amount_cents, currency, times,
                         plan_codes, metric_codes, redeem_by, max_redemptions, created_at,
                         updated_at)
    values (${project}, ${id}, ${c.code}, ${c.name}, ${c.percent}, ${c.amount_cents},
            ${c.currency}, ${c.times}, ${c.plan_codes}, ${c.metric_codes}, ${c.redeem_by},
            ${c.max_redemptions}, ${now}, ${now})
    on conflict on constraint coupons_code_key do update
       set name = excluded.name, percent = excluded.percent,
           amount_cents = excluded.amount_cents, currency = excluded.currency,
           times = excluded.times, plan_codes = excluded.plan_codes,
           metric_codes = excluded.metric_codes, redeem_by = excluded.redeem_by,
           max_redemptions = excluded.max_redemptions, archived_at = null,
           updated_at = excluded.updated_at
    returning ${COLUMNS}, id = ${id} as created`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<Coupon>(sql`
    select ${COLUMNS}
      from coupons
     where project_id = ${project} and id = ${id}
       for no key update`);
}

export async function archive(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update coupons
       set archived_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

export async function countRedemption(tx: Tx, project: ProjectId, id: string): Promise<void> {
  await tx.run(sql`
    update coupons
       set redemptions = redemptions + 1
     where project_id = ${project} and id = ${id}`);
}

export type AppliedRow = Omit<domain.AppliedCoupon, "uses" | "taken"> & {
  readonly coupon_id: string;
  readonly customer_id: string;
};

const APPLIED: Sql = sql`id, coupon_id, customer_id, subscription_id, code, name, ${TERMS},
  applied_at, ended_at`;

export async function insertApplied(tx: Tx, project: ProjectId, a: AppliedRow): Promise<void> {
  await tx.run(sql`
    insert into applied_coupons (project_id, id, coupon_id, customer_id, subscription_id, code,
                                 name, percent, amount_cents, currency, times, plan_codes,
                                 metric_codes, applied_at)
    values (${project}, ${a.id}, ${a.coupon_id}, ${a.customer_id}, ${a.subscription_id}, ${a.code},
            ${a.name}, ${a.percent}, ${a.amount_cents}, ${a.currency}, ${a.times}, ${a.plan_codes},
            ${a.metric_codes}, ${a.applied_at})`);
}

export function getApplied(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<AppliedRow>(sql`
    select ${APPLIED}
      from applied_coupons
     where project_id = ${project} and id = ${id}`);
}

/** Coupons applied to these customers, in the order in which they were applied. */
export function listAppliedTo(db: Queryable, project: ProjectId, customer_ids: readonly string[]) {
  return db.many<AppliedRow>(sql`
    select ${APPLIED}
      from applied_coupons
     where project_id = ${project} and customer_id = any(${customer_ids}::uuid[])
     order by customer_id, id`);
}

type AppliedFilter = {
  readonly customer?: Sql;
  readonly status?: AppliedCoupon["status"] | undefined;
};

export function listApplied(
  db: Queryable,
  project: ProjectId,
  filter: AppliedFilter,
  request: PageRequest,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  if (filter.customer) where.push(filter.customer);
  if (filter.status) where.push(hasStatus(project, filter.status));
  return page<AppliedRow>(
    db,
    {
      columns: APPLIED,
      from: sql`applied_coupons`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

function hasStatus(project: ProjectId, status: AppliedCoupon["status"]): Sql {
  if (status === "ended") return sql`ended_at is not null`;
  const used_up = isUsedUp(project);
  return status === "used_up"
    ? sql`ended_at is null and ${used_up}`
    : sql`ended_at is null and not ${used_up}`;
}

/** Whether a coupon is used up: a pot by its cents, others by their uses; never without `times`. */
function isUsedUp(project: ProjectId): Sql {
  const uses = sql`
    select sum(u.amount_cents) as cents, sum(u.use_cents) as use_cents
      from coupon_uses u
     where u.project_id = ${project} and u.applied_coupon_id = applied_coupons.id
       and not u.is_voided
     group by u.use`;
  return sql`case
    when times is null then false
    when percent is null and times = 1
      then amount_cents <= coalesce((select sum(cents) from (${uses}) u), 0)
    else times <= (select count(*) from (${uses}) u where use_cents > 0) end`;
}

/** Ends an applied coupon; false when it had ended before. */
export async function end(tx: Tx, project: ProjectId, id: string, now: Date): Promise<boolean> {
  const ended = await tx.run(sql`
    update applied_coupons
       set ended_at = ${now}
     where project_id = ${project} and id = ${id} and ended_at is null`);
  return ended === 1;
}

/** Coupons applied later than a clock that was set back count from that instant. */
export async function countFrom(tx: Tx, project: ProjectId, at: Date): Promise<void> {
  await tx.run(sql`
    update applied_coupons
       set applied_at = ${at}
     where project_id = ${project} and applied_at > ${at}`);
}

export type Use = {
  readonly applied_coupon_id: string;
  readonly use: string;
  /** Cents taken, less those taken back. */
  readonly cents: number;
  /** Cents taken, whatever was taken back: above 0 it is a use. */
  readonly use_cents: number;
};

const USES: Sql = sql`u.applied_coupon_id, u.use, sum(u.amount_cents)::bigint as cents,
  sum(u.use_cents)::bigint as use_cents`;

/** What each applied coupon has taken by use, on invoices that are not voided. */
export async function listUses(db: Queryable, project: ProjectId, ids: readonly string[]) {
  if (ids.length === 0) return [];
  return db.many<Use>(sql`
    select ${USES}
      from coupon_uses u
     where u.project_id = ${project} and u.applied_coupon_id = any(${ids}::uuid[])
       and not u.is_voided
     group by u.applied_coupon_id, u.use`);
}

export type NamedUse = Pick<Use, "applied_coupon_id" | "use">;

/** What applied coupons have taken in these uses, on invoices that are not voided. */
export async function listNamedUses(db: Queryable, project: ProjectId, named: readonly NamedUse[]) {
  if (named.length === 0) return [];
  return db.many<Use>(sql`
    select ${USES}
      from ${wanted(named)}
      join coupon_uses u on u.project_id = ${project}
       and u.applied_coupon_id = n.applied_coupon_id and u.use = n.use
     where not u.is_voided
     group by u.applied_coupon_id, u.use`);
}

function wanted(named: readonly NamedUse[]): Sql {
  const ids = named.map(({ applied_coupon_id }) => applied_coupon_id);
  const uses = named.map(({ use }) => use);
  return sql`(select distinct * from unnest(${ids}::uuid[], ${uses}::text[])
      as n (applied_coupon_id, use)) n`;
}

/** What a coupon took of a fee, as the fee keeps it. */
export type FeePart = {
  readonly applied_coupon_id: string;
  /** The line of a period that the fee is, or corrects. */
  readonly line: string | null;
  readonly left_cents: number;
  readonly amount_cents: number;
};

export type LinePart = {
  readonly applied_coupon_id: string;
  readonly line: string;
  readonly taken_cents: number;
  readonly left_cents: number;
};

/** What each coupon took of these lines so far, and what the coupons before it had left of them. */
export async function listLines(
  db: Queryable,
  project: ProjectId,
  named: readonly NamedUse[],
  lines: readonly string[],
) {
  if (named.length === 0 || lines.length === 0) return [];
  return db.many<LinePart>(sql`
    select p.applied_coupon_id, p.line, sum(p.amount_cents)::bigint as taken_cents,
           sum(p.left_cents)::bigint as left_cents
      from (select distinct u.applied_coupon_id, u.invoice_id
              from ${wanted(named)}
              join coupon_uses u on u.project_id = ${project}
               and u.applied_coupon_id = n.applied_coupon_id and u.use = n.use
             where not u.is_voided) u
      join fees f on f.project_id = ${project} and f.invoice_id = u.invoice_id
     cross join lateral json_to_recordset(f.coupons)
           as p (applied_coupon_id uuid, line text, left_cents bigint, amount_cents bigint)
     where p.applied_coupon_id = u.applied_coupon_id and p.line = any(${lines}::text[])
     group by p.applied_coupon_id, p.line`);
}

export type NewUse = {
  readonly applied_coupon_id: string;
  readonly use: string;
  readonly invoice_id: string;
  readonly amount_cents: number;
  readonly use_cents: number;
};

const USE = {
  applied_coupon_id: "uuid",
  use: "text",
  invoice_id: "uuid",
  amount_cents: "bigint",
  use_cents: "bigint",
};

export async function insertUses(tx: Tx, project: ProjectId, uses: readonly NewUse[]) {
  if (uses.length === 0) return;
  await tx.run(sql`
    insert into coupon_uses (${columnsOf(USE)})
    ${rowsOf(project, USE, uses)}`);
}

/** Undoes the uses that the invoice made. */
export async function voidUses(tx: Tx, project: ProjectId, invoice_id: string): Promise<void> {
  await tx.run(sql`
    update coupon_uses
       set is_voided = true
     where project_id = ${project} and invoice_id = ${invoice_id}`);
}
