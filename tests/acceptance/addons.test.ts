// Add-ons and their application, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { makeAddOn, makeCustomer, makeItem } from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project("2026-03-05T10:00:00.000Z");
});

test("fields: code, name, description, a direct amount_cents, currency default USD, invoice_timing always immediate", async () => {
  const addOn = await makeAddOn(api, { description: "One hour", amount_cents: 12_500 });
  expect(addOn).toMatchObject({
    name: "Onboarding",
    description: "One hour",
    amount_cents: 12_500,
    currency: "USD",
    invoice_timing: "immediate",
  });
});

test("price from a catalog item; currency is ignored when the item is set", async () => {
  const item = await makeItem(api, { amount_cents: 777, currency: "EUR" });
  const addOn = await makeAddOn(api, { catalog_item_code: item.code, currency: "USD" });
  expect(addOn).toMatchObject({
    catalog_item_code: item.code,
    amount_cents: 777,
    currency: "EUR",
  });
});

test("exactly one route to a price is needed: catalog_ref or amount_cents", async () => {
  const item = await makeItem(api);
  const body = { code: "priceless", name: "X" };
  expectError(await api.post("/v1/addons", body), 422, "validation_error");
  const both = { ...body, catalog_ref: item.code, amount_cents: 1 };
  expectError(await api.post("/v1/addons", both), 422, "validation_error");
});

test("GET /v1/addons: 200 {add_ons:[...]}; with code, 200 {add_on}", async () => {
  const addOn = await makeAddOn(api);
  const listed = await api.get("/v1/addons");
  expect(listed.status).toBe(200);
  expect(listed.body.add_ons).toContainEqual(addOn);
  const found = await api.get(`/v1/addons?code=${addOn.code}`);
  expect([found.status, found.body]).toEqual([200, { add_on: addOn }]);
});

test("POST /v1/addons/:id/apply: body customer_id; 201 {applied_add_on}", async () => {
  const [addOn, customer] = [await makeAddOn(api), await makeCustomer(api)];
  const made = await api.post(`/v1/addons/${addOn.id}/apply`, { customer_id: customer.id });
  expect(made.status).toBe(201);
  const applied = made.body.applied_add_on;
  expect(applied).toMatchObject({
    customer_id: customer.id,
    add_on_id: addOn.id,
    amount_cents: addOn.amount_cents,
    currency: addOn.currency,
    applied_at: "2026-03-05T10:00:00.000Z",
  });
  expect(applied.id).toMatch(UUID);
  expect(applied.invoice_id).toMatch(UUID);
  expect(applied.applied_at).toMatch(TIMESTAMP);
});

test("apply generates an immediate invoice: addon, outstanding, pending", async () => {
  const [addOn, customer] = [await makeAddOn(api), await makeCustomer(api)];
  const path = `/v1/addons/${addOn.id}/apply`;
  const { applied_add_on } = await api.ok("POST", path, { customer_id: customer.id });
  const { invoice } = await api.ok("GET", `/v1/invoices/${applied_add_on.invoice_id}`);
  expect(invoice).toMatchObject({
    status: "outstanding",
    payment_status: "pending",
    invoice_type: "addon",
    currency: "USD",
    subtotal_cents: 25_000,
    total_cents: 25_000,
    issuing_date: "2026-03-05",
    period_start: "2026-03-05",
    period_end: "2026-03-05",
  });
  expect(invoice.fees).toHaveLength(1);
});

test("the price is the one at the moment of applying", async () => {
  const item = await makeItem(api, { amount_cents: 100 });
  const [addOn, customer] = [
    await makeAddOn(api, { catalog_item_code: item.code }),
    await makeCustomer(api),
  ];
  await makeItem(api, { code: item.code, amount_cents: 250 });
  const path = `/v1/addons/${addOn.id}/apply`;
  const { applied_add_on } = await api.ok("POST", path, { customer_id: customer.id });
  expect(applied_add_on.amount_cents).toBe(250);
});

test("customer_id is a uuid, of a customer that exists", async () => {
  const addOn = await makeAddOn(api);
  const path = `/v1/addons/${addOn.id}/apply`;
  expectError(await api.post(path, { customer_id: "ext:acme" }), 422, "validation_error");
  const customer_id = UNKNOWN_ID;
  expectError(await api.post(path, { customer_id }), 404, "not_found");
});
