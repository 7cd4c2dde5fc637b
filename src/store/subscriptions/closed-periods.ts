// Closed periods: the prices each was billed by, what was billed, and whether late usage is open.

import type { ClosingInvoice } from "../../domain/late-periods.ts";
import type { Billed } from "../../domain/period-fees.ts";
import type { Interval } from "../../domain/periods.ts";
import type { TaxTerms } from "../../domain/taxes.ts";
import type { Levels } from "../../domain/usage-fees.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { columnsOf, rowsOf } from "../db/rows.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { NUMBER } from "../invoices/numbers.ts";

export type ClosedPeriod = {
  readonly subscription_id: string;
  readonly period_no: number;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly plan_id: string;
  readonly plan_version: number;
  readonly override_no: number | null;
  readonly anchor_date: string | null;
  readonly is_trial: boolean;
  /** Levels of weighted sums at its start. */
  readonly levels: Levels | null;
  readonly billable: boolean;
  readonly billed: Billed;
  /** Taxes in force when it was closed; null: there were none. */
  readonly taxes: TaxTerms | null;
};

const COLUMNS: Sql = sql`subscription_id, period_no, starts_at, ends_at, plan_id, plan_version,
  override_no, anchor_date, is_trial, levels, billable, billed, taxes`;

const PERIOD = {
  subscription_id: "uuid",
  period_no: "integer",
  starts_at: "timestamptz",
  ends_at: "timestamptz",
  plan_id: "uuid",
  plan_version: "integer",
  override_no: "integer",
  anchor_date: "date",
  is_trial: "boolean",
  levels: "jsonb",
  billable: "boolean",
  billed: "jsonb",
  taxes: "jsonb",
  closed_at: "timestamptz",
};

export async function insert(
  tx: Tx,
  project: ProjectId,
  periods: readonly ClosedPeriod[],
  now: Date,
): Promise<void> {
  if (periods.length === 0) return;
  const rows = periods.map((period) => ({ ...period, closed_at: now }));
  await tx.run(sql`
    insert into closed_periods (${columnsOf(PERIOD)})
    ${rowsOf(project, PERIOD, rows)}`);
}

/** Periods with usage that no invoice has billed yet. */
export function listLate(db: Queryable, project: ProjectId, subscription_ids: readonly string[]) {
  return db.many<ClosedPeriod>(sql`
    select ${COLUMNS}
      from closed_periods
     where project_id = ${project} and late and subscription_id = any(${subscription_ids}::uuid[])
     order by subscription_id, period_no`);
}

export type PlacedPeriod = Pick<
  ClosedPeriod,
  | "subscription_id"
  | "period_no"
  | "starts_at"
  | "ends_at"
  | "plan_id"
  | "anchor_date"
  | "is_trial"
  | "billable"
> & { readonly interval: Interval };

/** All closed periods of these subscriptions, newest first: late events are placed in them. */
export function list(db: Queryable, project: ProjectId, subscription_ids: readonly string[]) {
  return db.many<PlacedPeriod>(sql`
    select c.subscription_id, c.period_no, c.starts_at, c.ends_at, c.plan_id, c.anchor_date,
           c.is_trial, c.billable, p.interval
      from closed_periods c
      join plans p on p.project_id = ${project} and p.id = c.plan_id
     where c.project_id = ${project} and c.subscription_id = any(${subscription_ids}::uuid[])
     order by c.subscription_id, c.period_no desc`);
}

export type PeriodInvoice = ClosingInvoice & {
  readonly subscription_id: string;
  readonly period_no: number;
};

/** The invoices that these closed periods ended with: numbers, and what each fee was called. */
export function listInvoices(
  db: Queryable,
  project: ProjectId,
  periods: readonly Pick<ClosedPeriod, "subscription_id" | "period_no">[],
) {
  return db.many<PeriodInvoice>(sql`
    select t.subscription_id, t.period_no, ${NUMBER} as number,
           coalesce((select jsonb_object_agg(coalesce(f.charge_id::text, ''), f.properties ->> 'name')
                       from fees f
                      where f.project_id = ${project} and f.invoice_id = i.id
                        and f.part_no = t.part_no
                        and f.fee_type in ('subscription', 'charge', 'minimum')
                        and f.properties ->> 'name' is not null), '{}') as names
      from invoice_parts t ${joinPeriods(periods)}
      join invoices i on i.project_id = ${project} and i.id = t.invoice_id
     where t.project_id = ${project} and t.reason = 'period'`);
}

/** Keeps the parts `t` of these periods. */
function joinPeriods(periods: readonly Pick<ClosedPeriod, "subscription_id" | "period_no">[]): Sql {
  return sql`
      join unnest(${periods.map((period) => period.subscription_id)}::uuid[],
                  ${periods.map((period) => period.period_no)}::integer[])
           as n (subscription_id, period_no)
        on n.subscription_id = t.subscription_id and n.period_no = t.period_no`;
}

