// Invoices and their fees, once they are made: read, listed, and what moves of them afterwards.

import type { Fee, Invoice, InvoiceWithFees, PaymentStatus } from "../schema/invoices.ts";
import type { Queryable, Tx } from "./db.ts";
import { NUMBER, parseNumber } from "./numbers.ts";
import { type PageRequest, page } from "./page.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type Cause = "period" | "start" | "advance" | "supplement" | "add_on" | "one_off" | "top_up";

/** Of an invoice `i`: what is still to be paid. */
export const DUE: Sql = sql`case when i.status = 'voided' then 0
  else i.total_cents - i.credit_applied_cents - i.offset_cents - i.amount_paid_cents
       + i.overpaid_cents - i.written_off_cents end`;

const COLUMNS: Sql = sql`i.id, ${NUMBER} as number, i.status, i.payment_status, i.invoice_type,
  i.customer_id, i.subscription_id, i.currency, i.subtotal_cents, i.total_cents,
  i.discount_cents, i.tax_cents, i.credit_applied_cents, i.offset_cents, i.amount_paid_cents,
  i.overpaid_cents, i.written_off_cents, i.credit_notes_cents,
  ${DUE} as amount_due_cents,
  i.issuing_date, i.due_date, i.period_start, i.period_end, i.voided_at, i.created_at, i.memo,
  i.po_number, i.metadata, i.tax_note, i.payment_url as own_payment_url`;

const FEE_COLUMNS: Sql = sql`id, invoice_id, fee_type, charge_id, billable_metric_code,
  trim_scale(units)::text as units, amount_cents, amount_currency, discount_cents,
  amount_cents - discount_cents as taxable_cents, coalesce(taxes, '[]') as taxes, properties`;

export type FeeRow = Fee & { readonly invoice_id: string };
/** With the link to pay of its own, if it has one. */
export type InvoiceRow = Omit<Invoice, "payment_url" | "customer_external_id"> & {
  readonly own_payment_url: string | null;
};

/** What only a single invoice shows. */
export type InvoiceDetails = Pick<InvoiceWithFees, "coupons" | "taxes" | "credits">;

export function getDetails(db: Queryable, project: ProjectId, id: string) {
  return db.one<InvoiceDetails>(sql`
    select coalesce(i.coupons, '[]') as coupons, coalesce(i.taxes, '[]') as taxes,
           coalesce(i.credits, '[]') as credits
      from invoices i
     where i.project_id = ${project} and i.id = ${id}`);
}

/** With what the link to pay is made of. */
export type ShownRow = InvoiceRow & {
  readonly url_template: string;
  readonly customer_external_id: string;
};

const SHOWN: Sql = sql`${COLUMNS}, p.payment_url as url_template,
  c.external_id as customer_external_id`;
function joinCustomer(project: ProjectId): Sql {
  return sql`
      join projects p on p.id = ${project}
      join customers c on c.project_id = ${project} and c.id = i.customer_id`;
}

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<ShownRow>(sql`
    select ${SHOWN}
      from invoices i ${joinCustomer(project)}
     where i.project_id = ${project} and i.id = ${id}`);
}

export async function getByNumber(db: Queryable, project: ProjectId, number: string) {
  const parsed = parseNumber(number);
  if (parsed === undefined) return undefined;
  return db.maybeOne<ShownRow>(sql`
    select ${SHOWN}
      from invoices i ${joinCustomer(project)}
     where i.project_id = ${project} and i.number_year = ${parsed.year}
       and i.number_seq = ${parsed.seq} and i.prefix = ${parsed.prefix}`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<InvoiceRow>(sql`
    select ${COLUMNS}
      from invoices i
     where i.project_id = ${project} and i.id = ${id}
       for update`);
}

/** In the order in which they were put on the invoice. */
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
  readonly status?: string;
  readonly payment_status?: string;
  readonly period_start?: string;
  readonly period_end?: string;
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
  if (filter.subscription_id) where.push(sql`i.subscription_id = ${filter.subscription_id}`);
  if (filter.status) where.push(sql`i.status = ${filter.status}`);
  if (filter.payment_status) where.push(sql`i.payment_status = ${filter.payment_status}`);
  if (filter.period_start) where.push(sql`i.period_start >= ${filter.period_start}::date`);
  if (filter.period_end) where.push(sql`i.period_end <= ${filter.period_end}::date`);
  return page<ShownRow>(
    db,
    {
      columns: SHOWN,
      from: sql`invoices i`,
      joined: joinCustomer(project),
      where,
      project: sql`i.project_id`,
      order: [{ column: sql`i.id`, type: sql`uuid` }],
      ascending: filter.oldest_first === true,
    },
    request,
  );
}

/** What moves after an invoice is issued. */
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
  /** The day on which its next step is looked for, where that changes. */
  readonly dunning_from: string | null;
};

/** Also ends the dunning of an invoice of which nothing is due. */
export function setStanding(tx: Tx, project: ProjectId, id: string, to: Standing) {
  return tx.one<InvoiceRow>(sql`
    update invoices i
       set offset_cents = ${to.offset_cents}, amount_paid_cents = ${to.amount_paid_cents},
           overpaid_cents = ${to.overpaid_cents}, written_off_cents = ${to.written_off_cents},
           credit_notes_cents = ${to.credit_notes_cents}, status = ${to.status},
           payment_status = ${to.payment_status},
           dunning_on = case when ${to.status}::text in ('outstanding', 'overdue')
                             then coalesce(${to.dunning_from}::date, i.dunning_on) end
     where i.project_id = ${project} and i.id = ${id}
    returning ${COLUMNS}`);
}

/** A void owes nothing and writes nothing off; its other figures stay as they were. */
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

/** What a caller may say of an invoice afterwards: nothing that counts. */
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

/** Unpaid invoices whose due date is over, flipped and returned. */
export function markOverdue(tx: Tx, project: ProjectId, today: string, limit: number) {
  return tx.many<InvoiceRow>(sql`
    update invoices i
       set status = 'overdue'
     where i.project_id = ${project}
       and i.id in (
         select o.id
           from invoices o
          where o.project_id = ${project} and o.status = 'outstanding'
            and o.due_date < ${today}::date
          order by o.due_date, o.id
          limit ${limit}
            for update skip locked)
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
