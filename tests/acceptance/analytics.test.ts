// The analytics summary, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { openService, type Service } from "../support/acceptance.ts";
import { makeInvoice, makePlan, makeSubscription, paymentOf } from "../support/records.ts";
import { expectError } from "../support/shapes.ts";

let service: Service;

beforeAll(async () => {
  service = await openService();
});

test("GET /v1/analytics: project header required", async () => {
  const api = await service.project();
  const without = await api.call("GET", "/v1/analytics", undefined, { "x-project-id": undefined });
  expectError(without, 400, "missing_project");
});

test("200 with the analytics summary fields (top level, not wrapped); an empty project has zeros", async () => {
  const api = await service.project();
  const found = await api.get("/v1/analytics");
  expect(found.status).toBe(200);
  expect(found.body).toMatchObject({
    active_subscriptions: 0,
    mrr_cents: 0,
    outstanding_invoice_count: 0,
    outstanding_total_cents: 0,
    revenue_30d_cents: 0,
    payments_30d_count: 0,
    top_plans: [],
  });
});

test("the figures follow what happened", async () => {
  const api = await service.project("2026-04-01T00:00:00.000Z");
  const monthly = await makePlan(api, { name: "Monthly", amount_cents: 3_000 });
  const yearly = await makePlan(api, { interval: "yearly", amount_cents: 12_000 });
  await makeSubscription(api, { plan_id: monthly.id });
  await makeSubscription(api, { plan_id: monthly.id });
  await makeSubscription(api, { plan_id: yearly.id });
  const gone = await makeSubscription(api, { plan_id: monthly.id });
  await api.ok("PATCH", `/v1/subscriptions/${gone.id}`, { status: "canceled" });
  await makeInvoice(api, { amount_cents: 700 });
  const paid = await makeInvoice(api, { amount_cents: 1_000 });
  await api.ok("POST", "/v1/payments", paymentOf(paid, { amount_cents: 400 }));
  const old = { amount_cents: 100, paid_at: "2026-03-01T00:00:00.000Z" };
  await api.ok("POST", "/v1/payments", paymentOf(paid, old));
  expect((await api.get("/v1/analytics")).body).toMatchObject({
    active_subscriptions: 3,
    mrr_cents: 7_000,
    outstanding_invoice_count: 2,
    outstanding_total_cents: 1_200,
    revenue_30d_cents: 400,
    payments_30d_count: 1,
    top_plans: [
      { plan_code: monthly.code, plan_name: "Monthly", active_count: 2 },
      { plan_code: yearly.code, plan_name: "Pro", active_count: 1 },
    ],
  });
});
