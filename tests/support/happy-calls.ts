// One successful call of every route, in an order in which each finds what it needs.

import type { Json } from "./app.ts";
import type { Client } from "./client.ts";
import { recordAsDelivered } from "./courier.ts";
import { called, type Happy } from "./happy-call.ts";
import { moneyCalls } from "./happy-money.ts";
import { pageCalls } from "./happy-pages.ts";
import { code, makeCustomer, makeInvoice, makeMetric, makePlan, paymentOf } from "./records.ts";

export async function* happyCalls(api: Client): AsyncGenerator<Happy> {
  yield* tenancy(api);
  const sold = yield* selling(api);
  yield* billing(api, sold);
  yield* moneyCalls(api);
  yield* reading(api);
  yield* telling(api);
  yield* showing(api);
  yield* pageCalls(api);
}

async function* tenancy(api: Client) {
  const { organization_id } = api.app.profile;
  const none = { authorization: undefined, "x-project-id": undefined };
  const wanted = { name: "happy", organization_id, scopes: ["read"] };
  const key = await called(api, "POST /v1/keys", "/v1/keys", wanted, none);
  yield key;
  yield await called(api, "GET /v1/keys", "/v1/keys");
  yield await called(api, "GET /v1/keys/me", "/v1/keys/me");
  yield await called(api, "DELETE /v1/keys/:id", `/v1/keys/${key.answer.body.id}`);
  const slug = code("w");
  yield await called(api, "POST /v1/workspaces", "/v1/workspaces", { slug, name: "W" });
  yield await called(api, "GET /v1/workspaces", "/v1/workspaces");
  const project = { workspace: slug, slug: "happy", mode: "sandbox" };
  yield await called(api, "POST /v1/projects", "/v1/projects", project);
  yield await called(api, "GET /v1/projects", `/v1/projects?workspace=${slug}&slug=happy`);
}

async function* selling(api: Client) {
  const buyer = { external_id: code("c"), name: "Acme", email: "a@b.test", currency: "USD" };
  const customer = await called(api, "POST /v1/customers", "/v1/customers", buyer);
  yield customer;
  const { id } = customer.answer.body.customer;
  yield await called(api, "GET /v1/customers", "/v1/customers?count=1");
  yield await called(api, "GET /v1/customers", `/v1/customers?external_id=${buyer.external_id}`);
  yield await called(api, "GET /v1/customers/:id", `/v1/customers/${id}`);
  yield await called(api, "PATCH /v1/customers/:id", `/v1/customers/${id}`, { name: "Ltd" });

  const measured = { code: code("m"), name: "M", aggregation_type: "sum", field_name: "n" };
  const metric = await called(api, "POST /v1/metrics", "/v1/metrics", measured);
  yield metric;
  const metricId = metric.answer.body.metric.id;
  yield await called(api, "GET /v1/metrics", "/v1/metrics");
  yield await called(api, "GET /v1/metrics/:id", `/v1/metrics/${metricId}`);
  yield await called(api, "PATCH /v1/metrics/:id", `/v1/metrics/${metricId}`, { name: "N" });
  const unused = await makeMetric(api);
  yield await called(api, "DELETE /v1/metrics/:id", `/v1/metrics/${unused.id}`);

  const product = { code: code("i"), name: "Seat", amount_cents: 100, metadata: { a: 1 } };
  const item = await called(api, "POST /v1/catalog", "/v1/catalog", product);
  yield item;
  yield await called(api, "POST /v1/catalog", "/v1/catalog", { ...product, amount_cents: 200 });
  yield await called(api, "GET /v1/catalog", "/v1/catalog?archived=1");
  const itemId = item.answer.body.catalog_item.id;
  yield await called(api, "GET /v1/catalog/:id", `/v1/catalog/${itemId}`);
  yield await called(api, "DELETE /v1/catalog/:id", `/v1/catalog/${itemId}`);
  return { customer_id: id, metric: metric.answer.body.metric };
}

