// Invoices and their fees, once they are made: read, listed, and what moves of them afterwards.

import { addDays, startOfDay } from "../../domain/dates.ts";
import type { PlainPart } from "../../domain/parts.ts";
import type { Exemption } from "../../domain/taxes.ts";
import type { ProjectId } from "../../ids.ts";
import { INVOICE_STATUSES, PAYMENT_STATUSES } from "../../schema/enums.ts";
import type { Fee, Invoice, InvoiceWithFees, PaymentStatus } from "../../schema/invoices.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Apart, type PageRequest, page } from "../db/page.ts";
import { recordset } from "../db/rows.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { hasNumber, NUMBER } from "./numbers.ts";

/** Why something is invoiced: a close, a start, late usage, or what a call makes. */
export type Reason =
  | "period"
  | "start"
  | "advance"
  | "supplement"
  | "add_on"
  | "one_off"
  | "top_up";

/** What is still to be paid of an invoice `i`. */
export const DUE: Sql = sql`case when i.status = 'voided' then 0
  else i.total_cents - i.credit_applied_cents - i.offset_cents - i.amount_paid_cents
       + i.overpaid_cents - i.written_off_cents end`;

const COLUMNS: Sql = sql`i.id, ${NUMBER} as number, i.status, i.payment_status, i.invoice_type,
  i.customer_id, i.subscription_id, i.currency, i.subtotal_cents, i.total_cents,
  i.discount_cents, i.tax_cents, i.credit_applied_cents, i.offset_cents, i.amount_paid_cents,
  i.overpaid_cents, i.written_off_cents, i.credit_notes_cents,
  ${DUE} as amount_due_cents,
  i.issuing_date, i.due_date, i.period_start, i.period_end, i.part_count, i.voided_at, i.created_at, i.memo,
  i.po_number, i.metadata, i.tax_note, i.payment_url as own_payment_url`;

const FEE_COLUMNS: Sql = sql`id, invoice_id, part_no as part, fee_type, charge_id, billable_metric_code,
  trim_scale(units)::text as units, amount_cents, amount_currency, discount_cents,
  amount_cents - discount_cents as taxable_cents, coalesce(taxes, '[]') as taxes, properties`;

export type FeeRow = Omit<Fee, "subscription_id"> & { readonly invoice_id: string };
/** An invoice with its own link to pay, if it has one. */
export type InvoiceRow = Omit<
  Invoice,
  "payment_url" | "customer_external_id" | "customer_name" | "subscription_count"
> & { readonly own_payment_url: string | null };

export type FeeExemption = Exemption & { readonly id: string };

/** Why fees of the invoice have no tax, as it was kept with them. */
export function listExemptions(db: Queryable, project: ProjectId, id: string) {
  return db.many<FeeExemption>(sql`
    select id, tax_category, tax_reason
      from fees
     where project_id = ${project} and invoice_id = ${id} and tax_category is not null`);
}

/** The parts of an invoice that lists do not show. */
export type InvoiceDetails = Pick<InvoiceWithFees, "coupons" | "taxes" | "credits"> & {
  /** Its parts that are of subscriptions, in their order, with instants as text. */
  readonly parts: readonly (Omit<PlainPart, "due_at"> & { readonly due_at: string })[];
};

export function getDetails(db: Queryable, project: ProjectId, id: string) {
  return db.one<InvoiceDetails>(sql`
    select coalesce(i.coupons, '[]') as coupons, coalesce(i.taxes, '[]') as taxes,
           coalesce(i.credits, '[]') as credits, coalesce(p.parts, '[]') as parts
      from invoices i
     cross join lateral (
        select json_agg(
                 json_build_object(
                   'subscription_id', t.subscription_id, 'subscription_external_id', s.external_id,
                   'plan_code', t.plan_code, 'reason', t.reason, 'period_start', t.period_start,
                   'period_end', t.period_end, 'due_at', t.due_at, 'set_aside', t.set_aside)
                 order by t.part_no) as parts
          from invoice_parts t
          join subscriptions s on s.project_id = ${project} and s.id = t.subscription_id
         where t.project_id = ${project} and t.invoice_id = i.id) p
     where i.project_id = ${project} and i.id = ${id}`);
}

/** An invoice with what its link to pay is made of. */
export type ShownRow = InvoiceRow & {
  readonly url_template: string;
  readonly customer_external_id: string;
  readonly customer_name: string;
  readonly subscription_count: number;
};

