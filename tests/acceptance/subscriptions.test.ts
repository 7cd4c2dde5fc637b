// Subscriptions and their states, sentence by sentence.

import { beforeAll, describe, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { code, makeCustomer, makeItem, makePlan, makeSubscription } from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

const START = "2026-01-15T10:30:00.000Z";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project(START);
});

async function statusOf(id: string): Promise<string> {
  return (await api.ok("GET", `/v1/subscriptions/${id}`)).subscription.status;
}

test("POST /v1/subscriptions: body external_id, customer_id, plan_id, properties; 201 {subscription}", async () => {
  const [customer, plan] = [await makeCustomer(api), await makePlan(api)];
  const ids = { external_id: code("sub"), customer_id: customer.id, plan_id: plan.id };
  const made = await api.post("/v1/subscriptions", { ...ids, properties: { seats: 5 } });
  expect(made.status).toBe(201);
  const { subscription } = made.body;
  expect(subscription).toMatchObject({ ...ids, billing_time: "calendar" });
  expect(subscription.id).toMatch(UUID);
  expect(subscription.created_at).toMatch(TIMESTAMP);
});

test("a new subscription is active; period start and end are set; terminated_at is null", async () => {
  expect(await makeSubscription(api)).toMatchObject({
    status: "active",
    started_at: START,
    current_period_start: START,
    current_period_end: "2026-01-31T23:59:59.999Z",
    terminated_at: null,
  });
});

test("current_period_end: end of the period, at 23:59:59 of the last day", async () => {
  const ends = {
    weekly: "2026-01-18",
    monthly: "2026-01-31",
    quarterly: "2026-03-31",
    semiannual: "2026-06-30",
    yearly: "2026-12-31",
  };
  for (const [interval, day] of Object.entries(ends)) {
    const plan = await makePlan(api, { interval });
    const subscription = await makeSubscription(api, { plan_id: plan.id });
    expect(subscription.current_period_end, interval).toMatch(`${day}T23:59:59`);
  }
});

test("properties: object in requests; returned as a JSON-encoded string", async () => {
  const properties = { seats: 5, note: "é", nested: { a: [1, null] } };
  const subscription = await makeSubscription(api, { properties });
  expect(subscription.properties).toBeTypeOf("string");
  expect(JSON.parse(subscription.properties)).toEqual(properties);
  const customer = await makeCustomer(api);
  const body = { customer_id: customer.id, plan_id: subscription.plan_id, properties: "{}" };
  expectError(await api.post("/v1/subscriptions", body), 422, "validation_error");
});

test("customer_id and plan_id are validated as UUIDs", async () => {
  const [customer, plan] = [await makeCustomer(api), await makePlan(api)];
  const friendly = { customer_id: `ext:${customer.external_id}`, plan_id: plan.id };
  const refused = await api.post("/v1/subscriptions", friendly);
  expectError(refused, 422, "validation_error");
  expect(refused.body.error.details[0].field).toBe("customer_id");
  const byCode = { customer_id: customer.id, plan_id: plan.code };
  expectError(await api.post("/v1/subscriptions", byCode), 422, "validation_error");
});

test("condition: valid customer and plan", async () => {
  const [customer, plan] = [await makeCustomer(api), await makePlan(api)];
  const nobody = await api.post("/v1/subscriptions", { customer_id: UNKNOWN_ID, plan_id: plan.id });
  expectError(nobody, 404, "not_found");
  expect(nobody.body.error.message).toContain("customer_id");
  const nothing = { customer_id: customer.id, plan_id: UNKNOWN_ID };
  expectError(await api.post("/v1/subscriptions", nothing), 404, "not_found");
  await api.ok("DELETE", `/v1/plans/${plan.id}`);
  const archived = { customer_id: customer.id, plan_id: plan.id };
  expectError(await api.post("/v1/subscriptions", archived), 422, "plan_archived");
});

test("GET /v1/subscriptions: 200 {subscriptions:[...]}", async () => {
  const subscription = await makeSubscription(api);
  const listed = await api.get("/v1/subscriptions");
  expect(listed.status).toBe(200);
  expect(listed.body.subscriptions).toContainEqual(subscription);
});

test("GET /v1/subscriptions/:id: a subscription, by UUID or ext:<external_id>", async () => {
  const subscription = await makeSubscription(api);
  const found = await api.get(`/v1/subscriptions/${subscription.id}`);
  expect([found.status, found.body]).toEqual([200, { subscription }]);
  const byName = await api.get(`/v1/subscriptions/ext:${subscription.external_id}`);
  expect(byName.body).toEqual({ subscription });
  expectError(await api.get(`/v1/subscriptions/${UNKNOWN_ID}`), 404, "not_found");
});

test("the external_id of a live subscription is taken; a terminated one frees it", async () => {
  const first = await makeSubscription(api);
  const { external_id, customer_id, plan_id } = first;
  const again = { external_id, customer_id, plan_id };
  expectError(await api.post("/v1/subscriptions", again), 409, "already_exists");
  await api.ok("POST", `/v1/subscriptions/${first.id}/terminate`);
  const second = (await api.post("/v1/subscriptions", again)).body.subscription;
  const found = await api.get(`/v1/subscriptions/ext:${external_id}`);
  expect(found.body.subscription.id).toBe(second.id);
});

