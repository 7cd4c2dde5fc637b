import { expect, test } from "vitest";
import { startApp } from "../support/app.ts";

test("a month of usage is billed on the first of the next month, and once", async () => {
  const app = await startApp({ at: "2025-01-10T09:00:00.000Z" });
  const { customer } = await app.post("/v1/customers", { external_id: "acme", name: "Acme", email: "a@b.c", currency: "USD" });
  const { metric } = await app.post("/v1/metrics", { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" });
  const { plan } = await app.post("/v1/plans", { code: "pro", name: "Pro", interval: "monthly", amount_cents: 0, amount_currency: "USD", charges: [{ charge_model: "standard", billable_metric_id: metric.id, invoice_timing: "arrears", properties: { amount: "0.25" } }] });
  const { subscription } = await app.post("/v1/subscriptions", { external_id: "s1", customer_id: customer.id, plan_id: plan.id, properties: {} });
  expect(subscription.current_period_end).toBe("2025-01-31T23:59:59.999Z");
  const a = await app.post("/v1/events", { transaction_id: "t1", subscription_id: subscription.id, code: "calls", value: "400", timestamp: "2025-01-11T00:00:00Z", properties: {} });
  expect(a).toEqual({ accepted: true, duplicate: false });
  console.log(JSON.stringify(await app.get(`/v1/subscriptions/${subscription.id}/usage`)));
  console.log(JSON.stringify(await app.post(`/v1/invoices/preview`, { subscription_id: "ext:s1" })));
  const report = await app.travelTo("2025-02-01T00:00:00.000Z");
  console.log(JSON.stringify(report));
  const { invoices } = await app.get(`/v1/invoices?customer_id=${customer.id}`);
  expect(invoices.map((i: {total_cents: number}) => i.total_cents)).toEqual([10_000]);
  console.log(JSON.stringify(await app.get(`/v1/invoices/${invoices[0].id}`)));
  const p = await app.post("/v1/payments", { invoice_id: invoices[0].id, amount_cents: 10000, currency: "USD", provider: "stripe", provider_payment_id: "pi_1" });
  console.log(JSON.stringify(p), JSON.stringify(await app.get("/v1/analytics")));
  console.log(JSON.stringify((await app.get("/v1/billing-events?all=1")).billing_events.map((e: {event_type:string}) => e.event_type)));
  expect(await app.runWorkers()).toBe(0);
  await app.close();
});
