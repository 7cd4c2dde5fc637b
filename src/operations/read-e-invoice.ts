// An invoice or credit note as an e-invoice, or the refusal that names all that is missing.

import { type EInvoice, eCreditNoteOf, eInvoiceOf, missingIn } from "../domain/e-invoices.ts";
import { refuse } from "../errors.ts";
import type { InvoiceWithFees } from "../schema/invoices.ts";
import * as creditNotes from "../store/credit-notes.ts";
import type { Queryable } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import type { ProjectId } from "../store/tenants.ts";
import { readNames } from "./read-document.ts";
import { readInvoice } from "./shown-invoice.ts";

/** Needs a snapshot. */
export async function readEInvoice(
  db: Queryable,
  project: ProjectId,
  id: string,
): Promise<EInvoice> {
  const row = await invoices.get(db, project, id);
  if (row === undefined) throw refuse("not_found", "No invoice has this id.");
  const invoice = await readInvoice(db, project, row);
  return complete(eInvoiceOf(invoice, await readNames(db, project, invoice)), invoice);
}

/** Needs a snapshot. */
export async function readECreditNote(
  db: Queryable,
  project: ProjectId,
  id: string,
): Promise<EInvoice> {
  const note = await creditNotes.get(db, project, id);
  if (note === undefined) throw refuse("not_found", "No credit note has this id.");
  const row = await invoices.get(db, project, note.invoice_id);
  if (row === undefined) throw new Error("A credit note always has an invoice.");
  const invoice = await readInvoice(db, project, row);
  return complete(eCreditNoteOf(note, invoice, await readNames(db, project, invoice)), invoice);
}

function complete(found: EInvoice, invoice: InvoiceWithFees): EInvoice {
  const details = missingIn(found, invoice);
  if (details.length === 0) return found;
  const what = details.map(({ message }) => message).join(" ");
  throw refuse("document_incomplete", `An e-invoice needs more: ${what}`, { details });
}