async function* billing(api: Client, sold: { customer_id: string; metric: Json }) {
  const { customer_id, metric } = sold;
  const standard = {
    charge_model: "standard",
    billable_metric_id: metric.id,
    properties: { amount: "0.5" },
  };
  const terms = { code: code("p"), name: "P", interval: "monthly", amount_currency: "USD" };
  const plan = await called(api, "POST /v1/plans", "/v1/plans", { ...terms, charges: [standard] });
  yield plan;
  const { id: plan_id } = plan.answer.body.plan;
  yield await called(api, "GET /v1/plans", "/v1/plans");
  yield await called(api, "GET /v1/plans/:id", `/v1/plans/${plan_id}`);
  const charges = "/v1/plans/:id/charges";
  const flat = { charge_model: "flat_fee", amount_override_cents: 500, quantity_from: null };
  yield await called(api, `POST ${charges}`, `/v1/plans/${plan_id}/charges`, flat);
  yield await called(api, "PATCH /v1/plans/:id", `/v1/plans/${plan_id}`, { labels: ["x"] });
  const spare = await makePlan(api);
  yield await called(api, "DELETE /v1/plans/:id", `/v1/plans/${spare.id}`);

  const wanted = { customer_id, plan_id, properties: { seats: 2 } };
  const made = await called(api, "POST /v1/subscriptions", "/v1/subscriptions", wanted);
  yield made;
  const subscription_id = made.answer.body.subscription.id;
  const path = `/v1/subscriptions/${subscription_id}`;
  yield await called(api, "GET /v1/subscriptions", "/v1/subscriptions");
  yield await called(api, "GET /v1/subscriptions/:id", path);
  const change = { properties: { seats: 3 } };
  yield await called(api, "PATCH /v1/subscriptions/:id", path, change);
  const event = { subscription_id, code: metric.code, value: "7" };
  const first = { transaction_id: code("t"), ...event };
  yield await called(api, "POST /v1/events", "/v1/events", first);
  const events = [{ transaction_id: code("t"), ...event }, first, { transaction_id: 5 }];
  yield await called(api, "POST /v1/events/batch", "/v1/events/batch", { events });
  yield await called(api, "GET /v1/events", `/v1/events?subscription_id=${subscription_id}`);
  const one = `/v1/events/${first.transaction_id}`;
  yield await called(api, "GET /v1/events/:transaction_id", one);
  yield await called(api, "GET /v1/subscriptions/:id/usage", `${path}/usage`);
  const preview = { subscription_id, at: "period_end" };
  yield await called(api, "POST /v1/invoices/preview", "/v1/invoices/preview", preview);
  yield await called(api, "POST /v1/subscriptions/:id/catch-up", `${path}/catch-up`);
  yield await called(api, "POST /v1/subscriptions/:id/suspend", `${path}/suspend`);
  yield await called(api, "POST /v1/subscriptions/:id/terminate", `${path}/terminate`);
}

