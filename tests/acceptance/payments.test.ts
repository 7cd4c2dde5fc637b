// Payments, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { makeInvoice, paymentOf } from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project("2026-02-01T00:00:00.000Z");
});

async function invoiceOf(id: string) {
  return (await api.ok("GET", `/v1/invoices/${id}`)).invoice;
}

test("POST /v1/payments: invoice_id, amount_cents, currency, provider, provider_payment_id, paid_at, optional reference; 201 {payment}", async () => {
  const invoice = await makeInvoice(api);
  const body = paymentOf(invoice, { paid_at: "2026-01-31T12:00:00.000Z", reference: "wire 7" });
  const made = await api.post("/v1/payments", body);
  expect(made.status).toBe(201);
  expect(made.body.payment).toMatchObject({ ...body, status: "succeeded" });
  expect(made.body.payment.id).toMatch(UUID);
  expect(made.body.payment.created_at).toMatch(TIMESTAMP);
});

test("outstanding, payment recorded: status succeeded, payment_status succeeded", async () => {
  const invoice = await makeInvoice(api);
  await api.ok("POST", "/v1/payments", paymentOf(invoice));
  expect(await invoiceOf(invoice.id)).toMatchObject({
    status: "succeeded",
    payment_status: "succeeded",
  });
});

test("GET /v1/payments is a list endpoint with pagination", async () => {
  const { payment } = await api.ok("POST", "/v1/payments", paymentOf(await makeInvoice(api)));
  const listed = await api.get("/v1/payments?limit=1");
  expect(listed.status).toBe(200);
  expect(listed.body.payments).toEqual([payment]);
  expect(listed.body).toMatchObject({ has_more: true });
});

test("invoice_id is a uuid, of an invoice that exists", async () => {
  const invoice = await makeInvoice(api);
  const malformed = paymentOf(invoice, { invoice_id: invoice.number });
  expectError(await api.post("/v1/payments", malformed), 422, "validation_error");
  const invoice_id = UNKNOWN_ID;
  const unknown = await api.post("/v1/payments", paymentOf(invoice, { invoice_id }));
  expectError(unknown, 404, "not_found");
  expect(unknown.body.error.message).toContain("invoice_id");
});

test("a part of the amount: recorded, and the invoice stays open", async () => {
  const invoice = await makeInvoice(api, { amount_cents: 1_000 });
  const part = paymentOf(invoice, { amount_cents: 400 });
  expect((await api.post("/v1/payments", part)).status).toBe(201);
  expect(await invoiceOf(invoice.id)).toMatchObject({
    status: "outstanding",
    payment_status: "partially_paid",
    amount_due_cents: 600,
  });
  await api.ok("POST", "/v1/payments", paymentOf(invoice, { amount_cents: 600 }));
  expect(await invoiceOf(invoice.id)).toMatchObject({ status: "succeeded", amount_due_cents: 0 });
});

test("more than is due is refused, unless the rest is to be kept as credit", async () => {
  const invoice = await makeInvoice(api, { amount_cents: 1_000 });
  const excess = paymentOf(invoice, { amount_cents: 1_001 });
  expectError(await api.post("/v1/payments", excess), 422, "amount_exceeds_due");
  const allowed = await api.post("/v1/payments", { ...excess, allow_overpayment: true });
  expect(allowed.status).toBe(201);
  const next = await makeInvoice(api, { amount_cents: 500, customer_id: invoice.customer_id });
  expect(next).toMatchObject({ total_cents: 500, credit_applied_cents: 1, amount_due_cents: 499 });
});

test("nothing, less than nothing and another currency are refused", async () => {
  const invoice = await makeInvoice(api);
  for (const wrong of [{ amount_cents: 0 }, { amount_cents: -1 }, { currency: "EUR" }]) {
    const refused = await api.post("/v1/payments", paymentOf(invoice, wrong));
    expectError(refused, 422, "validation_error");
  }
});

test("an invoice that is paid takes no second payment", async () => {
  const invoice = await makeInvoice(api);
  await api.ok("POST", "/v1/payments", paymentOf(invoice));
  const second = await api.post("/v1/payments", paymentOf(invoice));
  expectError(second, 422, "invoice_already_paid");
});

test("the same provider_payment_id reported twice is one payment; with other content a conflict", async () => {
  const invoice = await makeInvoice(api);
  const body = paymentOf(invoice);
  const { payment } = await api.ok("POST", "/v1/payments", body);
  const again = await api.post("/v1/payments", body);
  expect([again.status, again.body]).toEqual([200, { payment }]);
  const other = await api.post("/v1/payments", { ...body, amount_cents: 1 });
  expectError(other, 409, "payment_conflict");
});
