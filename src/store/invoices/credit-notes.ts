// Credit notes and their numbers.

import type { Exemption, Tax } from "../../domain/taxes.ts";
import type { ProjectId } from "../../ids.ts";
import type { CreditNote } from "../../schema/credit-notes.ts";
import { matchesCustomer } from "../customers/customers.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { hasNumber, NUMBER, numberText } from "./numbers.ts";

export type CreditNoteRow = Omit<CreditNote, "seller" | "buyer">;

const COLUMNS: Sql = sql`n.id, ${numberText("n")} as number, n.invoice_id,
  ${NUMBER} as invoice_number, n.customer_id, n.currency, n.subtotal_cents, n.tax_cents,
  n.total_cents, n.offset_cents, n.refund_cents, n.refunded_cents, n.credit_cents, n.reason, n.memo,
  n.issuing_date, n.created_at, n.taxes, n.lines`;

function joinInvoice(project: ProjectId): Sql {
  return sql`
      join invoices i on i.project_id = ${project} and i.id = n.invoice_id`;
}

/** The next number without a gap. Locks the counter until the transaction ends. */
export async function takeNumber(tx: Tx, project: ProjectId, year: number): Promise<number> {
  const { last } = await tx.one<{ last: number }>(sql`
    insert into credit_note_counters as c (project_id, year, last)
    values (${project}, ${year}, 1)
    on conflict (project_id, year) do update set last = c.last + 1
    returning last`);
  return last;
}

export type NewCreditNote = Omit<
  CreditNoteRow,
  "number" | "invoice_number" | "refunded_cents" | "created_at"
> & {
  readonly prefix: string;
  readonly number_year: number;
  readonly number_seq: number;
};

export async function insert(tx: Tx, project: ProjectId, n: NewCreditNote, now: Date) {
  await tx.run(sql`
    insert into credit_notes (project_id, id, prefix, number_year, number_seq, invoice_id,
                              customer_id, currency, subtotal_cents, tax_cents, total_cents,
                              offset_cents, refund_cents, credit_cents, reason, memo, taxes, lines,
                              issuing_date, created_at)
    values (${project}, ${n.id}, ${n.prefix}, ${n.number_year}, ${n.number_seq}, ${n.invoice_id},
            ${n.customer_id}, ${n.currency}, ${n.subtotal_cents}, ${n.tax_cents},
            ${n.total_cents}, ${n.offset_cents}, ${n.refund_cents}, ${n.credit_cents},
            ${n.reason}, ${n.memo}, ${json(n.taxes)}, ${json(n.lines)}, ${n.issuing_date},
            ${now})`);
}

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<CreditNoteRow>(sql`
    select ${COLUMNS}
      from credit_notes n ${joinInvoice(project)}
     where n.project_id = ${project} and n.id = ${id}`);
}

export function getByNumber(db: Queryable, project: ProjectId, number: string) {
  return db.maybeOne<CreditNoteRow>(sql`
    select ${COLUMNS}
      from credit_notes n ${joinInvoice(project)}
     where n.project_id = ${project} and ${hasNumber("n", number)}`);
}

export function listByInvoice(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<CreditNoteRow>(sql`
    select ${COLUMNS}
      from credit_notes n ${joinInvoice(project)}
     where n.project_id = ${project} and n.invoice_id = ${invoice_id}
     order by n.id`);
}

export type BaseLeft = {
  readonly invoice_id: string;
  readonly part_no: number;
  readonly taxable_cents: number;
  readonly left_cents: number;
  readonly taxes: readonly Tax[];
  readonly tax_category: Exemption["tax_category"] | null;
  readonly tax_reason: string | null;
};

/** The base fee of each part of these invoices, and what notes have left of it. */
export function listBaseLeft(db: Queryable, project: ProjectId, invoice_ids: readonly string[]) {
  return db.many<BaseLeft>(sql`
    select f.invoice_id, f.part_no, coalesce(f.taxes, '[]') as taxes, f.tax_category, f.tax_reason,
           f.amount_cents - f.discount_cents as taxable_cents,
           (f.amount_cents - f.discount_cents - coalesce(sum(l.amount_cents), 0))::bigint
             as left_cents
      from fees f
      left join credit_notes n on n.project_id = ${project} and n.invoice_id = f.invoice_id
      left join lateral jsonb_to_recordset(n.lines) as l (fee_id uuid, amount_cents bigint)
        on l.fee_id = f.id
     where f.project_id = ${project} and f.invoice_id = any(${invoice_ids}::uuid[])
       and f.fee_type = 'subscription'
     group by f.project_id, f.invoice_id, f.id`);
}

type CreditNoteFilter = {
  readonly number?: string;
  readonly invoice_id?: string;
  readonly customer_id?: string;
};

export function list(
  db: Queryable,
  project: ProjectId,
  filter: CreditNoteFilter,
  request: PageRequest,
) {
  const where: Sql[] = [sql`n.project_id = ${project}`];
  if (filter.number !== undefined) where.push(hasNumber("n", filter.number));
  if (filter.invoice_id) where.push(sql`n.invoice_id = ${filter.invoice_id}`);
  if (filter.customer_id !== undefined) {
    where.push(matchesCustomer(project, filter.customer_id, sql`n.customer_id`));
  }
  return page<CreditNoteRow>(
    db,
    {
      columns: COLUMNS,
      from: sql`credit_notes n`,
      joined: joinInvoice(project),
      where,
      project: sql`n.project_id`,
      order: [{ column: sql`n.id`, type: sql`uuid` }],
    },
    request,
  );
}

export async function addRefunded(tx: Tx, project: ProjectId, id: string, cents: number) {
  await tx.run(sql`
    update credit_notes
       set refunded_cents = refunded_cents + ${cents}
     where project_id = ${project} and id = ${id}`);
}
