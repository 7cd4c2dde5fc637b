// The log of domain events, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import type { Json } from "../support/app.ts";
import { makeCustomer, makeInvoice, makeSubscription } from "../support/records.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

function log(query: string) {
  return api.ok("GET", `/v1/billing-events?${query}`);
}

test("GET /v1/billing-events: 200 {billing_events:[...], cursor}", async () => {
  await makeCustomer(api);
  const listed = await api.get("/v1/billing-events");
  expect(listed.status).toBe(200);
  expect(listed.body).toHaveProperty("cursor");
  const [entry] = listed.body.billing_events;
  expect(entry.id).toMatch(UUID);
  expect(entry.resource_id).toMatch(UUID);
  expect(entry.created_at).toMatch(TIMESTAMP);
});

test("records actions with event_type such as customer.created (payload carries external_id)", async () => {
  const customer = await makeCustomer(api);
  const { billing_events } = await log(`resource_id=${customer.id}`);
  expect(billing_events).toMatchObject([
    {
      resource_type: "customer",
      resource_id: customer.id,
      event_type: "customer.created",
      payload: { external_id: customer.external_id },
    },
  ]);
});

test("actor_token_id: uuid of the token that acted", async () => {
  const { id, token } = await service.token();
  const customer = await makeCustomer(api.as({ token }));
  const { billing_events } = await log(`actor_token_id=${id}&resource_type=customer`);
  expect(billing_events.map((entry: Json) => entry.resource_id)).toEqual([customer.id]);
});

test("query resource_type, resource_id, event_type", async () => {
  const subscription = await makeSubscription(api);
  await api.ok("POST", `/v1/subscriptions/${subscription.id}/suspend`);
  const types = async (query: string) =>
    (await log(`all=1&${query}`)).billing_events.map((entry: Json) => entry.event_type);
  expect(await types(`resource_id=${subscription.id}`)).toEqual([
    "subscription.suspended",
    "subscription.created",
  ]);
  expect(new Set(await types("event_type=plan.created"))).toEqual(new Set(["plan.created"]));
  const kinds = (await log("all=1&resource_type=subscription")).billing_events;
  expect(kinds.every((entry: Json) => entry.resource_type === "subscription")).toBe(true);
});

test("query since", async () => {
  const there = await service.project("2026-01-01T00:00:00.000Z");
  await makeCustomer(there);
  await there.ok("POST", "/v1/clock/advance", { to: "2026-01-02T00:00:00.000Z" });
  const later = await makeCustomer(there);
  const path = "/v1/billing-events?resource_type=customer&since=";
  const { billing_events } = await there.ok("GET", `${path}2026-01-02T00:00:00.000Z`);
  expect(billing_events.map((entry: Json) => entry.resource_id)).toEqual([later.id]);
  expectError(await there.get(`${path}yesterday`), 422, "validation_error");
});

test("what the scheduler does has no actor", async () => {
  const there = await service.project("2026-01-01T00:00:00.000Z");
  await makeSubscription(there);
  await there.ok("POST", "/v1/clock/advance", { to: "2026-02-01T00:00:00.000Z" });
  const path = "/v1/billing-events?event_type=invoice.created";
  const { billing_events } = await there.ok("GET", path);
  expect(billing_events).toMatchObject([{ actor_token_id: null }]);
});

test("invoices, add-ons and payments leave their entries", async () => {
  const invoice = await makeInvoice(api);
  const { billing_events } = await log(`resource_id=${invoice.id}`);
  expect(billing_events.map((entry: Json) => entry.event_type)).toEqual(["invoice.created"]);
  const applied = await log("event_type=add_on.applied");
  expect(applied.billing_events[0].payload).toMatchObject({ invoice_id: invoice.id });
});
