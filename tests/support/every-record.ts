// One record of every kind that a path can name, and how they all look: what one tenant has and
// another must neither see nor change.

import type { Json } from "./app.ts";
import type { Client } from "./client.ts";
import { recordAsDelivered } from "./courier.ts";
import {
  code,
  makeAddOn,
  makeCustomer,
  makeInvoice,
  makeItem,
  makeMetric,
  makePlan,
  makeSubscription,
  paymentOf,
} from "./records.ts";

/** Ids by the part of the path that names the kind, such as `customers`. */
export type Records = Readonly<Record<string, string>>;

export async function makeEveryRecord(client: Client): Promise<Records> {
  const customer = await makeCustomer(client);
  const sold = await sell(client, customer.id);
  const money = await makeMoney(client, customer.id);
  const told = await tell(client);
  const { token } = await client.get("/v1/keys/me");
  const portals = { portal: customer.id, "portal-cache": customer.id };
  return { customers: customer.id, ...portals, ...sold, ...money, ...told, keys: token.id };
}

async function sell(client: Client, customer_id: string): Promise<Records> {
  const metric = await makeMetric(client);
  const item = await makeItem(client);
  const plan = await makePlan(client);
  const subscription = await makeSubscription(client, { plan_id: plan.id, customer_id });
  const transaction_id = code("event");
  const counted = { code: metric.code, properties: { calls: 1 } };
  const event = { transaction_id, subscription_id: subscription.id, ...counted };
  await client.post("/v1/events", event);
  return {
    metrics: metric.id,
    catalog: item.id,
    plans: plan.id,
    subscriptions: subscription.id,
    events: transaction_id,
    addons: (await makeAddOn(client)).id,
  };
}

async function makeMoney(client: Client, customer_id: string): Promise<Records> {
  const make = async (path: string, body: Json) => (await client.post(path, body)) as Json;
  const invoice = await makeInvoice(client, { customer_id });
  const { payment } = await make("/v1/payments", paymentOf(invoice, { amount_cents: 1 }));
  const { credit_note } = await make("/v1/credit-notes", { invoice_id: invoice.id });
  const { tax } = await make("/v1/taxes", { code: code("tax"), name: "VAT", percent: "20" });
  const terms = { code: code("coupon"), name: "Coupon", percent: "10" };
  const { coupon } = await make("/v1/coupons", terms);
  const applying = `/v1/coupons/${coupon.id}/apply`;
  const { applied_coupon } = await make(applying, { customer_id });
  const { grant } = await make("/v1/grants", { customer_id, amount_cents: 500, kind: "free" });
  return {
    invoices: (await makeInvoice(client, { customer_id })).id,
    payments: payment.id,
    "credit-notes": credit_note.id,
    taxes: tax.id,
    coupons: coupon.id,
    "applied-coupons": applied_coupon.id,
    grants: grant.id,
  };
}

async function tell(client: Client): Promise<Records> {
  const wanted = { url: "https://hooks.example.com/dues", events: ["invoice.created"] };
  const { webhook_endpoint } = await client.ok("POST", "/v1/webhooks", wanted);
  await client.post(`/v1/webhooks/${webhook_endpoint.id}/test`);
  await recordAsDelivered(client.app, client.project);
  const { webhook_deliveries } = await client.get("/v1/webhook-deliveries");
  return { webhooks: webhook_endpoint.id, "webhook-deliveries": webhook_deliveries[0].id };
}

/** What is read in another way than by its own id. */
const READ_AS: Readonly<Record<string, (customer: string) => string>> = {
  // When a token was last used changes by itself; one that is revoked could not ask.
  keys: () => "/v1/projects",
  "portal-cache": (customer) => `/v1/portal/${customer}`,
  "webhook-deliveries": () => "/v1/webhook-deliveries?all=1",
};
/** What is part of no record, and would show an effect on it. */
const BESIDE = [
  ...["/v1/settings", "/v1/dunning", "/v1/refunds", "/v1/webhook-messages"],
  ...["/v1/invoices?all=1", "/v1/applied-coupons?all=1", "/v1/billing-events?all=1"],
];

/** All of them, and what stands beside them, as their owner reads them. */
export async function readEveryRecord(client: Client, records: Records): Promise<unknown> {
  const { customers = "" } = records;
  const paths = Object.entries(records).map(
    ([kind, id]) => READ_AS[kind]?.(customers) ?? `/v1/${kind}/${id}`,
  );
  const wallet = `/v1/customers/${customers}`;
  paths.push(...BESIDE, `${wallet}/wallets`, `${wallet}/ledger?currency=USD`);
  return Promise.all(paths.map(async (path) => [path, await client.get(path)]));
}
