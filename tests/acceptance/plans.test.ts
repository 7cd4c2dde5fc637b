// Plans and their charges, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { code, makeItem, makeMetric, makePlan, makeSubscription } from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

test("POST /v1/plans: body code, name, interval, amount_cents, amount_currency, labels, charges; 201 {plan} with charges", async () => {
  const metric = await makeMetric(api);
  const item = await makeItem(api);
  const standard = {
    charge_model: "standard",
    billable_metric_id: metric.id,
    invoice_timing: "arrears",
    properties: { amount: "0.05" },
  };
  const flat = {
    charge_model: "flat_fee",
    catalog_item_code: item.code,
    invoice_timing: "arrears",
    properties: {},
  };
  const fields = { code: code("plan"), name: "Pro", interval: "monthly", amount_cents: 2_900 };
  const body = { ...fields, amount_currency: "USD", labels: ["a", "b"] };
  const made = await api.post("/v1/plans", { ...body, charges: [standard, flat] });
  expect(made.status).toBe(201);
  const { plan } = made.body;
  expect(plan).toMatchObject({ ...body, description: null, category: null, archived_at: null });
  expect(plan.id).toMatch(UUID);
  expect(plan.created_at).toMatch(TIMESTAMP);
  expect(plan.charges).toMatchObject([standard, flat]);
  for (const charge of plan.charges) expect(charge.id).toMatch(UUID);
});

test.each(["weekly", "monthly", "quarterly", "semiannual", "yearly"])(
  "interval: enum weekly, monthly, quarterly, semiannual, yearly (%s)",
  async (interval) => {
    expect(await makePlan(api, { interval })).toMatchObject({ interval });
  },
);

test("another interval fails schema validation", async () => {
  const body = { code: code("p"), name: "P", interval: "daily", amount_currency: "USD" };
  expectError(await api.post("/v1/plans", body), 422, "validation_error");
});

test("amount_cents: base recurring fee, default 0; labels: default []", async () => {
  const body = { code: code("p"), name: "P", interval: "monthly", amount_currency: "USD" };
  const { plan } = (await api.post("/v1/plans", body)).body;
  expect(plan).toMatchObject({ amount_cents: 0, labels: [], charges: [] });
});

test("GET /v1/plans: 200 {plans:[...]}; with code, 200 {plan}", async () => {
  const plan = await makePlan(api);
  const listed = await api.get("/v1/plans");
  expect(listed.status).toBe(200);
  expect(listed.body.plans).toContainEqual(plan);
  const found = await api.get(`/v1/plans?code=${plan.code}`);
  expect([found.status, found.body]).toEqual([200, { plan }]);
});

test("GET /v1/plans/:id: plan with its charges", async () => {
  const item = await makeItem(api);
  const charges = [{ charge_model: "flat_fee", catalog_item_code: item.code }];
  const plan = await makePlan(api, { charges });
  const found = await api.get(`/v1/plans/${plan.id}`);
  expect([found.status, found.body]).toEqual([200, { plan }]);
  expect(found.body.plan.charges).toHaveLength(1);
});

test("POST /v1/plans/:id/charges: one charge object, same shape as in plan creation; 201 {charge}", async () => {
  const metric = await makeMetric(api);
  const plan = await makePlan(api);
  const charge = {
    charge_model: "standard",
    billable_metric_id: metric.id,
    invoice_timing: "arrears",
    properties: { amount: "1.25" },
  };
  const made = await api.post(`/v1/plans/${plan.id}/charges`, charge);
  expect(made.status).toBe(201);
  expect(made.body.charge).toMatchObject(charge);
  const now = (await api.get(`/v1/plans/${plan.id}`)).body.plan;
  expect(now.charges).toEqual([made.body.charge]);
});

test("for standard: billable_metric_id is the metric; one that is unknown is refused", async () => {
  const charge = {
    charge_model: "standard",
    billable_metric_id: UNKNOWN_ID,
    properties: { amount: "1" },
  };
  const body = { code: code("p"), name: "P", interval: "monthly", amount_currency: "USD" };
  const refused = await api.post("/v1/plans", { ...body, charges: [charge] });
  expectError(refused, 404, "not_found");
  expect(refused.body.error.message).toContain("billable_metric_id");
});

