// Invoices: read, previewed, voided. They are made by periods, starts and add-ons.

import Type from "typebox";
import { refuse } from "../../errors.ts";
import { previewInvoice } from "../../operations/preview-invoice.ts";
import { voidInvoice } from "../../operations/void-invoice.ts";
import {
  CalendarDate,
  CursorPage,
  CursorQuery,
  OneOf,
  Uuid,
  Wrapped,
} from "../../schema/common.ts";
import {
  INVOICE_STATUSES,
  Invoice,
  InvoicePreviewRequest,
  InvoicePreviews,
  InvoiceWithFees,
  PAYMENT_STATUSES,
} from "../../schema/invoices.ts";
import { matchesCustomer } from "../../store/customers.ts";
import * as invoices from "../../store/invoices.ts";
import { Cursors } from "../paging.ts";
import { own, point, type Route, read, write } from "../route.ts";
import { byCaller, pathId } from "../views.ts";

const tag = "Invoices";
const params = { id: "UUID of the invoice." };

const list = read({
  method: "GET",
  path: "/v1/invoices",
  id: "listInvoices",
  tag,
  summary: "List invoices",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    customer_id: Type.Optional(
      Type.String({ maxLength: 260, description: "UUID, or ext:<external_id>." }),
    ),
    subscription_id: Type.Optional(Uuid),
    number: Type.Optional(
      Type.String({ maxLength: 32, description: "The invoice of this number." }),
    ),
    status: Type.Optional(OneOf(INVOICE_STATUSES)),
    payment_status: Type.Optional(OneOf(PAYMENT_STATUSES)),
    period_start: Type.Optional(CalendarDate),
    period_end: Type.Optional(CalendarDate),
  }),
  reply: [200, CursorPage("invoices", Invoice)],
  async handle({ context, db, project, query }) {
    const { customer_id, number, subscription_id, status, payment_status } = query;
    const { period_start, period_end } = query;
    if (number !== undefined) {
      const invoice = await invoices.getByNumber(db, project, number);
      return { invoices: invoice === undefined ? [] : [invoice], cursor: null, has_more: false };
    }
    const exact = { subscription_id, status, payment_status, period_start, period_end };
    const cursors = new Cursors(context.secret_key, project, "invoices", { customer_id, ...exact });
    const filter = {
      ...exact,
      ...(customer_id !== undefined && { customer: matchesCustomer(project, customer_id) }),
    };
    const found = await invoices.list(
      db,
      project,
      filter as invoices.InvoiceFilter,
      cursors.page(query),
    );
    const { rows, has_more, total_count, position } = found;
    return { invoices: rows, cursor: cursors.write(position), has_more, total_count };
  },
});

const get = point({
  method: "GET",
  path: "/v1/invoices/:id",
  id: "getInvoice",
  tag,
  summary: "Get an invoice with its fees",
  scope: "read",
  project: "required",
  params,
  reply: [200, Wrapped("invoice", InvoiceWithFees)],
  async handle({ db, project, params }) {
    const invoice = await invoices.get(db, project, pathId(params.id));
    if (invoice === undefined) throw refuse("not_found", "No invoice has this id.");
    return { invoice: { ...invoice, fees: await invoices.listFees(db, project, invoice.id) } };
  },
});

const preview = own({
  method: "POST",
  path: "/v1/invoices/preview",
  id: "previewInvoice",
  errors: ["currency_mismatch", "limit_exceeded", "not_started", "plan_archived"],
  tag,
  summary: "What a subscription would be billed",
  description:
    "By the same function that closes the period. Nothing is stored. With plan_id, as if the plan changed then.",
  scope: "read",
  project: "required",
  body: InvoicePreviewRequest,
  reply: [200, InvoicePreviews],
  handle: ({ db, settings, body, now }) =>
    db.snapshot((tx) => previewInvoice(tx, settings, body, now)),
});

const voidRoute = write({
  method: "POST",
  path: "/v1/invoices/:id/void",
  once_by: "id",
  id: "voidInvoice",
  errors: ["invoice_already_paid"],
  tag,
  summary: "Void an unpaid invoice",
  description: "What was paid in part, or by credit, becomes customer credit.",
  scope: "write",
  project: "required",
  params,
  reply: [200, Wrapped("invoice", InvoiceWithFees)],
  async handle({ tx, project, actor, params, now }) {
    const invoice = await voidInvoice(tx, project, pathId(params.id), byCaller(actor), now);
    return { invoice: { ...invoice, fees: await invoices.listFees(tx, project, invoice.id) } };
  },
});

export const invoiceRoutes: Route[] = [list, get, preview, voidRoute];
