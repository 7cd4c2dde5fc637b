// The lock under which an invoice's money moves, and the step from one standing to the next: the
// customer first, then the invoice.

import { dueOf, statusOf } from "../domain/amounts.ts";
import { utcDate } from "../domain/dates.ts";
import { refuse } from "../errors.ts";
import * as accounts from "../store/accounts.ts";
import type { Tx } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import type { ProjectId } from "../store/tenants.ts";

/** 404 says which field named it. */
export async function lockInvoice(
  tx: Tx,
  project: ProjectId,
  id: string,
  field = "",
): Promise<invoices.InvoiceRow> {
  const found = await invoices.get(tx, project, id);
  if (found === undefined) throw refuse("not_found", `${field}no invoice has this id.`);
  await accounts.lock(tx, project, [found.customer_id]);
  const invoice = await invoices.lock(tx, project, id);
  if (invoice === undefined) throw new Error(`Invoice ${id} vanished.`);
  return invoice;
}

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
 * By how much each figure changes; the status follows. One that is outstanding is left to the job
 * that marks invoices overdue, logs that and plans its dunning. One that was settled and is due
 * again is overdue at once, and its next step is looked for today.
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
  return invoices.setStanding(tx, project, invoice.id, { ...to, ...status, dunning_from });
}
