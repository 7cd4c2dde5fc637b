// Invoices as documents: HTML to read and print, PDF to send. Also public, by the customer's id.

import Type from "typebox";
import type { InvoiceDocument } from "../../domain/documents.ts";
import { refuse } from "../../errors.ts";
import { readDocument } from "../../operations/read-document.ts";
import { readInvoice } from "../../operations/shown-invoice.ts";
import type { Db } from "../../store/db.ts";
import * as invoices from "../../store/invoices.ts";
import type { ProjectId } from "../../store/tenants.ts";
import type { PortalCache } from "../portal-cache.ts";
import { accessQuery } from "../portal-links.ts";
import { type Route, read } from "../route.ts";
import { PaperQuery, type PdfSender, sendHtml, wantsPdf } from "../send-document.ts";
import { pathId } from "../views.ts";
import { Access, answeringPeople } from "./portal.ts";

const tag = "Invoices";
const params = { id: "UUID of the invoice." };
const portalParams = { customerId: "UUID of the customer.", number: "The invoice's number." };
const query = Type.Object(PaperQuery);
const portalQuery = Type.Object({ ...PaperQuery, access: Access });

export function documentRoutes(views: PortalCache, pdfs: PdfSender): Route[] {
  return [...ownersRoutes(pdfs), ...publicRoutes(views, pdfs)];
}

function ownersRoutes(pdfs: PdfSender): Route[] {
  const document = read({
    method: "GET",
    path: "/v1/invoices/:id/document",
    id: "getInvoiceDocument",
    tag,
    summary: "The invoice as a document",
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
      return sendHtml(found, query, { pdf: `/v1/invoices/${id}/document.pdf` });
    },
  });

  const pdf = read({
    method: "GET",
    path: "/v1/invoices/:id/document.pdf",
    id: "getInvoiceDocumentPdf",
    tag,
    summary: "The invoice as PDF",
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
    path: "/portal/:customerId/invoices/:number",
    id: "getPortalInvoice",
    errors: ["rate_limited", "unavailable"],
    summary: "The invoice as a page for people",
    async handle({ db, params, query, request }) {
      return answeringPeople(request, async () => {
        views.admit(request.ip);
        const { access } = query;
        const { found, customer_id } = await publicDocument(db, views, params, access);
        const path = `/portal/${customer_id}`;
        const suffix = accessQuery(access);
        const pdf = `${path}/invoices/${found.number}/pdf${suffix}`;
        return sendHtml(found, query, { pdf, back: path + suffix });
      });
    },
  });

  const portalPdf = read({
    ...common,
    ...shown,
    path: "/portal/:customerId/invoices/:number/pdf",
    id: "getPortalInvoicePdf",
    errors: ["rate_limited", "unavailable"],
    summary: "The invoice as PDF for people",
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
    const invoice = await invoices.get(tx, project, id);
    if (invoice === undefined) throw refuse("not_found", "No invoice has this id.");
    return readDocument(tx, project, await readInvoice(tx, project, invoice), "owner");
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
    const invoice = await invoices.getByNumber(tx, project_id, params.number ?? "");
    if (invoice?.customer_id !== id) throw refuse("not_found", "No invoice has this number.");
    return readDocument(tx, project_id, await readInvoice(tx, project_id, invoice), "stranger");
  });
  return { found, customer_id: id };
}
