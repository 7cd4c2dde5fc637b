// Payments as callers reported them.

import { addDays, startOfDay } from "../../domain/dates.ts";
import type { ProjectId } from "../../ids.ts";
import type { Payment } from "../../schema/payments.ts";
import { matchesCustomer } from "../customers/customers.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";
import { NUMBER } from "../invoices/numbers.ts";

const COLUMNS: Sql = sql`p.id, p.invoice_id, p.customer_id, p.amount_cents, p.currency, p.provider,
  p.provider_payment_id, p.reference, p.status, p.paid_at, p.refunded_cents, p.created_at`;

/** By what people know its invoice and its customer. */
export type PaymentNames = Pick<
  Payment,
  "invoice_number" | "customer_external_id" | "customer_name"
>;

const NAMED: Sql = sql`${COLUMNS}, ${NUMBER} as invoice_number,
  c.external_id as customer_external_id, c.name as customer_name`;
function joinNames(project: ProjectId): Sql {
  return sql`
      join invoices i on i.project_id = ${project} and i.id = p.invoice_id
      join customers c on c.project_id = ${project} and c.id = p.customer_id`;
}

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<Payment>(sql`
    select ${NAMED}
      from payments p ${joinNames(project)}
     where p.project_id = ${project} and p.id = ${id}`);
}

export function getByProvider(
  db: Queryable,
  project: ProjectId,
  reference: Pick<Payment, "provider" | "provider_payment_id">,
) {
  return db.maybeOne<Payment>(sql`
    select ${NAMED}
      from payments p ${joinNames(project)}
     where p.project_id = ${project} and p.provider = ${reference.provider}
       and p.provider_payment_id = ${reference.provider_payment_id}`);
}

/** The payments of an invoice, oldest first. */
export function listByInvoice(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<PaymentRow>(sql`
    select ${COLUMNS}
      from payments p
     where p.project_id = ${project} and p.invoice_id = ${invoice_id}
     order by p.id`);
}

export type PaymentRow = Omit<Payment, keyof PaymentNames>;

export type NewPayment = Omit<PaymentRow, "status" | "refunded_cents" | "created_at">;

/** Records a payment; undefined when the provider's reference is known already. */
export function insert(tx: Tx, project: ProjectId, payment: NewPayment, now: Date) {
  const p = payment;
  return tx.maybeOne<PaymentRow>(sql`
    insert into payments as p (project_id, id, invoice_id, customer_id, amount_cents, currency, provider,
                          provider_payment_id, reference, status, paid_at, created_at)
    values (${project}, ${p.id}, ${p.invoice_id}, ${p.customer_id}, ${p.amount_cents},
            ${p.currency}, ${p.provider}, ${p.provider_payment_id}, ${p.reference}, 'succeeded',
            ${p.paid_at}, ${now})
    on conflict on constraint payments_provider_key do nothing
    returning ${COLUMNS}`);
}

export type PaymentFilter = {
  readonly invoice_id?: string;
  /** By either of its ids. */
  readonly customer_id?: string;
  /** UTC days of payment, both included. */
  readonly paid_from?: string;
  readonly paid_to?: string;
};

export function list(
  db: Queryable,
  project: ProjectId,
  filter: PaymentFilter,
  request: PageRequest,
) {
  const { invoice_id, customer_id, paid_from, paid_to } = filter;
  const where: Sql[] = [sql`p.project_id = ${project}`];
  if (invoice_id) where.push(sql`p.invoice_id = ${invoice_id}`);
  if (customer_id !== undefined) {
    where.push(matchesCustomer(project, customer_id, sql`p.customer_id`));
  }
  if (paid_from) where.push(sql`p.paid_at >= ${startOfDay(paid_from)}`);
  if (paid_to) where.push(sql`p.paid_at < ${startOfDay(addDays(paid_to, 1))}`);
  // A span of time is listed in its own order, which its index has.
  const ofTime = (paid_from ?? paid_to) !== undefined;
  const paid_at = { column: sql`p.paid_at`, type: sql`timestamptz` };
  return page<Payment>(
    db,
    {
      columns: NAMED,
      from: sql`payments p`,
      joined: joinNames(project),
      where,
      project: sql`p.project_id`,
      order: [...(ofTime ? [paid_at] : []), { column: sql`p.id`, type: sql`uuid` }],
    },
    request,
  );
}
