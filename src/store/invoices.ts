// Invoices, their fees and their numbers.

import type { InvoiceDraft } from "../domain/invoicing.ts";
import type { Fee, Invoice, InvoiceStatus, PaymentStatus } from "../schema/invoices.ts";
import type { Queryable, Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { columnsOf, rowsOf } from "./rows.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type Cause = "period" | "start" | "advance" | "supplement" | "add_on";

export const NUMBER: Sql = sql`'INV-' || i.number_year::text || '-' || case when i.number_seq < 10000
  then lpad(i.number_seq::text, 4, '0') else i.number_seq::text end`;

const COLUMNS: Sql = sql`i.id, ${NUMBER} as number, i.status, i.payment_status, i.invoice_type,
  i.customer_id, i.subscription_id, i.currency, i.subtotal_cents, i.total_cents,
  i.credit_applied_cents, i.amount_paid_cents,
  case when i.status = 'voided' then 0
       else greatest(i.total_cents - i.amount_paid_cents - i.credit_applied_cents, 0)
  end as amount_due_cents,
  i.issuing_date, i.due_date, i.period_start, i.period_end, i.voided_at, i.created_at`;

const FEE_COLUMNS: Sql = sql`id, invoice_id, fee_type, charge_id, billable_metric_code,
  trim_scale(units)::text as units, amount_cents, amount_currency, properties`;

export type FeeRow = Fee & { readonly invoice_id: string };

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<Invoice>(sql`
    select ${COLUMNS}
      from invoices i
     where i.project_id = ${project} and i.id = ${id}`);
}

const NUMBER_SHAPE = /^INV-(\d{4})-(\d{4,9})$/;

export async function getByNumber(db: Queryable, project: ProjectId, number: string) {
  const [, year, seq] = NUMBER_SHAPE.exec(number) ?? [];
  if (year === undefined || seq === undefined) return undefined;
  return db.maybeOne<Invoice>(sql`
    select ${COLUMNS}
      from invoices i
     where i.project_id = ${project} and i.number_year = ${Number(year)}
       and i.number_seq = ${Number(seq)}`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<Invoice>(sql`
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
  return page<Invoice>(
    db,
    {
      columns: COLUMNS,
      from: sql`invoices i`,
      where,
      project: sql`i.project_id`,
      order: [{ column: sql`i.id`, type: sql`uuid` }],
    },
    request,
  );
}

/** The first of `count` numbers without a gap. Locks the counter until the transaction ends. */
export async function takeNumbers(
  tx: Tx,
  project: ProjectId,
  year: number,
  count: number,
): Promise<number> {
  const { last } = await tx.one<{ last: number }>(sql`
    insert into invoice_counters as c (project_id, year, last)
    values (${project}, ${year}, ${count})
    on conflict (project_id, year) do update set last = c.last + excluded.last
    returning last`);
  return last - count + 1;
}

export type NewInvoice = Omit<InvoiceDraft, "fees" | "credit_cents"> & {
  readonly id: string;
  readonly number_year: number;
  readonly number_seq: number;
  readonly customer_id: string;
  readonly subscription_id: string | null;
  readonly cause: Cause;
  readonly period_no: number;
  readonly cause_no: number;
  readonly invoice_type: Invoice["invoice_type"];
  readonly status: InvoiceStatus;
  readonly payment_status: PaymentStatus;
  readonly credit_applied_cents: number;
};

const INVOICE = {
  id: "uuid",
  number_year: "integer",
  number_seq: "integer",
  customer_id: "uuid",
  subscription_id: "uuid",
  cause: "text",
  period_no: "integer",
  cause_no: "integer",
  invoice_type: "text",
  status: "text",
  payment_status: "text",
  currency: "text",
  subtotal_cents: "bigint",
  total_cents: "bigint",
  credit_applied_cents: "bigint",
  issuing_date: "date",
  due_date: "date",
  period_start: "date",
  period_end: "date",
  created_at: "timestamptz",
};

export function insert(tx: Tx, project: ProjectId, rows: readonly NewInvoice[], now: Date) {
  const dated = rows.map((row) => ({ ...row, created_at: now }));
  return tx.many<Invoice>(sql`
    insert into invoices as i (${columnsOf(INVOICE)})
    ${rowsOf(project, INVOICE, dated)}
    returning ${COLUMNS}`);
}

export type NewFee = Omit<Fee, "properties"> & {
  readonly invoice_id: string;
  readonly properties: Readonly<Record<string, unknown>>;
};

const FEE = {
  invoice_id: "uuid",
  id: "uuid",
  fee_type: "text",
  charge_id: "uuid",
  billable_metric_code: "text",
  units: "numeric",
  amount_cents: "bigint",
  amount_currency: "text",
  properties: "jsonb",
};

export async function insertFees(
  tx: Tx,
  project: ProjectId,
  fees: readonly NewFee[],
): Promise<void> {
  await tx.run(sql`
    insert into fees (${columnsOf(FEE)})
    ${rowsOf(project, FEE, fees)}`);
}

export type Settlement = {
  readonly amount_paid_cents: number;
  readonly status: InvoiceStatus;
  readonly payment_status: PaymentStatus;
};

/** Also ends the dunning of an invoice that is paid in full. */
export function recordPaid(tx: Tx, project: ProjectId, id: string, paid: Settlement) {
  return tx.one<Invoice>(sql`
    update invoices i
       set amount_paid_cents = ${paid.amount_paid_cents}, status = ${paid.status},
           payment_status = ${paid.payment_status},
           dunning_on = case when ${paid.status}::text = 'succeeded' then null
                             else i.dunning_on end
     where i.project_id = ${project} and i.id = ${id}
    returning ${COLUMNS}`);
}

export function recordVoided(tx: Tx, project: ProjectId, id: string, now: Date) {
  return tx.one<Invoice>(sql`
    update invoices i
       set status = 'voided', voided_at = ${now}, dunning_on = null
     where i.project_id = ${project} and i.id = ${id}
    returning ${COLUMNS}`);
}

/** Unpaid invoices whose due date is over, flipped and returned. */
export function markOverdue(tx: Tx, project: ProjectId, today: string, limit: number) {
  return tx.many<Invoice>(sql`
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
