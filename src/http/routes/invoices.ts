// Invoices: read, previewed, voided. They are made by periods, starts and add-ons.

import Type from "typebox";
import { notFound, refuseField } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { patchInvoice } from "../../operations/invoices/change.ts";
import { createInvoice, oneOffRequest } from "../../operations/invoices/one-off.ts";
import { readInvoice, shownInvoice } from "../../operations/invoices/shown.ts";
import { voidInvoice } from "../../operations/invoices/void.ts";
import { writeOffInvoice } from "../../operations/invoices/write-off.ts";
import { orCannotInvoice } from "../../operations/issuing/cannot-invoice.ts";
import { previewNext } from "../../operations/previews/next.ts";
import { previewInvoice } from "../../operations/previews/preview.ts";
import { shownPreviews } from "../../operations/previews/shown.ts";
import {
  CalendarDate,
  CursorPage,
  CursorQuery,
  OneOf,
  RecordRef,
  RefFilter,
  Wrapped,
} from "../../schema/common.ts";
import { INVOICE_STATUSES, PAYMENT_STATUSES } from "../../schema/enums.ts";
import {
  Invoice,
  InvoiceCreate,
  InvoicePatch,
  InvoicePreviewBody,
  type InvoicePreviewRequest,
  InvoicePreviews,
  InvoiceWithFees,
} from "../../schema/invoices.ts";
import { matchesCustomer } from "../../store/customers/customers.ts";
import type { Tx } from "../../store/db/db.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { ownTransactions, point, type Route, read, write } from "../route.ts";
import { pathId } from "../views.ts";

const tag = "Invoices";
const params = { id: "UUID of the invoice." };

const list = read({
  method: "GET",
  path: "/v1/invoices",
  id: "listInvoices",
  tag,
  summary: "List invoices",
  description:
    "Newest first, without their fees; with period_start or period_end by the end of the period, the latest first.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    customer_id: RefFilter,
    subscription_id: Type.Optional(RecordRef),
    number: Type.Optional(
      Type.String({ maxLength: 32, description: "The invoice of this number." }),
    ),
    status: Type.Optional(OneOf(INVOICE_STATUSES)),
    payment_status: Type.Optional(OneOf(PAYMENT_STATUSES)),
    period_start: Type.Optional(CalendarDate),
    period_end: Type.Optional(CalendarDate),
    issued_from: Type.Optional(CalendarDate),
    issued_to: Type.Optional(CalendarDate),
  }),
  reply: [200, CursorPage("invoices", Invoice)],
  async handle({ context, db, project, query }) {
    const { customer_id, subscription_id: named, ...exact } = filtersOf(query);
    const cursors = new Cursors(context.secret_key, project, "invoices", filtersOf(query));
    const subscription = named && (await subscriptions.get(db, project, named));
    if (named && !subscription) return { invoices: [], cursor: null, has_more: false };
    const filter = {
      ...exact,
      ...(subscription && { subscription_id: subscription.id }),
      ...(customer_id !== undefined && { customer: matchesCustomer(project, customer_id) }),
    };
    const found = await invoices.list(db, project, filter, cursors.page(query));
    return { invoices: found.rows.map(shownInvoice), ...cursors.foot(found) };
  },
});

const get = point({
  method: "GET",
  path: "/v1/invoices/:id",
  id: "getInvoice",
  tag,
  summary: "Get an invoice with its fees",
  description: "With fees, taxes, coupons, used credit, and both parties as they were at issue.",
  scope: "read",
  project: "required",
  params,
  reply: [200, Wrapped("invoice", InvoiceWithFees)],
  async handle({ db, project, params }) {
    const invoice = await invoices.get(db, project, pathId(params.id));
    if (invoice === undefined) throw notFound("invoice");
    return { invoice: await readInvoice(db, project, invoice) };
  },
});

const preview = ownTransactions({
  method: "POST",
  path: "/v1/invoices/preview",
  id: "previewInvoice",
  errors: ["currency_mismatch", "limit_exceeded", "not_started", "plan_archived"],
  tag,
  summary: "What a subscription, a customer or a one-off invoice would be billed",
  description:
    "By the same function that closes the period. Nothing is stored. With plan_id, as if the plan changed then. With customer_id and at next: all that the customer is billed when something falls due next, on its invoices. With customer_id and lines: the one-off invoice.",
  scope: "read",
  project: "required",
  body: InvoicePreviewBody,
  reply: [200, InvoicePreviews],
  example: { subscription_id: "ext:acme-pro", at: "period_end" },
  handle: ({ db, settings, body, now }) =>
    db.snapshot(async (tx) => {
      const asked = previewOf(body);
      if ("next_of" in asked) {
        return orCannotInvoice(() => previewNext(tx, settings, asked.next_of, now));
      }
      if ("subscription_id" in asked) {
        return orCannotInvoice(() => previewInvoice(tx, settings, asked, now));
      }
      const request = await oneOffRequest(tx, settings, asked, now);
      const [invoice_preview] = await shownPreviews(tx, settings.id, [request], now);
      if (invoice_preview === undefined) throw new Error("One request makes one preview.");
      return { invoice_preview };
    }),
});