async function* reading(api: Client) {
  const extra = { code: code("a"), name: "A", amount_cents: 900 };
  const addOn = await called(api, "POST /v1/addons", "/v1/addons", extra);
  yield addOn;
  yield await called(api, "POST /v1/addons", "/v1/addons", { ...extra, name: "B" });
  const { id } = addOn.answer.body.add_on;
  yield await called(api, "GET /v1/addons", "/v1/addons");
  yield await called(api, "GET /v1/addons/:id", `/v1/addons/${id}`);
  const customer = await makeCustomer(api);
  const body = { customer_id: customer.id };
  yield await called(api, "POST /v1/addons/:id/apply", `/v1/addons/${id}/apply`, body);
  yield await called(api, "DELETE /v1/addons/:id", `/v1/addons/${id}`);

  const invoice = await makeInvoice(api);
  yield await called(api, "GET /v1/invoices", "/v1/invoices?limit=1&count=1");
  yield await called(api, "GET /v1/invoices/:id", `/v1/invoices/${invoice.id}`);
  const paying = paymentOf(invoice);
  const payment = await called(api, "POST /v1/payments", "/v1/payments", paying);
  yield payment;
  yield await called(api, "POST /v1/payments", "/v1/payments", paying);
  yield await called(api, "GET /v1/payments", "/v1/payments");
  const { id: payment_id } = payment.answer.body.payment;
  yield await called(api, "GET /v1/payments/:id", `/v1/payments/${payment_id}`);
  const unpaid = await makeInvoice(api);
  const voiding = `/v1/invoices/${unpaid.id}/void`;
  yield await called(api, "POST /v1/invoices/:id/void", voiding);

  yield await called(api, "GET /v1/analytics", "/v1/analytics");
  yield await called(api, "GET /v1/billing-events", "/v1/billing-events?order=asc&limit=3");
  yield await called(api, "GET /v1/clock", "/v1/clock");
  const frozen_at = "2026-01-11T00:00:00.000Z";
  yield await called(api, "POST /v1/clock", "/v1/clock", { frozen_at });
  const to = "2026-02-01T00:00:00.000Z";
  yield await called(api, "POST /v1/clock/advance", "/v1/clock/advance", { to });
}

async function* telling(api: Client) {
  const wanted = { url: "https://hooks.example.com/happy", events: ["invoice.created"] };
  const made = await called(api, "POST /v1/webhooks", "/v1/webhooks", wanted);
  yield made;
  const path = `/v1/webhooks/${made.answer.body.webhook_endpoint.id}`;
  yield await called(api, "GET /v1/webhooks", "/v1/webhooks");
  yield await called(api, "GET /v1/webhooks/:id", path);
  const events = ["invoice.created", "payment.succeeded"];
  yield await called(api, "PATCH /v1/webhooks/:id", path, { events });
  yield await called(api, "POST /v1/webhooks/:id/rotate-secret", `${path}/rotate-secret`);
  yield await called(api, "POST /v1/webhooks/:id/test", `${path}/test`);
  const since = "2026-01-01T00:00:00.000Z";
  yield await called(api, "POST /v1/webhooks/:id/replay", `${path}/replay`, { since });
  await recordAsDelivered(api.app, api.project);
  const log = await called(api, "GET /v1/webhook-deliveries", "/v1/webhook-deliveries");
  yield log;
  const again = `/v1/webhook-deliveries/${log.answer.body.webhook_deliveries[0].id}/redeliver`;
  yield await called(api, "POST /v1/webhook-deliveries/:id/redeliver", again);
  yield await called(api, "GET /v1/webhook-messages", "/v1/webhook-messages");
  yield await called(api, "DELETE /v1/webhooks/:id", path);
  const step = { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" };
  const policy = { enabled: true, steps: [step] };
  yield await called(api, "PUT /v1/dunning", "/v1/dunning", policy);
  yield await called(api, "GET /v1/dunning", "/v1/dunning");
}

async function* showing(api: Client) {
  const seller = { address: "1 Main Street", country: "FR", tax_id: "FR00111222333" };
  const settings = { net_payment_days: 14, ...seller };
  yield await called(api, "PUT /v1/settings", "/v1/settings", settings);
  yield await called(api, "GET /v1/settings", "/v1/settings");
  const { customer_id } = await makeInvoice(api);
  const portal = `/v1/portal/${customer_id}`;
  yield await called(api, "GET /v1/portal/:customerId", portal);
  yield await called(api, "GET /v1/portal/:customerId", `${portal}?refresh=1`);
  const cached = `/v1/portal-cache/${customer_id}`;
  yield await called(api, "DELETE /v1/portal-cache/:customerId", cached);
  yield await called(api, "DELETE /v1/portal-cache", "/v1/portal-cache");
  yield await called(api, "GET /v1/mcp", "/v1/mcp");
  const tools = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  yield await called(api, "POST /v1/mcp", "/v1/mcp", tools);
}
