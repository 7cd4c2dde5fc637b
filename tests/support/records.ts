// Makes the records that most cases start from, through the API alone. Every field can be given.

import type { Json } from "./app.ts";

/** Anything that can call the API and insist on success. */
export type Caller = { ok(method: string, path: string, body?: unknown): Promise<Json> };

type Fields = Readonly<Record<string, unknown>>;

let made = 0;

/** A code that fits every grammar: catalog codes are the strictest. */
export function code(word: string): string {
  made += 1;
  return `${word}-${process.pid}-${made}`;
}

export async function makeCustomer(api: Caller, fields: Fields = {}): Promise<Json> {
  const wanted = { name: "Acme Ltd", email: "billing@acme.test", currency: "USD", ...fields };
  const body = { external_id: code("customer"), ...wanted };
  return (await api.ok("POST", "/v1/customers", body)).customer;
}

export async function makeMetric(api: Caller, fields: Fields = {}): Promise<Json> {
  const wanted = { name: "API calls", aggregation_type: "sum", field_name: "calls", ...fields };
  return (await api.ok("POST", "/v1/metrics", { code: code("metric"), ...wanted })).metric;
}

export async function makeItem(api: Caller, fields: Fields = {}): Promise<Json> {
  const wanted = { name: "Seat", amount_cents: 4_900, currency: "USD", ...fields };
  return (await api.ok("POST", "/v1/catalog", { code: code("item"), ...wanted })).catalog_item;
}

export async function makePlan(api: Caller, fields: Fields = {}): Promise<Json> {
  const wanted = { name: "Pro", interval: "monthly", amount_cents: 3_000, amount_currency: "USD" };
  return (await api.ok("POST", "/v1/plans", { code: code("plan"), ...wanted, ...fields })).plan;
}

export async function makeSubscription(api: Caller, fields: Fields = {}): Promise<Json> {
  const customer_id = fields.customer_id ?? (await makeCustomer(api)).id;
  const plan_id = fields.plan_id ?? (await makePlan(api)).id;
  const body = { external_id: code("sub"), properties: {}, ...fields, customer_id, plan_id };
  return (await api.ok("POST", "/v1/subscriptions", body)).subscription;
}

export async function makeAddOn(api: Caller, fields: Fields = {}): Promise<Json> {
  const price = fields.catalog_item_code === undefined ? { amount_cents: 25_000 } : {};
  const body = { code: code("addon"), name: "Onboarding", ...price, ...fields };
  return (await api.ok("POST", "/v1/addons", body)).add_on;
}

/** An open invoice of this amount: an add-on is the shortest way to one. */
export async function makeInvoice(api: Caller, fields: Fields = {}): Promise<Json> {
  const { customer_id, amount_cents = 25_000, currency = "USD" } = fields;
  const customer = customer_id ?? (await makeCustomer(api)).id;
  const addOn = await makeAddOn(api, { amount_cents, currency });
  const path = `/v1/addons/${addOn.id}/apply`;
  const { applied_add_on } = await api.ok("POST", path, { customer_id: customer });
  return (await api.ok("GET", `/v1/invoices/${applied_add_on.invoice_id}`)).invoice;
}

export function paymentOf(invoice: Json, fields: Fields = {}): Fields {
  return {
    invoice_id: invoice.id,
    amount_cents: invoice.total_cents,
    currency: invoice.currency,
    provider: "stripe",
    provider_payment_id: code("pi"),
    ...fields,
  };
}
