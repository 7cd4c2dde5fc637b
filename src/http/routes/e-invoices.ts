// Invoices and credit notes as e-invoices: XML for the machines of those who are billed.

import { readECreditNote, readEInvoice } from "../../operations/invoices/read-e-invoice.ts";
import { renderUbl } from "../../pages/invoice/ubl.ts";
import { sendXml } from "../documents/send-document.ts";
import { type Route, read } from "../route.ts";
import { pathId } from "../views.ts";

const common = {
  method: "GET",
  scope: "read",
  project: "required",
  reply: [200, null],
  produces: ["application/xml"],
} as const;

const ofInvoice = read({
  ...common,
  errors: ["document_incomplete", "invoice_voided"],
  path: "/v1/invoices/:id/document.xml",
  id: "getInvoiceDocumentXml",
  tag: "Invoices",
  summary: "The invoice as an e-invoice",
  description:
    "UBL 2.1 by EN 16931. Needs both countries, a VAT id as the seller's tax_id, exactly one tax a fee (or an exemption), a currency of at most 2 decimals and a total above 0; document_incomplete names what is missing. A voided invoice has none.",
  params: { id: "UUID of the invoice." },
  async handle({ db, project, params }) {
    const found = await db.snapshot((tx) => readEInvoice(tx, project, pathId(params.id)));
    return sendXml(found.number, renderUbl(found));
  },
});

const ofCreditNote = read({
  ...common,
  errors: ["document_incomplete"],
  path: "/v1/credit-notes/:id/document.xml",
  id: "getCreditNoteDocumentXml",
  tag: "Credit notes",
  summary: "The credit note as an e-invoice",
  description: "UBL 2.1 by EN 16931, as the invoice that it corrects.",
  params: { id: "UUID of the credit note." },
  async handle({ db, project, params }) {
    const found = await db.snapshot((tx) => readECreditNote(tx, project, pathId(params.id)));
    return sendXml(found.number, renderUbl(found));
  },
});

export const eInvoiceRoutes: Route[] = [ofInvoice, ofCreditNote];