test("for standard: amount is the per-unit price as a decimal string", async () => {
  const metric = await makeMetric(api);
  const plan = await makePlan(api);
  for (const amount of [0.05, "five", "1e3", "-1", "", null, undefined]) {
    const charge = {
      charge_model: "standard",
      billable_metric_id: metric.id,
      properties: { amount },
    };
    const refused = await api.post(`/v1/plans/${plan.id}/charges`, charge);
    expectError(refused, 422, "validation_error");
    expect(refused.body.error.details[0].field).toBe("properties.amount");
  }
});

test("invoice_timing: arrears; the configuration file also allows immediate", async () => {
  const item = await makeItem(api);
  const plan = await makePlan(api);
  const charge = { charge_model: "flat_fee", catalog_item_code: item.code };
  for (const invoice_timing of ["arrears", "immediate"]) {
    const made = await api.post(`/v1/plans/${plan.id}/charges`, { ...charge, invoice_timing });
    expect(made.body.charge).toMatchObject({ ...charge, invoice_timing });
  }
  const refused = await api.post(`/v1/plans/${plan.id}/charges`, {
    ...charge,
    invoice_timing: "someday",
  });
  expectError(refused, 422, "validation_error");
});

test("amount_override_cents replaces the catalog price; quantity_from takes subscription_property.<property_name>", async () => {
  const item = await makeItem(api);
  const plan = await makePlan(api);
  const charge = {
    charge_model: "flat_fee",
    catalog_item_code: item.code,
    amount_override_cents: 1_000,
    quantity_from: "subscription_property.seats",
  };
  const made = await api.post(`/v1/plans/${plan.id}/charges`, charge);
  expect(made.body.charge).toMatchObject(charge);
  const refused = await api.post(`/v1/plans/${plan.id}/charges`, {
    ...charge,
    quantity_from: "seats",
  });
  expectError(refused, 422, "validation_error");
});

test("PATCH /v1/plans/:id: at least one of labels, category, name, description; 200 {plan}", async () => {
  const plan = await makePlan(api, { labels: ["old", "older"] });
  const changes = [
    { labels: ["new"] },
    { category: "paid" },
    { category: null },
    { name: "Renamed" },
    { description: "In words" },
    { description: null },
  ];
  for (const change of changes) {
    const patched = await api.patch(`/v1/plans/${plan.id}`, change);
    expect(patched.status).toBe(200);
    expect(patched.body.plan).toMatchObject(change);
  }
  expectError(await api.patch(`/v1/plans/${plan.id}`, {}), 422, "validation_error");
});

test("PATCH /v1/plans/:id: 404 when absent", async () => {
  const path = `/v1/plans/${UNKNOWN_ID}`;
  expectError(await api.patch(path, { name: "X" }), 404, "not_found");
});

test("DELETE /v1/plans/:id: 204 on success; live to archived, archived_at set", async () => {
  const plan = await makePlan(api);
  expect((await api.delete(`/v1/plans/${plan.id}`)).status).toBe(204);
  const now = (await api.get(`/v1/plans/${plan.id}`)).body.plan;
  expect(now.archived_at).toMatch(TIMESTAMP);
  const { plans } = (await api.get("/v1/plans")).body;
  expect(plans.map((one: { id: string }) => one.id)).not.toContain(plan.id);
});

test("DELETE is refused with 422 has_active_subscriptions when the plan has active subscriptions", async () => {
  const plan = await makePlan(api);
  const subscription = await makeSubscription(api, { plan_id: plan.id });
  expectError(await api.delete(`/v1/plans/${plan.id}`), 422, "has_active_subscriptions");
  await api.ok("POST", `/v1/subscriptions/${subscription.id}/terminate`);
  expect((await api.delete(`/v1/plans/${plan.id}`)).status).toBe(204);
});

test("a code of a live plan is taken; an archived plan frees it", async () => {
  const plan = await makePlan(api);
  const body = { code: plan.code, name: "P", interval: "monthly", amount_currency: "USD" };
  expectError(await api.post("/v1/plans", body), 409, "already_exists");
  await api.ok("DELETE", `/v1/plans/${plan.id}`);
  expect((await api.post("/v1/plans", body)).status).toBe(201);
});
