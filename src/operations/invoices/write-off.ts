// Gives up what is due on an invoice. Later payments and credit notes take from it.

import { refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import type { InvoiceRow } from "../../store/invoices/invoices.ts";
import { type By, emit } from "../emit.ts";
import { lockInvoice, moveStanding } from "../issuing/standing.ts";

export async function writeOffInvoice(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<InvoiceRow> {
  const invoice = await lockInvoice(tx, project, id);
  if (invoice.status === "voided") throw refuse("invoice_voided", "The invoice is voided.");
  if (invoice.status === "succeeded") {
    throw refuse("invoice_already_paid", "Nothing is due on this invoice any more.");
  }
  if (invoice.invoice_type === "top_up") {
    throw refuse("wrong_invoice_type", "A top-up is not written off: void it.");
  }
  const written_off_cents = invoice.amount_due_cents;
  if (written_off_cents === 0) return invoice;
  const after = await moveStanding(tx, project, invoice, { written_off_cents }, now);
  const payload = { number: after.number, written_off_cents };
  await emit(tx, project, [{ type: "invoice.written_off", resource_id: id, payload }], by, now);
  return after;
}