export type StartInvoice = {
  readonly subscription_id: string;
  readonly period_no: number;
  readonly id: string;
  readonly part_no: number;
  readonly number: string;
  readonly is_voided: boolean;
  /** Whether coupons or credit notes took something of it, taxes added to it, or it has a note. */
  readonly has_more: boolean;
};

/** The invoices that billed the start of these periods. */
export function listStartInvoices(
  db: Queryable,
  project: ProjectId,
  periods: readonly Pick<ClosedPeriod, "subscription_id" | "period_no">[],
) {
  return db.many<StartInvoice>(sql`
    select t.subscription_id, t.period_no, t.part_no, i.id, ${NUMBER} as number,
           i.status = 'voided' as is_voided,
           i.coupons is not null or i.credit_notes_cents > 0 or i.taxes is not null
             or i.tax_note <> '' as has_more
      from invoice_parts t ${joinPeriods(periods)}
      join invoices i on i.project_id = ${project} and i.id = t.invoice_id
     where t.project_id = ${project} and t.reason in ('start', 'advance')`);
}

export type LateMark = {
  readonly subscription_id: string;
  readonly period_no: number;
  /** Marks the periods behind it too: a level that lasts reaches them. */
  readonly and_later: boolean;
  /** When the correction of an ended subscription gets an invoice of its own; null: no time. */
  readonly settle_at: Date | null;
};

export async function markLate(
  tx: Tx,
  project: ProjectId,
  marks: readonly LateMark[],
): Promise<void> {
  await tx.run(sql`
    update closed_periods c
       set late = true, settle_at = coalesce(c.settle_at, m.settle_at)
      from json_to_recordset(${json(marks)}::json)
           as m (subscription_id uuid, period_no integer, settle_at timestamptz,
                 and_later boolean)
     where c.project_id = ${project} and c.subscription_id = m.subscription_id
       and (c.period_no = m.period_no or (m.and_later and c.period_no > m.period_no))`);
}

/** Gives late usage a day on which it is invoiced: an ended subscription has no next close. */
export async function scheduleSupplement(
  tx: Tx,
  project: ProjectId,
  subscription_id: string,
  settle_at: Date,
): Promise<void> {
  await tx.run(sql`
    update closed_periods
       set settle_at = coalesce(settle_at, ${settle_at})
     where project_id = ${project} and subscription_id = ${subscription_id} and late`);
}

/** Postpones supplements that could not be invoiced to that day. */
export async function postponeSupplements(
  tx: Tx,
  project: ProjectId,
  subscription_ids: readonly string[],
  settle_at: Date,
): Promise<void> {
  if (subscription_ids.length === 0) return;
  await tx.run(sql`
    update closed_periods
       set settle_at = ${settle_at}
     where project_id = ${project} and subscription_id = any(${subscription_ids}::uuid[])
       and settle_at is not null`);
}

export async function recordCorrections(
  tx: Tx,
  project: ProjectId,
  corrected: readonly Pick<ClosedPeriod, "subscription_id" | "period_no" | "billed" | "levels">[],
): Promise<void> {
  if (corrected.length === 0) return;
  await tx.run(sql`
    update closed_periods c
       set late = false, settle_at = null, billed = s.billed, levels = s.levels
      from json_to_recordset(${json(corrected)}::json)
           as s (subscription_id uuid, period_no integer, billed jsonb, levels jsonb)
     where c.project_id = ${project} and c.subscription_id = s.subscription_id
       and c.period_no = s.period_no`);
}

/**
 * Ended subscriptions whose late usage is due for an invoice of its own: of so many periods, which
 * are of as many subscriptions or fewer.
 */
export async function listDueSupplements(
  db: Queryable,
  project: ProjectId,
  now: Date,
  limit: number,
) {
  const rows = await db.many<{ subscription_id: string }>(sql`
    select subscription_id
      from (select subscription_id, settle_at
              from closed_periods
             where project_id = ${project} and settle_at <= ${now}
             order by settle_at, subscription_id
             limit ${limit}) due
     group by subscription_id
     order by min(settle_at), subscription_id`);
  return rows.map((row) => row.subscription_id);
}

/** The subscriptions of these for which it is due still, and since when. */
export async function keepDueSupplements(
  db: Queryable,
  project: ProjectId,
  ids: readonly string[],
  now: Date,
) {
  const rows = await db.many<{ subscription_id: string; due_at: Date }>(sql`
    select subscription_id, min(settle_at) as due_at
      from closed_periods
     where project_id = ${project} and subscription_id = any(${ids}::uuid[])
       and settle_at <= ${now}
     group by subscription_id`);
  return new Map(rows.map((row) => [row.subscription_id, row.due_at]));
}

export async function nextSupplement(db: Queryable, project: ProjectId, until: Date) {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select min(settle_at) as at
      from closed_periods
     where project_id = ${project} and settle_at <= ${until}`);
  return at;
}

/** How many supplements a subscription has had: from 0 on, the number of the next one. */
export async function countSupplements(
  db: Queryable,
  project: ProjectId,
  subscription_id: string,
): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*)
      from invoice_parts
     where project_id = ${project} and subscription_id = ${subscription_id}
       and reason = 'supplement'`);
  return count;
}
