// Payments as callers reported them.

import type { Payment } from "../schema/payments.ts";
import type { Queryable, Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const COLUMNS: Sql = sql`id, invoice_id, amount_cents, currency, provider, provider_payment_id,
  reference, status, paid_at, refunded_cents, created_at`;

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<Payment>(sql`
    select ${COLUMNS}
      from payments
     where project_id = ${project} and id = ${id}`);
}

export function getByProvider(
  db: Queryable,
  project: ProjectId,
  reference: Pick<Payment, "provider" | "provider_payment_id">,
) {
  return db.maybeOne<Payment>(sql`
    select ${COLUMNS}
      from payments
     where project_id = ${project} and provider = ${reference.provider}
       and provider_payment_id = ${reference.provider_payment_id}`);
}

/** Oldest first. */
export function listByInvoice(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<Payment>(sql`
    select ${COLUMNS}
      from payments
     where project_id = ${project} and invoice_id = ${invoice_id}
     order by id`);
}

export type NewPayment = Omit<Payment, "status" | "refunded_cents" | "created_at"> & {
  readonly customer_id: string;
};

/** Undefined when the provider's reference is known already. */
export function insert(tx: Tx, project: ProjectId, payment: NewPayment, now: Date) {
  const p = payment;
  return tx.maybeOne<Payment>(sql`
    insert into payments (project_id, id, invoice_id, customer_id, amount_cents, currency, provider,
                          provider_payment_id, reference, status, paid_at, created_at)
    values (${project}, ${p.id}, ${p.invoice_id}, ${p.customer_id}, ${p.amount_cents},
            ${p.currency}, ${p.provider}, ${p.provider_payment_id}, ${p.reference}, 'succeeded',
            ${p.paid_at}, ${now})
    on conflict on constraint payments_provider_key do nothing
    returning ${COLUMNS}`);
}

export function list(
  db: Queryable,
  project: ProjectId,
  filter: { readonly invoice_id?: string; readonly customer?: Sql },
  request: PageRequest,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  if (filter.invoice_id) where.push(sql`invoice_id = ${filter.invoice_id}`);
  if (filter.customer) where.push(filter.customer);
  return page<Payment>(
    db,
    {
      columns: COLUMNS,
      from: sql`payments`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}
