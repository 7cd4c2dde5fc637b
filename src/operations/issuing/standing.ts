// The lock under which an invoice's money moves, and the step from one standing to the next: the
// customer first, then the invoice.

import { dueOf, statusOf } from "../../domain/amounts.ts";
import { utcDate } from "../../domain/dates.ts";
import { notFound } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as accounts from "../../store/money/accounts.ts";

/** `field` is the one that named it, where that is not the path. */
export async function lockInvoice(
  tx: Tx,
  project: ProjectId,
  id: string,
  field?: string,
): Promise<invoices.InvoiceRow> {
  const found = await invoices.get(tx, project, id);
  if (found === undefined) throw notFound("invoice", { field });
  await accounts.lock(tx, project, [found.customer_id]);
  const invoice = await invoices.lock(tx, project, id);
  if (invoice === undefined) throw new Error(`Invoice ${id} vanished.`);
  return invoice;
}

/** The figures that move, of an invoice to which nothing has happened. */
export const UNMOVED = {
  offset_cents: 0,
  amount_paid_cents: 0,
  overpaid_cents: 0,
  written_off_cents: 0,
};

export type Move = Partial<
  Pick<
    invoices.InvoiceRow,
    | "offset_cents"
    | "amount_paid_cents"
    | "overpaid_cents"
    | "written_off_cents"
    | "credit_notes_cents"
  >
>;

/**
 * Changes figures of an invoice, each by so much; the status follows. An outstanding invoice is
 * left to the job that marks invoices overdue, logs that and plans their dunning. One that was
 * settled and is due again is overdue at once, which the caller logs, and its next step is looked
 * for today.
 */
export async function moveStanding(
  tx: Tx,
  project: ProjectId,
  invoice: invoices.InvoiceRow,
  by: Move,
  now: Date,
): Promise<invoices.InvoiceRow> {
  const to = {
    total_cents: invoice.total_cents,
    credit_applied_cents: invoice.credit_applied_cents,
    offset_cents: invoice.offset_cents + (by.offset_cents ?? 0),
    amount_paid_cents: invoice.amount_paid_cents + (by.amount_paid_cents ?? 0),
    overpaid_cents: invoice.overpaid_cents + (by.overpaid_cents ?? 0),
    written_off_cents: invoice.written_off_cents + (by.written_off_cents ?? 0),
    credit_notes_cents: invoice.credit_notes_cents + (by.credit_notes_cents ?? 0),
  };
  const is_voided = invoice.status === "voided";
  const today = utcDate(now);
  const isLate = dueOf(to) > 0 && invoice.due_date < today;
  const is_overdue = isLate && invoice.status !== "outstanding";
  const status = statusOf({ ...to, is_overdue, is_voided });
  const dunning_from = is_overdue && invoice.status !== "overdue" ? today : null;
  const reopened_on = dueOf(invoice) === 0 && dueOf(to) > 0 && !is_voided ? today : null;
  const dated = { ...to, ...status, dunning_from, reopened_on };
  return invoices.setStanding(tx, project, invoice.id, dated);
}
