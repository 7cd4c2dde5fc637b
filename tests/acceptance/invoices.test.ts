// Invoices and fees, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import type { Json } from "../support/app.ts";
import {
  code,
  makeCustomer,
  makeInvoice,
  makeItem,
  makeMetric,
  makePlan,
  makeSubscription,
  paymentOf,
} from "../support/records.ts";
import { DATE, expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

let service: Service;
/** January is over here: one invoice of a base fee and 400 calls at 0.25. */
let api: Api;
let customer: Json;
let invoice: Json;

beforeAll(async () => {
  service = await openService();
  api = await service.project("2026-01-01T00:00:00.000Z");
  customer = await makeCustomer(api);
  const metric = await makeMetric(api, { code: "calls", field_name: "n" });
  const charge = {
    charge_model: "standard",
    billable_metric_id: metric.id,
    properties: { amount: "0.25" },
  };
  const plan = await makePlan(api, { amount_cents: 3_000, charges: [charge] });
  const subscription = await makeSubscription(api, {
    customer_id: customer.id,
    plan_id: plan.id,
  });
  const event = { transaction_id: code("tx"), subscription_id: subscription.id, code: "calls" };
  await api.ok("POST", "/v1/events", { ...event, value: "400" });
  await api.ok("POST", "/v1/clock/advance", { to: "2026-02-01T00:00:00.000Z" });
  const listed = await api.ok("GET", `/v1/invoices?customer_id=${customer.id}`);
  invoice = (await api.ok("GET", `/v1/invoices/${listed.invoices[0].id}`)).invoice;
});

test("period close (arrears charges): status outstanding, payment_status pending, invoice_type subscription", () => {
  expect(invoice).toMatchObject({
    status: "outstanding",
    payment_status: "pending",
    invoice_type: "subscription",
    currency: "USD",
    subtotal_cents: 13_000,
    total_cents: 13_000,
  });
});

test("number: form INV-<year>-<sequence>", async () => {
  expect(invoice.number).toMatch(/^INV-2026-\d{4,}$/);
  const next = await makeInvoice(api);
  expect(Number(next.number.slice(9))).toBe(Number(invoice.number.slice(9)) + 1);
});

test("issuing_date, due_date, period_start, period_end are dates; created_at a timestamp", () => {
  expect(invoice).toMatchObject({
    issuing_date: "2026-02-01",
    due_date: "2026-02-15",
    period_start: "2026-01-01",
    period_end: "2026-01-31",
  });
  for (const field of ["issuing_date", "due_date", "period_start", "period_end"]) {
    expect(invoice[field]).toMatch(DATE);
  }
  expect(invoice.created_at).toMatch(TIMESTAMP);
});

test("GET /v1/invoices/:id: 200 {invoice} including fees", async () => {
  const found = await api.get(`/v1/invoices/${invoice.id}`);
  expect([found.status, found.body]).toEqual([200, { invoice }]);
  expect(found.body.invoice.fees).toHaveLength(2);
});

test("fee: id, fee_type, billable_metric_code, units, amount_cents, amount_currency, properties", () => {
  const fee = invoice.fees.find((one: Json) => one.fee_type === "charge");
  expect(fee).toMatchObject({
    billable_metric_code: "calls",
    units: "400",
    amount_cents: 10_000,
    amount_currency: "USD",
    properties: { amount: "0.25" },
  });
  expect(fee.id).toMatch(UUID);
});

test("GET /v1/invoices: 200 {invoices:[...], cursor}; fees only on the single-invoice response", async () => {
  const listed = await api.get(`/v1/invoices?customer_id=${customer.id}`);
  expect(listed.status).toBe(200);
  const { fees: _fees, coupons: _coupons, taxes: _taxes, credits: _credits, ...rest } = invoice;
  const { seller: _seller, buyer: _buyer, parts: _parts, ...without } = rest;
  expect(listed.body.invoices).toEqual([without]);
  expect(listed.body).toHaveProperty("cursor");
});

test("query customer_id", async () => {
  const other = await makeInvoice(api);
  const { invoices } = await api.ok("GET", `/v1/invoices?customer_id=${other.customer_id}`);
  expect(invoices.map((one: Json) => one.id)).toEqual([other.id]);
  const byName = await api.ok("GET", `/v1/invoices?customer_id=ext:${customer.external_id}`);
  expect(byName.invoices.map((one: Json) => one.id)).toEqual([invoice.id]);
});

test("query status and payment_status", async () => {
  const paid = await makeInvoice(api);
  await api.ok("POST", "/v1/payments", paymentOf(paid));
  const done = await api.ok("GET", "/v1/invoices?status=succeeded&all=1");
  expect(done.invoices.map((one: Json) => one.id)).toContain(paid.id);
  expect(new Set(done.invoices.map((one: Json) => one.status))).toEqual(new Set(["succeeded"]));
  const pending = await api.ok("GET", "/v1/invoices?payment_status=pending&all=1");
  expect(pending.invoices.map((one: Json) => one.id)).toContain(invoice.id);
  expect(pending.invoices.map((one: Json) => one.id)).not.toContain(paid.id);
  expectError(await api.get("/v1/invoices?status=unheard"), 422, "validation_error");
});

test("query period_start and period_end", async () => {
  const ids = async (query: string) =>
    (await api.ok("GET", `/v1/invoices?all=1&${query}`)).invoices.map((one: Json) => one.id);
  expect(await ids("period_start=2026-01-01&period_end=2026-01-31")).toEqual([invoice.id]);
  expect(await ids("period_start=2026-01-02")).not.toContain(invoice.id);
  expect(await ids("period_end=2026-01-30")).not.toContain(invoice.id);
  expectError(await api.get("/v1/invoices?period_start=2026-02-30"), 422, "validation_error");
});

test("subscription start (immediate charges): an invoice at once", async () => {
  const item = await makeItem(api, { amount_cents: 9_900 });
  const charge = {
    charge_model: "flat_fee",
    catalog_item_code: item.code,
    invoice_timing: "immediate",
  };
  const plan = await makePlan(api, { charges: [charge] });
  const { id } = await makeSubscription(api, { plan_id: plan.id });
  const { invoices } = await api.ok("GET", `/v1/invoices?subscription_id=${id}`);
  expect(invoices).toMatchObject([
    { status: "outstanding", payment_status: "pending", total_cents: 9_900 },
  ]);
});

test("quantity_from: takes the quantity from that subscription property", async () => {
  const item = await makeItem(api, { amount_cents: 1_000 });
  const charge = {
    charge_model: "flat_fee",
    catalog_item_code: item.code,
    invoice_timing: "immediate",
    quantity_from: "subscription_property.seats",
    amount_override_cents: 300,
  };
  const plan = await makePlan(api, { charges: [charge] });
  const { id } = await makeSubscription(api, { plan_id: plan.id, properties: { seats: 7 } });
  const { invoices } = await api.ok("GET", `/v1/invoices?subscription_id=${id}`);
  expect(invoices[0].total_cents).toBe(2_100);
});

test("an invoice past its due date: status overdue", async () => {
  const there = await service.project("2026-01-01T00:00:00.000Z");
  const { id } = await makeInvoice(there);
  const status = async () => (await there.ok("GET", `/v1/invoices/${id}`)).invoice.status;
  await there.ok("POST", "/v1/clock/advance", { to: "2026-01-15T23:59:59.999Z" });
  expect(await status()).toBe("outstanding");
  await there.ok("POST", "/v1/clock/advance", { to: "2026-01-16T00:00:00.000Z" });
  expect(await status()).toBe("overdue");
});

test("an invoice of another project is not there", async () => {
  const other = await service.project();
  expectError(await other.get(`/v1/invoices/${invoice.id}`), 404, "not_found");
  expect((await other.ok("GET", "/v1/invoices")).invoices).toEqual([]);
});