/** Subscriptions are counted only where there may be several of them. */
function shown(project: ProjectId): Sql {
  return sql`${COLUMNS}, p.payment_url as url_template,
  c.external_id as customer_external_id, c.name as customer_name,
  case when i.part_count = 1 then (i.subscription_id is not null)::integer
       else (select count(distinct t.subscription_id)::integer
               from invoice_parts t
              where t.project_id = ${project} and t.invoice_id = i.id) end as subscription_count`;
}

function joinCustomer(project: ProjectId): Sql {
  return sql`
      join projects p on p.id = ${project}
      join customers c on c.project_id = ${project} and c.id = i.customer_id`;
}

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<ShownRow>(sql`
    select ${shown(project)}
      from invoices i ${joinCustomer(project)}
     where i.project_id = ${project} and i.id = ${id}`);
}

export function getByNumber(db: Queryable, project: ProjectId, number: string) {
  return db.maybeOne<ShownRow>(sql`
    select ${shown(project)}
      from invoices i ${joinCustomer(project)}
     where i.project_id = ${project} and ${hasNumber("i", number)}`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<InvoiceRow>(sql`
    select ${COLUMNS}
      from invoices i
     where i.project_id = ${project} and i.id = ${id}
       for no key update`);
}

/** The fees in the order in which they were put on the invoice. */
export function listFees(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<FeeRow>(sql`
    select ${FEE_COLUMNS}
      from fees
     where project_id = ${project} and invoice_id = ${invoice_id}
     order by id`);
}

export type InvoiceFilter = {
  readonly customer?: Sql;
  readonly subscription_id?: string;
  readonly number?: string;
  readonly status?: string;
  readonly payment_status?: string;
  readonly period_start?: string;
  readonly period_end?: string;
  /** Days of issue, both included. */
  readonly issued_from?: string;
  readonly issued_to?: string;
  /** The newest come first unless it is true. */
  readonly oldest_first?: boolean;
};

export function list(
  db: Queryable,
  project: ProjectId,
  filter: InvoiceFilter,
  request: PageRequest,
) {
  const where: Sql[] = [sql`i.project_id = ${project}`];
  if (filter.customer) where.push(filter.customer);
  if (filter.subscription_id) where.push(hasPartOf(project, filter.subscription_id));
  if (filter.number !== undefined) where.push(hasNumber("i", filter.number));
  if (filter.status) where.push(sql`i.status = ${filter.status}`);
  if (filter.payment_status) where.push(sql`i.payment_status = ${filter.payment_status}`);
  // One that starts on a day or later does not end before it: so the index by end serves both.
  if (filter.period_start) {
    where.push(sql`i.period_start >= ${filter.period_start}::date`);
    where.push(sql`i.period_end >= ${filter.period_start}::date`);
  }
  if (filter.period_end) where.push(sql`i.period_end <= ${filter.period_end}::date`);
  // The day of issue is that of created_at.
  if (filter.issued_from) where.push(sql`i.created_at >= ${startOfDay(filter.issued_from)}`);
  if (filter.issued_to) {
    where.push(sql`i.created_at < ${startOfDay(addDays(filter.issued_to, 1))}`);
  }
  return page<ShownRow>(
    db,
    {
      columns: shown(project),
      from: sql`invoices i`,
      ...apartOf(filter),
      joined: joinCustomer(project),
      where,
      project: sql`i.project_id`,
      order: [...orderedBy(filter), { column: sql`i.id`, type: sql`uuid` }],
      ascending: filter.oldest_first === true,
    },
    request,
  );
}

/** Whether a part of the invoice `i` is of the subscription. */
function hasPartOf(project: ProjectId, subscription_id: string): Sql {
  return sql`i.id in (
        select t.invoice_id
          from invoice_parts t
         where t.project_id = ${project} and t.subscription_id = ${subscription_id})`;
}

/** Spans of time are listed in their own order, which their indexes have. */
function orderedBy(filter: InvoiceFilter) {
  if (filter.period_start ?? filter.period_end) {
    return [{ column: sql`i.period_end`, type: sql`date` }];
  }
  if (filter.issued_from ?? filter.issued_to) {
    return [{ column: sql`i.created_at`, type: sql`timestamptz` }];
  }
  return [];
}

/** The index by status has both statuses before the id; it is for lists by these alone. */
function apartOf(filter: InvoiceFilter): { apart?: Apart } {
  const { status, payment_status, customer, subscription_id, number } = filter;
  const isOfFew = customer !== undefined || (subscription_id ?? number) !== undefined;
  if (isOfFew || orderedBy(filter).length > 0) return {};
  const alias = sql`i`;
  if (status && !payment_status) {
    const values = sql`unnest(${PAYMENT_STATUSES}::text[]) as v (payment_status)`;
    return { apart: { values, on: sql`i.payment_status = v.payment_status`, alias } };
  }
  if (payment_status && !status) {
    const values = sql`unnest(${INVOICE_STATUSES}::text[]) as v (status)`;
    return { apart: { values, on: sql`i.status = v.status`, alias } };
  }
  return {};
}

/** The figures that move after an invoice is issued. */
export type Standing = Pick<
  Invoice,
  | "offset_cents"
  | "amount_paid_cents"
  | "overpaid_cents"
  | "written_off_cents"
  | "credit_notes_cents"
  | "status"
  | "payment_status"
> & {
  /** The day on which the next dunning step is looked for; null: as before. */
  readonly dunning_from: string | null;
  /** The day on which a settled invoice is due again; null: as before. */
  readonly reopened_on: string | null;
};

/** Writes the standing; dunning ends where nothing is due. */
export function setStanding(tx: Tx, project: ProjectId, id: string, to: Standing) {
  return tx.one<InvoiceRow>(sql`
    update invoices i
       set offset_cents = ${to.offset_cents}, amount_paid_cents = ${to.amount_paid_cents},
           overpaid_cents = ${to.overpaid_cents}, written_off_cents = ${to.written_off_cents},
           credit_notes_cents = ${to.credit_notes_cents}, status = ${to.status},
           payment_status = ${to.payment_status},
           reopened_on = coalesce(${to.reopened_on}::date, i.reopened_on),
           dunning_on = case when ${to.status}::text in ('outstanding', 'overdue')
                             then coalesce(${to.dunning_from}::date, i.dunning_on) end
     where i.project_id = ${project} and i.id = ${id}
    returning ${COLUMNS}`);
}

/** Voids an invoice: it owes nothing and writes nothing off; its other figures stay. */
export function recordVoided(
  tx: Tx,
  project: ProjectId,
  id: string,
  payment_status: PaymentStatus,
  now: Date,
) {
  return tx.one<InvoiceRow>(sql`
    update invoices i
       set status = 'voided', payment_status = ${payment_status}, written_off_cents = 0,
           voided_at = ${now}, dunning_on = null
     where i.project_id = ${project} and i.id = ${id}
    returning ${COLUMNS}`);
}

/** Changes what callers may say of an invoice after it is issued: nothing that counts. */
export function setDetails(
  tx: Tx,
  project: ProjectId,
  id: string,
  to: Pick<InvoiceRow, "memo" | "po_number" | "metadata" | "own_payment_url">,
) {
  return tx.one<InvoiceRow>(sql`
    update invoices i
       set memo = ${to.memo}, po_number = ${to.po_number}, metadata = ${json(to.metadata)},
           payment_url = ${to.own_payment_url}
     where i.project_id = ${project} and i.id = ${id}
    returning ${COLUMNS}`);
}

/**
 * Unpaid invoices whose due date is over, locked; those that another worker has are skipped. They
 * are taken from the front of the index, which those that are overdue have left.
 */
export function lockPastDue(tx: Tx, project: ProjectId, today: string, limit: number) {
  return tx.many<Pick<InvoiceRow, "id" | "due_date" | "invoice_type">>(sql`
    select i.id, i.due_date, i.invoice_type
      from invoices i
     where i.project_id = ${project} and i.status = 'outstanding' and i.due_date < ${today}::date
     order by i.due_date, i.id
     limit ${limit}
       for no key update skip locked`);
}

const FIRST_STEP = { id: "uuid", step_on: "date" };

/** Marks invoices overdue, each with the day of its first dunning step, where there is one. */
export function markOverdue(
  tx: Tx,
  project: ProjectId,
  invoices: readonly { readonly id: string; readonly step_on: string | null }[],
) {
  return tx.many<InvoiceRow>(sql`
    update invoices i
       set status = 'overdue', dunning_on = n.step_on
      from ${recordset("n", FIRST_STEP, invoices)}
     where i.project_id = ${project} and i.id = n.id
    returning ${COLUMNS}`);
}

/** The due date of the unpaid invoice that becomes overdue next. */
export async function nextDueDate(db: Queryable, project: ProjectId, before: string) {
  const { date } = await db.one<{ date: string | null }>(sql`
    select min(due_date) as date
      from invoices
     where project_id = ${project} and status = 'outstanding' and due_date < ${before}::date`);
  return date;
}
