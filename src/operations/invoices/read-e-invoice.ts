// An invoice or credit note as an e-invoice, or the refusal that names all that is missing.

import { missingIn } from "../../domain/documents/e-invoice-faults.ts";
import {
  type EInvoice,
  eCreditNoteOf,
  eInvoiceOf,
  type FeeExemptions,
} from "../../domain/documents/e-invoices.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoiceWithFees } from "../../schema/invoices.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import { readNames } from "./read-document.ts";
import { readInvoice } from "./shown.ts";

/** Needs a snapshot. */
export async function readEInvoice(
  db: Queryable,
  project: ProjectId,
  id: string,
): Promise<EInvoice> {
  const row = await invoices.get(db, project, id);
  if (row === undefined) throw notFound("invoice");
  if (row.status === "voided") {
    const message = "The invoice is voided: nothing of it is to be paid, so it has no e-invoice.";
    throw refuse("invoice_voided", message);
  }
  const invoice = await readInvoice(db, project, row);
  const names = await readNames(db, project, invoice);
  const exemptions = await readExemptions(db, project, id);
  return complete(eInvoiceOf(invoice, names, exemptions), invoice, exemptions);
}

/** Needs a snapshot. */
export async function readECreditNote(
  db: Queryable,
  project: ProjectId,
  id: string,
): Promise<EInvoice> {
  const note = await creditNotes.get(db, project, id);
  if (note === undefined) throw notFound("credit note");
  const row = await invoices.get(db, project, note.invoice_id);
  if (row === undefined) throw new Error("A credit note always has an invoice.");
  const invoice = await readInvoice(db, project, row);
  const names = await readNames(db, project, invoice);
  const exemptions = await readExemptions(db, project, invoice.id);
  return complete(eCreditNoteOf(note, invoice, names, exemptions), invoice, exemptions);
}

async function readExemptions(
  db: Queryable,
  project: ProjectId,
  id: string,
): Promise<FeeExemptions> {
  const found = await invoices.listExemptions(db, project, id);
  return new Map(found.map((exemption) => [exemption.id, exemption]));
}

function complete(found: EInvoice, invoice: InvoiceWithFees, exemptions: FeeExemptions): EInvoice {
  const details = missingIn(found, invoice, exemptions);
  if (details.length === 0) return found;
  const what = details.map(({ message }) => message).join(" ");
  throw refuse("document_incomplete", `An e-invoice needs more: ${what}`, { details });
}
