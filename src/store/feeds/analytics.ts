// The sums that a project's analytics reads, at the same cost for any number of rows. Triggers
// write each change as a delta, so that no writer waits for another; a worker adds them to the
// totals.

import { addDays, startOfDay, utcDate } from "../../domain/dates.ts";
import type { Interval } from "../../domain/periods.ts";
import type { ProjectId } from "../../ids.ts";
import type { Db, Queryable } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { type Sql, sql } from "../db/sql.ts";

const TOP_PLANS = 10;
const HOUR_MS = 3_600_000;

type Kind = "active" | "due" | "paid" | "net" | "tax" | "refunded" | "wallet";

/** The totals, and the deltas that are not yet part of them. */
function parts(project: ProjectId, kind: Kind, keys: Sql): Sql {
  return sql`
          select key, count, cents from analytics_totals
           where project_id = ${project} and kind = ${kind} and ${keys}
           union all
          select key, count, cents from analytics_deltas
           where project_id = ${project} and kind = ${kind} and ${keys}`;
}

/** Sums by key, without keys that count 0. */
function sums(project: ProjectId, kind: "active" | "due" | "paid", keys: Sql = sql`true`): Sql {
  return sql`
      select key, sum(count)::bigint as count, sum(cents) as cents
        from (${parts(project, kind, keys)}) t
       group by key
      having sum(count) <> 0`;
}

/** Projects with deltas, found by a look at no more than `limit` of them. */
export async function listWithDeltas(
  db: Queryable,
  limit: number,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<ProjectId[]> {
  // across projects: each delta names its own.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select distinct project_id as id
      from (select d.project_id
              from analytics_deltas d
             where ${filter(sql`d.project_id`)}
             limit ${limit}) found`);
  return rows.map((row) => row.id);
}

/** Adds at most `limit` deltas of a project to its totals; returns how many there were. */
export async function addDeltas(db: Db, project: ProjectId, limit: number): Promise<number> {
  const [row] = await db.alone<{ added: number }>(sql`
    select add_analytics_deltas(${project}, ${limit}) as added`);
  return row?.added ?? 0;
}

export type RecurringSum = {
  readonly interval: Interval;
  readonly currency: string;
  readonly cents: string;
  readonly count: number;
};

/** Active subscriptions and what they bring in each interval. */
export function recurring(db: Queryable, project: ProjectId) {
  return db.many<RecurringSum>(sql`
    select p.interval, p.amount_currency as currency, sum(s.cents)::text as cents,
           sum(s.count)::bigint as count
      from (${sums(project, "active")}) s
      join plans p on p.project_id = ${project} and p.id = s.key::uuid
     group by p.interval, p.amount_currency`);
}

export type MoneySum = {
  readonly currency: string;
  /** The amount: an integer of any length. */
  readonly cents: string;
  readonly count: number;
};

/** The sum that is still due, by currency. */
export function outstanding(db: Queryable, project: ProjectId) {
  return db.many<MoneySum>(sql`
    select key as currency, cents::text as cents, count
      from (${sums(project, "due")}) d`);
}

/** Payments with paid_at in (from, to]: whole days from the totals, first and last by payment. */
export function paid(db: Queryable, project: ProjectId, span: Span) {
  const [first, last] = [addDays(utcDate(span.from), 1), utcDate(span.to)];
  return db.many<MoneySum>(sql`
    select currency, sum(cents)::text as cents, sum(count)::bigint as count
      from (
        select substr(key, 12) as currency, cents, count
          from (${sums(project, "paid", sql`key >= ${first} and key < ${last}`)}) d
         union all
        select currency, amount_cents, 1
          from payments
         where project_id = ${project} and paid_at > ${span.from}
           and paid_at < ${startOfDay(first)}
         union all
        select currency, amount_cents, 1
          from payments
         where project_id = ${project} and paid_at >= ${startOfDay(last)}
           and paid_at <= ${span.to}) p
     group by currency`);
}

type Span = { readonly from: Date; readonly to: Date };

/**
 * The hours of a span but its first: as keys of the totals up to the end of its last hour, and the
 * instants at which its first and its last one end.
 */
function hoursOf({ from, to }: Span) {
  const hourAfter = (at: Date) => new Date((Math.floor(at.getTime() / HOUR_MS) + 1) * HOUR_MS);
  const [first, end] = [hourAfter(from), hourAfter(to)];
  const name = (at: Date) => at.toISOString().slice(0, 13);
  const keys = sql`key >= ${name(first)} and key < ${name(end)}`;
  return { keys, first, end };
}

export type IssuedSum = {
  readonly currency: string;
  /** Amounts without tax, and the tax: integers of any length. */
  readonly net: string;
  readonly tax: string;
};

/**
 * Invoices less credit notes of (from, to], without voided invoices and top-ups. Whole hours come
 * from the totals; what is later than `to` in its hour, mostly nothing, is taken off again.
 */
export function issued(db: Queryable, project: ProjectId, span: Span) {
  const { keys, first, end } = hoursOf(span);
  const rows = (sign: 1 | -1, from: Date, to: Date) => sql`
        select currency, ${sign} * (subtotal_cents - discount_cents) as net,
               ${sign} * tax_cents as tax
          from invoices
         where project_id = ${project} and created_at > ${from} and created_at < ${to}
           and status <> 'voided' and invoice_type <> 'top_up'
         union all
        select n.currency, ${-sign} * n.subtotal_cents, ${-sign} * n.tax_cents
          from credit_notes n
          join invoices i on i.project_id = ${project} and i.id = n.invoice_id
         where n.project_id = ${project} and n.created_at > ${from} and n.created_at < ${to}
           and i.invoice_type <> 'top_up'`;
  return db.many<IssuedSum>(sql`
    select currency, sum(net)::text as net, sum(tax)::text as tax
      from (
        select substr(key, 15) as currency, cents as net, 0 as tax
          from (${parts(project, "net", keys)}) n
         union all
        select substr(key, 15), 0, cents
          from (${parts(project, "tax", keys)}) t
         union all
        ${rows(1, span.from, first)}
         union all
        ${rows(-1, span.to, end)}) p
     group by currency`);
}

/** Refunds with refunded_at in (from, to]: whole hours from the totals, as in `issued`. */
export function refunded(db: Queryable, project: ProjectId, span: Span) {
  const { keys, first, end } = hoursOf(span);
  const rows = (sign: 1 | -1, from: Date, to: Date) => sql`
        select currency, ${sign} * amount_cents
          from refunds
         where project_id = ${project} and refunded_at > ${from} and refunded_at < ${to}`;
  return db.many<Omit<MoneySum, "count">>(sql`
    select currency, sum(cents)::text as cents
      from (
        select substr(key, 15) as currency, cents
          from (${parts(project, "refunded", keys)}) r
         union all
        ${rows(1, span.from, first)}
         union all
        ${rows(-1, span.to, end)}) p
     group by currency`);
}

/** The sum of all wallets, by currency. */
export function walletBalances(db: Queryable, project: ProjectId) {
  return db.many<Omit<MoneySum, "count">>(sql`
    select key as currency, sum(cents)::text as cents
      from (${parts(project, "wallet", sql`true`)}) w
     group by key`);
}

export function topPlans(db: Queryable, project: ProjectId) {
  return db.many<{ plan_code: string; plan_name: string; active_count: number }>(sql`
    select p.code as plan_code, p.name as plan_name, s.count as active_count
      from (${sums(project, "active")}) s
      join plans p on p.project_id = ${project} and p.id = s.key::uuid
     order by s.count desc, p.code
     limit ${TOP_PLANS}`);
}
