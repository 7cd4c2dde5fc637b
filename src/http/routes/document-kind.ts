// The routes of a kind of document, the same for each: HTML to read and print, PDF to send. Also
// public, by the customer's id.

import Type from "typebox";
import type { InvoiceDocument } from "../../domain/documents/document.ts";
import { notFound } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Reader } from "../../operations/invoices/read-document.ts";
import type { Db, Queryable } from "../../store/db/db.ts";
import type { PortalCache } from "../cache/portal-cache.ts";
import {
  PaperQuery,
  type PdfSender,
  paperQuery,
  sendHtml,
  wantsPdf,
} from "../documents/send-document.ts";
import { type Route, read } from "../route.ts";
import { pathId } from "../views.ts";
import { Access, portalRefusal } from "./portal.ts";

const query = Type.Object(PaperQuery);
const portalQuery = Type.Object({ ...PaperQuery, access: Access });

export type DocumentKind<Row extends { readonly customer_id: string }> = {
  readonly tag: string;
  /** In sentences: "credit note". */
  readonly noun: string;
  /** In the ids of operations: "CreditNote". */
  readonly name: string;
  /** In paths: "credit-notes". */
  readonly path: string;
  get(db: Queryable, project: ProjectId, id: string): Promise<Row | undefined>;
  getByNumber(db: Queryable, project: ProjectId, number: string): Promise<Row | undefined>;
  read(db: Queryable, project: ProjectId, row: Row, reader: Reader): Promise<InvoiceDocument>;
};

export function documentKindRoutes<Row extends { readonly customer_id: string }>(
  kind: DocumentKind<Row>,
  views: PortalCache,
  pdfs: PdfSender,
): Route[] {
  return [...ownersRoutes(kind, pdfs), ...publicRoutes(kind, views, pdfs)];
}

function ownersRoutes<Row extends { readonly customer_id: string }>(
  kind: DocumentKind<Row>,
  pdfs: PdfSender,
): Route[] {
  const { tag, noun, name, path } = kind;
  const common = {
    method: "GET",
    tag,
    scope: "read",
    project: "required",
    reply: [200, null],
    params: { id: `UUID of the ${noun}.` },
    query,
  } as const;
  const find = (db: Db, project: ProjectId, id: string) =>
    db.snapshot(async (tx) => {
      const row = await kind.get(tx, project, id);
      if (row === undefined) throw notFound(noun);
      return kind.read(tx, project, row, "owner");
    });

  const document = read({
    ...common,
    path: `/v1/${path}/:id/document`,
    id: `get${name}Document`,
    summary: `The ${noun} as a document`,
    description: "HTML, or PDF with the header accept: application/pdf.",
    produces: ["text/html", "application/pdf"],
    headers: { vary: "accept" },
    async handle({ db, project, params, query, request }) {
      const id = pathId(params.id);
      const found = await find(db, project, id);
      if (wantsPdf(request.headers.accept)) return pdfs.send(found, query);
      const pdf = withQuery(`/v1/${path}/${id}/document.pdf`, paperQuery(query));
      return sendHtml(found, query, { pdf });
    },
  });

  const pdf = read({
    ...common,
    path: `/v1/${path}/:id/document.pdf`,
    id: `get${name}DocumentPdf`,
    summary: `The ${noun} as PDF`,
    description: "The same document, for links that cannot send a header.",
    produces: ["application/pdf"],
    async handle({ db, project, params, query }) {
      return pdfs.send(await find(db, project, pathId(params.id)), query);
    },
  });

  return [document, pdf];
}

function publicRoutes<Row extends { readonly customer_id: string }>(
  kind: DocumentKind<Row>,
  views: PortalCache,
  pdfs: PdfSender,
): Route[] {
  const { tag, noun, name, path } = kind;
  const common = {
    method: "GET",
    tag,
    scope: "public",
    project: "none",
    reply: [200, null],
    errors: ["rate_limited", "unavailable"],
    params: { customerId: "UUID of the customer.", number: `The ${noun}'s number.` },
    query: portalQuery,
    hidden: true,
    refusalPage: portalRefusal,
  } as const;
  const find = async (
    db: Db,
    params: { readonly customerId: string; readonly number: string },
    access: string | undefined,
  ) => {
    const { id, project_id } = await views.find({ customerId: params.customerId, access });
    const found = await db.forProject(project_id).snapshot(async (tx) => {
      const row = await kind.getByNumber(tx, project_id, params.number);
      if (row?.customer_id !== id) throw notFound(noun, { by: "number" });
      return kind.read(tx, project_id, row, "stranger");
    });
    return { found, customer_id: id };
  };

  const portalDocument = read({
    ...common,
    path: `/portal/:customerId/${path}/:number`,
    id: `getPortal${name}`,
    summary: `The ${noun} as a page for people`,
    async handle({ db, params, query, request }) {
      views.admit(request.ip);
      const { found, customer_id } = await find(db, params, query.access);
      const access = query.access === undefined ? {} : { access: query.access };
      const base = `/portal/${customer_id}/${path}/${found.number}/pdf`;
      const pdf = withQuery(base, { ...access, ...paperQuery(query) });
      return sendHtml(found, query, { pdf, back: withQuery(`/portal/${customer_id}`, access) });
    },
  });

  const portalPdf = read({
    ...common,
    path: `/portal/:customerId/${path}/:number/pdf`,
    id: `getPortal${name}Pdf`,
    summary: `The ${noun} as PDF for people`,
    async handle({ db, params, query, request }) {
      views.admit(request.ip);
      const { found, customer_id } = await find(db, params, query.access);
      return pdfs.sendToStranger(found, query, customer_id);
    },
  });

  return [portalDocument, portalPdf];
}

function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
}