describe("states and transitions", () => {
  const STATES = ["active", "suspended", "terminated", "canceled"];

  async function inState(status: string) {
    const subscription = await makeSubscription(api);
    if (status === "active") return subscription;
    const path = `/v1/subscriptions/${subscription.id}`;
    return (await api.ok("PATCH", path, { status })).subscription;
  }

  test.each(STATES)(
    "%s: POST /v1/subscriptions/:id/terminate returns 200 {subscription} with status terminated",
    async (status) => {
      const { id } = await inState(status);
      const ended = await api.post(`/v1/subscriptions/${id}/terminate`);
      expect(ended.status).toBe(200);
      expect(ended.body.subscription).toMatchObject({ id, status: "terminated" });
      expect(ended.body.subscription.terminated_at).toMatch(TIMESTAMP);
      expect(await statusOf(id)).toBe("terminated");
    },
  );

  test.each(STATES)(
    "%s: POST /v1/subscriptions/:id/suspend returns 200, next state suspended",
    async (status) => {
      const { id } = await inState(status);
      const suspended = await api.post(`/v1/subscriptions/${id}/suspend`);
      expect(suspended.status).toBe(200);
      expect(suspended.body.subscription).toMatchObject({ id, status: "suspended" });
      expect(await statusOf(id)).toBe("suspended");
    },
  );

  test.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))(
    "%s: PATCH with status %s gives the given value",
    async (from, to) => {
      const { id } = await inState(from);
      const patched = await api.patch(`/v1/subscriptions/${id}`, { status: to });
      expect(patched.status).toBe(200);
      expect(patched.body.subscription.status).toBe(to);
      expect(await statusOf(id)).toBe(to);
    },
  );

  test("PATCH with a status that is none of the four fails validation", async () => {
    const { id } = await makeSubscription(api);
    const refused = await api.patch(`/v1/subscriptions/${id}`, { status: "paused" });
    expectError(refused, 422, "validation_error");
    expect(await statusOf(id)).toBe("active");
  });

  test("terminate and suspend need a subscription that exists", async () => {
    const path = `/v1/subscriptions/${UNKNOWN_ID}`;
    expectError(await api.post(`${path}/terminate`), 404, "not_found");
    expectError(await api.post(`${path}/suspend`), 404, "not_found");
    expectError(await api.patch(path, { status: "active" }), 404, "not_found");
  });
});

test("PATCH: at least one of properties (merged into the existing properties), status", async () => {
  const { id } = await makeSubscription(api, { properties: { seats: 5, keep: true } });
  const path = `/v1/subscriptions/${id}`;
  const merged = await api.patch(path, { properties: { seats: 7, more: "x" } });
  expect(merged.status).toBe(200);
  const properties = { seats: 7, keep: true, more: "x" };
  expect(JSON.parse(merged.body.subscription.properties)).toEqual(properties);
  expectError(await api.patch(path, {}), 422, "validation_error");
});

test("PATCH with status: properties merged if also sent", async () => {
  const { id } = await makeSubscription(api, { properties: { seats: 1 } });
  const change = { status: "suspended", properties: { note: "late" } };
  const { subscription } = (await api.patch(`/v1/subscriptions/${id}`, change)).body;
  expect(subscription.status).toBe("suspended");
  expect(JSON.parse(subscription.properties)).toEqual({ seats: 1, note: "late" });
});

test("active, period close, billing period ends: still active, a new period begins", async () => {
  const there = await service.project(START);
  const { id } = await makeSubscription(there);
  await there.ok("POST", "/v1/clock/advance", { to: "2026-02-01T00:00:00.000Z" });
  const { subscription } = await there.ok("GET", `/v1/subscriptions/${id}`);
  expect(subscription).toMatchObject({
    status: "active",
    current_period_start: "2026-02-01T00:00:00.000Z",
    current_period_end: "2026-02-28T23:59:59.999Z",
  });
  const log = await there.ok("GET", "/v1/billing-events?event_type=subscription.period_renewed");
  expect(log.billing_events[0].resource_id).toBe(id);
});

test("the service never suspends or terminates a subscription on its own", async () => {
  const there = await service.project(START);
  const { id } = await makeSubscription(there);
  await there.ok("POST", "/v1/clock/advance", { to: "2026-06-01T00:00:00.000Z" });
  const { subscription } = await there.ok("GET", `/v1/subscriptions/${id}`);
  expect(subscription.status).toBe("active");
  const overdue = await there.ok("GET", "/v1/invoices?status=overdue&all=1");
  expect(overdue.invoices.length).toBeGreaterThan(2);
});

test("quantity taken from a subscription property must be a number of things", async () => {
  const item = await makeItem(api);
  const charge = {
    charge_model: "flat_fee",
    catalog_item_code: item.code,
    quantity_from: "subscription_property.seats",
  };
  const [customer, plan] = [await makeCustomer(api), await makePlan(api, { charges: [charge] })];
  const ids = { customer_id: customer.id, plan_id: plan.id };
  for (const seats of ["many", -1, null, {}, "1e3"]) {
    const refused = await api.post("/v1/subscriptions", { ...ids, properties: { seats } });
    expectError(refused, 422, "validation_error");
  }
  const made = await api.post("/v1/subscriptions", { ...ids, properties: { seats: "2.5" } });
  expect(made.status).toBe(201);
});
