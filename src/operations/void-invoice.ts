// Voids an invoice that is not paid in full: what was paid or used of credit goes back to credit.

import { refuse } from "../errors.ts";
import type { Invoice } from "../schema/invoices.ts";
import * as credits from "../store/credits.ts";
import type { Tx } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type By, emit } from "./emit.ts";

// Spec gap: voiding ends the demand for payment and nothing else. The usage on the invoice stays
// billed, so that later corrections of the period start from what was invoiced.
export async function voidInvoice(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<Invoice> {
  const invoice = await invoices.lock(tx, project, id);
  if (invoice === undefined) throw refuse("not_found", "No invoice has this id.");
  if (invoice.status === "voided") return invoice;
  if (invoice.status === "succeeded") {
    throw refuse("invoice_already_paid", "A paid invoice cannot be voided.");
  }
  const { customer_id, currency } = invoice;
  const back = invoice.amount_paid_cents + invoice.credit_applied_cents;
  if (back > 0) {
    const entry = { customer_id, currency, invoice_id: id, amount_cents: back };
    await credits.record(tx, project, [{ ...entry, reason: "voided" }], now);
  }
  const voided = await invoices.recordVoided(tx, project, id, now);
  const payload = { number: voided.number, total_cents: voided.total_cents, credited_cents: back };
  await emit(tx, project, [{ type: "invoice.voided", resource_id: id, payload }], by, now);
  return voided;
}
