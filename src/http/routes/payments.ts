// Payments, reported by the caller.

import Type from "typebox";
import { notFound } from "../../errors.ts";
import { recordPayment } from "../../operations/money/record-payment.ts";
import {
  CalendarDate,
  CursorPage,
  CursorQuery,
  RefFilter,
  Uuid,
  Wrapped,
} from "../../schema/common.ts";
import { Payment, PaymentCreate } from "../../schema/payments.ts";
import * as payments from "../../store/money/payments.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { pathId } from "../views.ts";

const tag = "Payments";
const One = Wrapped("payment", Payment);

const create = write({
  method: "POST",
  path: "/v1/payments",
  once_by: "provider_payment_id",
  id: "recordPayment",
  errors: ["payment_conflict", "amount_exceeds_due", "invoice_already_paid", "invoice_voided"],
  tag,
  summary: "Record a payment",
  description:
    "The same provider and provider_payment_id again, for the same invoice and amount: 200 with the payment that is there.",
  scope: "write",
  project: "required",
  body: PaymentCreate,
  reply: [201, One],
  also: { 200: One },
  async handle({ tx, project, by, body, now }) {
    const { payment, created } = await recordPayment(tx, project, body, by, now);
    return new Reply(created ? 201 : 200, { payment });
  },
});

const list = read({
  method: "GET",
  path: "/v1/payments",
  id: "listPayments",
  tag,
  summary: "List payments",
  description: "Newest first; with paid_from or paid_to by paid_at, the latest first.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    invoice_id: Type.Optional(Uuid),
    customer_id: RefFilter,
    paid_from: Type.Optional(CalendarDate),
    paid_to: Type.Optional(CalendarDate),
  }),
  reply: [200, CursorPage("payments", Payment)],
  async handle({ context, db, project, query }) {
    const filter = filtersOf(query);
    const cursors = new Cursors(context.secret_key, project, "payments", filter);
    const found = await payments.list(db, project, filter, cursors.page(query));
    return { payments: found.rows, ...cursors.foot(found) };
  },
});

const get = point({
  method: "GET",
  path: "/v1/payments/:id",
  id: "getPayment",
  tag,
  summary: "Get a payment",
  description: "As it was recorded, with what was refunded of it since.",
  scope: "read",
  project: "required",
  params: { id: "UUID of the payment." },
  reply: [200, One],
  async handle({ db, project, params }) {
    const payment = await payments.get(db, project, pathId(params.id));
    if (payment === undefined) throw notFound("payment");
    return { payment };
  },
});

export const paymentRoutes: Route[] = [create, list, get];
