// Invoices and credit notes as documents.

import { readDocument, readNoteDocument } from "../../operations/invoices/read-document.ts";
import { readInvoice } from "../../operations/invoices/shown.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import type { PortalCache } from "../cache/portal-cache.ts";
import type { PdfSender } from "../documents/send-document.ts";
import type { Route } from "../route.ts";
import { type DocumentKind, documentKindRoutes } from "./document-kind.ts";

const invoiceKind: DocumentKind<invoices.ShownRow> = {
  tag: "Invoices",
  noun: "invoice",
  name: "Invoice",
  path: "invoices",
  get: invoices.get,
  getByNumber: invoices.getByNumber,
  async read(db, project, row, reader) {
    return readDocument(db, project, await readInvoice(db, project, row), reader);
  },
};

const creditNoteKind: DocumentKind<creditNotes.CreditNoteRow> = {
  tag: "Credit notes",
  noun: "credit note",
  name: "CreditNote",
  path: "credit-notes",
  get: creditNotes.get,
  getByNumber: creditNotes.getByNumber,
  async read(db, project, note, reader) {
    const invoice = await invoices.get(db, project, note.invoice_id);
    if (invoice === undefined) throw new Error("A credit note always has an invoice.");
    const whole = await readInvoice(db, project, invoice);
    return readNoteDocument(db, project, note, whole, reader);
  },
};

export function documentRoutes(views: PortalCache, pdfs: PdfSender): Route[] {
  return [
    ...documentKindRoutes(invoiceKind, views, pdfs),
    ...documentKindRoutes(creditNoteKind, views, pdfs),
  ];
}
