// Credit notes as documents, as invoices are: HTML, PDF, and public by the customer's id.

import Type from "typebox";
import type { InvoiceDocument } from "../../domain/documents.ts";
import { refuse } from "../../errors.ts";
import { type Reader, readNoteDocument } from "../../operations/read-document.ts";
import { readInvoice } from "../../operations/shown-invoice.ts";
import * as creditNotes from "../../store/credit-notes.ts";
import type { Db, Queryable } from "../../store/db.ts";
import * as invoices from "../../store/invoices.ts";
import type { ProjectId } from "../../store/tenants.ts";
import type { PortalCache } from "../portal-cache.ts";
import { accessQuery } from "../portal-links.ts";
import { type Route, read } from "../route.ts";
import { PaperQuery, type PdfSender, sendHtml, wantsPdf } from "../send-document.ts";
import { pathId } from "../views.ts";
import { Access, answeringPeople } from "./portal.ts";

const tag = "Credit notes";
const params = { id: "UUID of the credit note." };
const portalParams = { customerId: "UUID of the customer.", number: "The credit note's number." };
const query = Type.Object(PaperQuery);
const portalQuery = Type.Object({ ...PaperQuery, access: Access });

export function creditNoteDocumentRoutes(views: PortalCache, pdfs: PdfSender): Route[] {
  return [...ownersRoutes(pdfs), ...publicRoutes(views, pdfs)];
}

function ownersRoutes(pdfs: PdfSender): Route[] {
  const document = read({
    method: "GET",
    path: "/v1/credit-notes/:id/document",
    id: "getCreditNoteDocument",
    tag,
    summary: "The credit note as a document",
    description: "HTML, or PDF with the header accept: application/pdf.",
    scope: "read",
    project: "required",
    params,
    query,
    reply: [200, null],
    produces: ["text/html", "application/pdf"],
    headers: { vary: "accept" },
    async handle({ db, project, params, query, request }) {
      const id = pathId(params.id);
      const found = await ownersDocument(db, project, id);
      if (wantsPdf(request.headers.accept)) return pdfs.send(found, query);
      return sendHtml(found, query, { pdf: `/v1/credit-notes/${id}/document.pdf` });
    },
  });

  const pdf = read({
    method: "GET",
    path: "/v1/credit-notes/:id/document.pdf",
    id: "getCreditNoteDocumentPdf",
    tag,
    summary: "The credit note as PDF",
    scope: "read",
    project: "required",
    params,
    query,
    reply: [200, null],
    produces: ["application/pdf"],
    async handle({ db, project, params, query }) {
      const found = await ownersDocument(db, project, pathId(params.id));
      return pdfs.send(found, query);
    },
  });

  return [document, pdf];
}

function publicRoutes(views: PortalCache, pdfs: PdfSender): Route[] {
  const common = { method: "GET", tag, scope: "public", project: "none" } as const;
  const shown = {
    params: portalParams,
    query: portalQuery,
    reply: [200, null],
    hidden: true,
  } as const;

  const portalDocument = read({
    ...common,
    ...shown,
    path: "/portal/:customerId/credit-notes/:number",
    id: "getPortalCreditNote",
    errors: ["rate_limited", "unavailable"],
    summary: "The credit note as a page for people",
    async handle({ db, params, query, request }) {
      return answeringPeople(request, async () => {
        views.admit(request.ip);
        const { access } = query;
        const { found, customer_id } = await publicDocument(db, views, params, access);
        const path = `/portal/${customer_id}`;
        const suffix = accessQuery(access);
        const pdf = `${path}/credit-notes/${found.number}/pdf${suffix}`;
        return sendHtml(found, query, { pdf, back: path + suffix });
      });
    },
  });

  const portalPdf = read({
    ...common,
    ...shown,
    path: "/portal/:customerId/credit-notes/:number/pdf",
    id: "getPortalCreditNotePdf",
    errors: ["rate_limited", "unavailable"],
    summary: "The credit note as PDF for people",
    async handle({ db, params, query, request }) {
      return answeringPeople(request, async () => {
        views.admit(request.ip);
        const { found, customer_id } = await publicDocument(db, views, params, query.access);
        return pdfs.sendToStranger(found, query, customer_id);
      });
    },
  });

  return [portalDocument, portalPdf];
}

function ownersDocument(db: Db, project: ProjectId, id: string): Promise<InvoiceDocument> {
  return db.snapshot(async (tx) => {
    const note = await creditNotes.get(tx, project, id);
    if (note === undefined) throw refuse("not_found", "No credit note has this id.");
    return noteDocument(tx, project, note, "owner");
  });
}

async function publicDocument(
  db: Db,
  views: PortalCache,
  params: Readonly<Record<string, string>>,
  access: string | undefined,
) {
  const { id, project_id } = await views.find({ customerId: params.customerId, access });
  const found = await db.forProject(project_id).snapshot(async (tx) => {
    const note = await creditNotes.getByNumber(tx, project_id, params.number ?? "");
    if (note?.customer_id !== id) throw refuse("not_found", "No credit note has this number.");
    return noteDocument(tx, project_id, note, "stranger");
  });
  return { found, customer_id: id };
}

async function noteDocument(
  db: Queryable,
  project: ProjectId,
  note: creditNotes.CreditNoteRow,
  reader: Reader,
): Promise<InvoiceDocument> {
  const invoice = await invoices.get(db, project, note.invoice_id);
  if (invoice === undefined) throw new Error("A credit note always has an invoice.");
  const whole = await readInvoice(db, project, invoice);
  return readNoteDocument(db, project, note, whole, reader);
}
