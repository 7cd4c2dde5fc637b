// Invoices and fees that are being made: their numbers and their rows.

import type { Exemption, Tax } from "../../domain/taxes.ts";
import type { ProjectId } from "../../ids.ts";
import type {
  Fee,
  Invoice,
  InvoiceStatus,
  InvoiceWithFees,
  PaymentStatus,
} from "../../schema/invoices.ts";
import type { Tx } from "../db/db.ts";
import { columnsOf, rowsOf } from "../db/rows.ts";
import { sql } from "../db/sql.ts";
import type { InvoiceRow, Reason } from "./invoices.ts";
import { formatNumber } from "./numbers.ts";

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

/** An invoice to be written; without details where there are none. */
export type NewInvoice = Partial<Details> & {
  readonly id: string;
  readonly prefix: string;
  readonly number_year: number;
  readonly number_seq: number;
  readonly customer_id: string;
  readonly subscription_id: string | null;
  readonly part_count: number;
  readonly invoice_type: Invoice["invoice_type"];
  readonly status: InvoiceStatus;
  readonly payment_status: PaymentStatus;
  readonly currency: string;
  readonly subtotal_cents: number;
  readonly total_cents: number;
  readonly credit_applied_cents: number;
  readonly seller_version: number;
  readonly buyer_version: number;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly created_at: Date;
};

/** Fields that most invoices leave as they are in `NO_DETAILS`. */
export type Details = {
  readonly discount_cents: number;
  readonly tax_cents: number;
  readonly coupons: InvoiceWithFees["coupons"] | null;
  readonly taxes: readonly object[] | null;
  readonly credits: readonly object[] | null;
  readonly tax_note: string;
  readonly memo: string;
  readonly po_number: string;
  readonly metadata: Readonly<Record<string, string>>;
};

export const NO_DETAILS: Details = {
  discount_cents: 0,
  tax_cents: 0,
  coupons: null,
  taxes: null,
  credits: null,
  tax_note: "",
  memo: "",
  po_number: "",
  metadata: {},
};

const INVOICE = {
  id: "uuid",
  prefix: "text",
  number_year: "integer",
  number_seq: "integer",
  customer_id: "uuid",
  subscription_id: "uuid",
  part_count: "smallint",
  invoice_type: "text",
  status: "text",
  payment_status: "text",
  currency: "text",
  subtotal_cents: "bigint",
  total_cents: "bigint",
  credit_applied_cents: "bigint",
  seller_version: "integer",
  buyer_version: "integer",
  issuing_date: "date",
  due_date: "date",
  period_start: "date",
  period_end: "date",
  created_at: "timestamptz",
};
const DETAILED = {
  ...INVOICE,
  discount_cents: "bigint",
  tax_cents: "bigint",
  coupons: "json",
  taxes: "json",
  credits: "json",
  tax_note: "text",
  memo: "text",
  po_number: "text",
  metadata: "jsonb",
};

/** Writes invoices. Columns of details are sent only where one has them: else they cost nothing. */
export async function insert(tx: Tx, project: ProjectId, rows: readonly NewInvoice[]) {
  if (rows.some(hasDetails)) {
    const detailed = rows.map((row) => (hasDetails(row) ? row : { ...row, ...NO_DETAILS }));
    await tx.run(sql`
      insert into invoices (${columnsOf(DETAILED)})
      ${rowsOf(project, DETAILED, detailed)}`);
    return;
  }
  await tx.run(sql`
    insert into invoices (${columnsOf(INVOICE)})
    ${rowsOf(project, INVOICE, rows)}`);
}

function hasDetails(row: NewInvoice): row is NewInvoice & Details {
  return row.discount_cents !== undefined;
}

/** The invoice as it would be read back. */
export function written(row: NewInvoice): InvoiceRow {
  const { discount_cents, tax_cents, tax_note, memo, po_number, metadata } = hasDetails(row)
    ? row
    : NO_DETAILS;
  return {
    id: row.id,
    number: formatNumber(row.prefix, row.number_year, row.number_seq),
    status: row.status,
    payment_status: row.payment_status,
    invoice_type: row.invoice_type,
    customer_id: row.customer_id,
    subscription_id: row.subscription_id,
    currency: row.currency,
    subtotal_cents: row.subtotal_cents,
    discount_cents,
    tax_cents,
    total_cents: row.total_cents,
    credit_applied_cents: row.credit_applied_cents,
    offset_cents: 0,
    amount_paid_cents: 0,
    overpaid_cents: 0,
    written_off_cents: 0,
    credit_notes_cents: 0,
    amount_due_cents: row.total_cents - row.credit_applied_cents,
    issuing_date: row.issuing_date,
    due_date: row.due_date,
    period_start: row.period_start,
    period_end: row.period_end,
    part_count: row.part_count,
    voided_at: null,
    created_at: row.created_at,
    memo,
    po_number,
    metadata,
    tax_note,
    own_payment_url: null,
  };
}

export type NewFee = Omit<Fee, "part" | "subscription_id" | "properties" | "taxes"> & {
  readonly invoice_id: string;
  readonly part_no: number;
  readonly taxes: readonly Tax[];
  readonly tax_category: Exemption["tax_category"] | null;
  readonly tax_reason: string | null;
  readonly coupons: readonly object[] | null;
  readonly properties: Readonly<Record<string, unknown>>;
};

/** What one act of a subscription puts on an invoice. */
export type NewPart = {
  readonly subscription_id: string;
  readonly invoice_id: string;
  readonly due_at: Date;
  readonly period_no: number;
  readonly period_start: string;
  readonly period_end: string;
  readonly cause_no: number;
  readonly part_no: number;
  readonly set_aside: boolean;
  readonly reason: Reason;
  readonly plan_code: string;
};

const PART = {
  subscription_id: "uuid",
  invoice_id: "uuid",
  due_at: "timestamptz",
  period_no: "integer",
  period_start: "date",
  period_end: "date",
  cause_no: "smallint",
  part_no: "smallint",
  set_aside: "boolean",
  reason: "text",
  plan_code: "text",
};

const FEE = {
  invoice_id: "uuid",
  part_no: "smallint",
  id: "uuid",
  fee_type: "text",
  charge_id: "uuid",
  billable_metric_code: "text",
  units: "numeric",
  amount_cents: "bigint",
  amount_currency: "text",
  properties: "json",
};
const REDUCED_FEE = {
  ...FEE,
  discount_cents: "bigint",
  taxes: "json",
  tax_category: "text",
  tax_reason: "text",
  coupons: "json",
};

/**
 * Writes fees and parts, which go out together: neither needs a number. One statement for both, the
 * parts in a CTE, is refused by a cluster where they are many.
 */
export async function insertLines(
  tx: Tx,
  project: ProjectId,
  fees: readonly NewFee[],
  parts: readonly NewPart[],
): Promise<void> {
  const isPlain = fees.every(
    ({ coupons, taxes, tax_category }) =>
      coupons === null && taxes.length === 0 && tax_category === null,
  );
  const columns = isPlain ? FEE : REDUCED_FEE;
  await Promise.all([
    parts.length > 0 &&
      tx.run(sql`
    insert into invoice_parts (${columnsOf(PART)})
    ${rowsOf(project, PART, parts)}`),
    tx.run(sql`
    insert into fees (${columnsOf(columns)})
    ${rowsOf(project, columns, fees)}`),
  ]);
}