type Asked = InvoicePreviewRequest | InvoiceCreate | { readonly next_of: string };

function previewOf(body: InvoicePreviewBody): Asked {
  const { subscription_id, customer_id, lines, at, ...terms } = body;
  if (at === "next") return { next_of: nextOf(body) };
  if (subscription_id !== undefined) {
    return { ...terms, ...(at !== undefined && { at }), subscription_id };
  }
  if (lines === undefined) throw missing("subscription_id");
  if (customer_id === undefined) throw missing("customer_id");
  return { ...terms, customer_id, lines };
}

/** The customer whose next instant is asked for: all of it, so nothing stands beside it. */
function nextOf({ customer_id, at: _at, ...rest }: InvoicePreviewBody): string {
  const [beside] = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : name,
  );
  if (beside !== undefined) {
    throw refuseField("at", "unsupported", `at next is all that is due then: leave out ${beside}.`);
  }
  if (customer_id === undefined) throw missing("customer_id");
  return customer_id;
}

function missing(field: string) {
  return refuseField(field, "required", `${field} is required.`);
}

const voidRoute = write({
  method: "POST",
  path: "/v1/invoices/:id/void",
  once_by: "id",
  id: "voidInvoice",
  errors: ["has_credit_notes", "invoice_already_paid"],
  tag,
  summary: "Void an unpaid invoice",
  description: "What was paid in part, or by credit, becomes customer credit.",
  scope: "write",
  project: "required",
  params,
  reply: [200, Wrapped("invoice", InvoiceWithFees)],
  async handle({ tx, project, by, params, now }) {
    const id = pathId(params.id);
    await voidInvoice(tx, project, id, by, now);
    return { invoice: await reread(tx, project, id) };
  },
});

const create = write({
  method: "POST",
  path: "/v1/invoices",
  id: "createInvoice",
  errors: ["currency_mismatch", "limit_exceeded"],
  tag,
  summary: "Write a one-off invoice",
  description: "Lines at a price of their own or of a catalog item, issued at once.",
  scope: "write",
  project: "required",
  body: InvoiceCreate,
  reply: [201, Wrapped("invoice", InvoiceWithFees)],
  example: {
    customer_id: "ext:acme",
    lines: [
      { name: "Workshop, half days", quantity: "3", unit_amount_cents: 45000 },
      { catalog_item_code: "onboarding", tax_codes: [] },
    ],
    po_number: "PO-77",
  },
  async handle({ tx, settings, by, body, now }) {
    const { id } = await createInvoice(tx, settings, body, by, now);
    return { invoice: await reread(tx, settings.id, id) };
  },
});

const patch = write({
  method: "PATCH",
  path: "/v1/invoices/:id",
  id: "updateInvoice",
  tag,
  summary: "Change the words on an invoice",
  description: "Memo, PO number, metadata and the link to pay: nothing that counts.",
  scope: "write",
  project: "required",
  params,
  body: InvoicePatch,
  reply: [200, Wrapped("invoice", InvoiceWithFees)],
  example: { po_number: "PO-77", payment_url: "https://pay.example.test/c/4fJq81" },
  async handle({ tx, project, by, params, body, now }) {
    const id = pathId(params.id);
    await patchInvoice(tx, project, id, body, by, now);
    return { invoice: await reread(tx, project, id) };
  },
});

const writeOff = write({
  method: "POST",
  path: "/v1/invoices/:id/write-off",
  once_by: "id",
  id: "writeOffInvoice",
  errors: ["invoice_already_paid", "invoice_voided", "wrong_invoice_type"],
  tag,
  summary: "Give up what is due on an invoice",
  description: "Later payments and credit notes take from it. Again: nothing happens.",
  scope: "write",
  project: "required",
  params,
  reply: [200, Wrapped("invoice", InvoiceWithFees)],
  async handle({ tx, project, by, params, now }) {
    const id = pathId(params.id);
    await writeOffInvoice(tx, project, id, by, now);
    return { invoice: await reread(tx, project, id) };
  },
});

async function reread(tx: Tx, project: ProjectId, id: string) {
  const invoice = await invoices.get(tx, project, id);
  if (invoice === undefined) throw new Error(`Invoice ${id} vanished.`);
  return readInvoice(tx, project, invoice);
}

export const invoiceRoutes: Route[] = [list, get, preview, create, patch, voidRoute, writeOff];
