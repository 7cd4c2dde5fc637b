// Payments, reported by the caller.

import Type from "typebox";
import { refuse } from "../../errors.ts";
import { recordPayment } from "../../operations/record-payment.ts";
import { CursorPage, CursorQuery, Uuid, Wrapped } from "../../schema/common.ts";
import { Payment, PaymentCreate } from "../../schema/payments.ts";
import { matchesCustomer } from "../../store/customers.ts";
import * as payments from "../../store/payments.ts";
import { Cursors } from "../paging.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { byCaller, pathId } from "../views.ts";

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
  async handle({ tx, project, actor, body, now }) {
    const { payment, created } = await recordPayment(tx, project, body, byCaller(actor), now);
    return new Reply(created ? 201 : 200, { payment });
  },
});

const list = read({
  method: "GET",
  path: "/v1/payments",
  id: "listPayments",
  tag,
  summary: "List payments",
  description: "Newest first.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    invoice_id: Type.Optional(Uuid),
    customer_id: Type.Optional(
      Type.String({ maxLength: 260, description: "UUID, or ext:<external_id>." }),
    ),
  }),
  reply: [200, CursorPage("payments", Payment)],
  async handle({ context, db, project, query }) {
    const { invoice_id, customer_id } = query;
    const cursors = new Cursors(context.secret_key, project, "payments", {
      invoice_id,
      customer_id,
    });
    const filter = {
      ...(invoice_id !== undefined && { invoice_id }),
      ...(customer_id !== undefined && {
        customer: matchesCustomer(project, customer_id),
      }),
    };
    const found = await payments.list(db, project, filter, cursors.page(query));
    const { rows, has_more, total_count, position } = found;
    return { payments: rows, cursor: cursors.write(position), has_more, total_count };
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
    if (payment === undefined) throw refuse("not_found", "No payment has this id.");
    return { payment };
  },
});

export const paymentRoutes: Route[] = [create, list, get];
