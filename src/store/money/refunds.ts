// Refunds, as callers report them.

import type { ProjectId } from "../../ids.ts";
import type { Refund } from "../../schema/credit-notes.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";

const COLUMNS: Sql = sql`id, payment_id, invoice_id, credit_note_id, amount_cents, currency,
  provider, provider_refund_id, refunded_at, created_at`;

export function getByProvider(
  db: Queryable,
  project: ProjectId,
  provider: string,
  provider_refund_id: string,
) {
  return db.maybeOne<Refund>(sql`
    select ${COLUMNS}
      from refunds
     where project_id = ${project} and provider = ${provider}
       and provider_refund_id = ${provider_refund_id}`);
}

export type NewRefund = Omit<Refund, "created_at"> & { readonly credit_cents: number };

/** Records a refund; undefined when the provider's id is recorded already. */
export function insert(tx: Tx, project: ProjectId, r: NewRefund, now: Date) {
  return tx.maybeOne<Refund>(sql`
    insert into refunds (project_id, id, payment_id, invoice_id, credit_note_id, amount_cents,
                         credit_cents, currency, provider, provider_refund_id, refunded_at,
                         created_at)
    values (${project}, ${r.id}, ${r.payment_id}, ${r.invoice_id}, ${r.credit_note_id},
            ${r.amount_cents}, ${r.credit_cents}, ${r.currency}, ${r.provider},
            ${r.provider_refund_id}, ${r.refunded_at}, ${now})
    on conflict on constraint refunds_provider_key do nothing
    returning ${COLUMNS}`);
}

export type PaymentRefunds = {
  /** The part taken out of the credit that the payment had made. */
  readonly credit_cents: number;
  readonly total_cents: number;
};

export function sumByPayment(db: Queryable, project: ProjectId, payment_id: string) {
  return db.one<PaymentRefunds>(sql`
    select coalesce(sum(credit_cents), 0)::bigint as credit_cents,
           coalesce(sum(amount_cents), 0)::bigint as total_cents
      from refunds
     where project_id = ${project} and payment_id = ${payment_id}`);
}

/** The refunds of these payments, oldest first. */
export function listByPayments(db: Queryable, project: ProjectId, payment_ids: readonly string[]) {
  return db.many<Refund>(sql`
    select ${COLUMNS}
      from refunds
     where project_id = ${project} and payment_id = any(${payment_ids}::uuid[])
     order by id`);
}

export async function addToPayment(tx: Tx, project: ProjectId, id: string, cents: number) {
  await tx.run(sql`
    update payments
       set refunded_cents = refunded_cents + ${cents}
     where project_id = ${project} and id = ${id}`);
}

export function list(
  db: Queryable,
  project: ProjectId,
  filter: { readonly payment_id?: string; readonly invoice_id?: string },
  request: PageRequest,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  if (filter.payment_id) where.push(sql`payment_id = ${filter.payment_id}`);
  if (filter.invoice_id) where.push(sql`invoice_id = ${filter.invoice_id}`);
  return page<Refund>(
    db,
    {
      columns: COLUMNS,
      from: sql`refunds`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}
