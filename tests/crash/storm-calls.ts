// Calls of every kind that writes, on what a project has at the moment: each may be refused for a
// rule of billing, and none may miss what is there or be told to come again.

import { setTimeout as pause } from "node:timers/promises";
import type { Answer, Body, Json } from "../support/app.ts";
import type { Client } from "../support/client.ts";

/** Half of them, so that calls for one thing often meet. */
const CUSTOMERS = 8;
const PLANS = 4;
const ITEMS = ["seat", "setup"];
const KEPT_MAX = 60;

export function pick<T>(all: readonly T[]): T {
  const found = all[Math.floor(Math.random() * all.length)];
  if (found === undefined) throw new Error("There is nothing to pick from.");
  return found;
}

const cents = () => 1 + Math.floor(Math.random() * 1_000);

function flat(item: string, quantity = false): Body {
  const quantity_from = "subscription_property.seats";
  return { type: "flat_fee", catalog_ref: item, ...(quantity && { quantity_from }) };
}

/** What the calls find and leave, by kind; the oldest go. */
export class Stock {
  readonly api: Client;
  readonly now: () => Date;
  #made = 0;
  readonly customers: Json[] = [];
  readonly plans: Json[] = [];
  readonly subscriptions: Json[] = [];
  readonly invoices: Json[] = [];
  readonly payments: Json[] = [];
  readonly grants: Json[] = [];
  readonly applied: Json[] = [];
  coupon: Json;
  addOn: Json;

  constructor(api: Client, now: () => Date) {
    this.api = api;
    this.now = now;
  }

  name(): string {
    this.#made += 1;
    return `s${this.#made}`;
  }

  /** An instant so many hours from now. */
  at(hours: number): string {
    return new Date(this.now().getTime() + hours * 3_600_000).toISOString();
  }

  keep(kind: "subscriptions" | "invoices" | "payments" | "grants" | "applied", made: Json): void {
    if (made === undefined) return;
    this[kind].push(made);
    if (this[kind].length > KEPT_MAX) this[kind].shift();
  }

  async fill(): Promise<this> {
    const { api } = this;
    await api.post("/v1/taxes", { code: "vat", name: "VAT", percent: "20" });
    const metric = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
    await api.post("/v1/metrics", metric);
    for (const code of ITEMS) await api.post("/v1/catalog", item(code));
    const usage = { type: "standard", metric_ref: "calls", rate: "0.01" };
    for (let i = 0; i < PLANS; i++) {
      const code = this.name();
      const charges = [usage, flat(pick(ITEMS), true)];
      const base_timing = i % 2 === 0 ? "advance" : "arrears";
      const terms = { code, name: code, interval: "weekly", amount_currency: "USD" };
      const plan = { ...terms, amount_cents: 700, base_timing, charges };
      this.plans.push((await api.post("/v1/plans", plan)).plan);
    }
    for (let i = 0; i < CUSTOMERS; i++) {
      const external_id = this.name();
      const wanted = { external_id, name: "C", email: "c@example.com", currency: "USD" };
      this.customers.push((await api.post("/v1/customers", wanted)).customer);
    }
    const coupon = { code: "ten", name: "Ten", percent: "10", times: null };
    this.coupon = (await api.post("/v1/coupons", coupon)).coupon;
    const addOn = { code: "boost", name: "Boost", catalog_item_code: "seat" };
    this.addOn = (await api.post("/v1/addons", addOn)).add_on;
    // One of each that calls refer to.
    for (const kind of ["subscribe", "invoice", "grant", "apply coupon"] as const) {
      await CALLS[kind](this);
    }
    await pay(this, 1);
    return this;
  }
}

function item(code: string): Body {
  return { code, name: code, amount_cents: cents(), currency: "USD" };
}

type Call = (stock: Stock) => Promise<Answer>;

async function subscribe(stock: Stock, more: Body = {}): Promise<Answer> {
  const body = { customer_id: pick(stock.customers).id, plan_id: pick(stock.plans).id };
  const wanted = { ...body, properties: { seats: 2 }, external_id: stock.name(), ...more };
  const answer = await stock.api.call("POST", "/v1/subscriptions", wanted);
  stock.keep("subscriptions", answer.body.subscription);
  return answer;
}

function patch(stock: Stock, body: Body): Promise<Answer> {
  return stock.api.call("PATCH", `/v1/subscriptions/${pick(stock.subscriptions).id}`, body);
}

function act(stock: Stock, what: string): Promise<Answer> {
  return stock.api.call("POST", `/v1/subscriptions/${pick(stock.subscriptions).id}/${what}`);
}

function onInvoice(stock: Stock, what: string): Promise<Answer> {
  return stock.api.call("POST", `/v1/invoices/${pick(stock.invoices).id}/${what}`);
}

async function grant(stock: Stock, kind: "free" | "paid"): Promise<Answer> {
  const wanted = { customer_id: pick(stock.customers).id, amount_cents: cents(), kind };
  const body = { ...wanted, ...(Math.random() < 0.5 && { expires_at: stock.at(24) }) };
  const answer = await stock.api.call("POST", "/v1/grants", body);
  stock.keep("grants", answer.body.grant);
  return answer;
}

const SENDS_MAX = 20;
const SEND_PAUSE_MS = 250;

/** As clients do, sent again while too many wait: on a slow machine a write may take that long. */
async function use(stock: Stock, path: string, body: Body): Promise<Answer> {
  for (let sends = 1; ; sends += 1) {
    const answer = await stock.api.call("POST", path, body);
    const isFull = /^Too many events are waiting/.test(answer.body.error?.message);
    if (!isFull || sends === SENDS_MAX) return answer;
    await pause(SEND_PAUSE_MS);
  }
}

function event(stock: Stock): Body {
  const { id: subscription_id } = pick(stock.subscriptions);
  const named = { transaction_id: stock.name(), subscription_id, code: "calls" };
  return { ...named, timestamp: stock.at(-48 * Math.random()), properties: { n: "3" } };
}

async function pay(stock: Stock, amount_cents = cents()): Promise<Answer> {
  const { id: invoice_id } = pick(stock.invoices);
  const named = {
    invoice_id,
    currency: "USD",
    provider: "bank",
    provider_payment_id: stock.name(),
  };
  const body = { ...named, amount_cents, allow_overpayment: Math.random() < 0.5 };
  const answer = await stock.api.call("POST", "/v1/payments", body);
  stock.keep("payments", answer.body.payment);
  return answer;
}

export const CALLS = {
  subscribe: (stock) => subscribe(stock),
  "start later": (stock) => subscribe(stock, { starts_at: stock.at(24 * Math.random()) }),
  "start with prices of its own": (stock) =>
    subscribe(stock, { overrides: { charges: [flat(pick(ITEMS))] } }),
  "start with a trial": (stock) => subscribe(stock, { trial_days: 1 }),
  properties: (stock) => patch(stock, { properties: { seats: 1 + Math.floor(9 * Math.random()) } }),
  "change of plan": (stock) => patch(stock, { plan_id: pick(stock.plans).id }),
  "change of plan later": (stock) =>
    patch(stock, { plan_id: pick(stock.plans).id, change_at: "period_end" }),
  "prices of its own": (stock) => patch(stock, { overrides: { charges: [flat(pick(ITEMS))] } }),
  "plan and prices": (stock) =>
    patch(stock, { plan_id: pick(stock.plans).id, overrides: { charges: [flat(pick(ITEMS))] } }),
  "set end": (stock) => patch(stock, { ends_at: stock.at(24 * Math.random()) }),
  suspend: (stock) => act(stock, "suspend"),
  terminate: (stock) => act(stock, "terminate"),
  "back to active": (stock) => patch(stock, { status: "active" }),
  cancel: (stock) => patch(stock, { properties: { seats: 3 }, status: "canceled" }),
  event: (stock) => use(stock, "/v1/events", event(stock)),
  events: (stock) =>
    use(stock, "/v1/events/batch", {
      events: Array.from({ length: 10 }, () => event(stock)),
    }),
  async invoice(stock) {
    const lines = [
      { catalog_item_code: pick(ITEMS) },
      { name: "Work", unit_amount_cents: cents() },
    ];
    const body = { customer_id: pick(stock.customers).id, lines };
    const answer = await stock.api.call("POST", "/v1/invoices", body);
    stock.keep("invoices", answer.body.invoice);
    return answer;
  },
  async "look at invoices"(stock) {
    const answer = await stock.api.call("GET", "/v1/invoices?limit=20");
    for (const invoice of answer.body.invoices ?? []) stock.keep("invoices", invoice);
    return answer;
  },
  pay: (stock) => pay(stock),
  refund: (stock) =>
    stock.api.call("POST", "/v1/refunds", {
      payment_id: pick(stock.payments).id,
      amount_cents: cents(),
      provider_refund_id: stock.name(),
    }),
  "credit note": (stock) =>
    stock.api.call("POST", "/v1/credit-notes", { invoice_id: pick(stock.invoices).id }),
  void: (stock) => onInvoice(stock, "void"),
  "write off": (stock) => onInvoice(stock, "write-off"),
  grant: (stock) => grant(stock, "free"),
  "top up": (stock) => grant(stock, "paid"),
  revoke: (stock) => stock.api.call("POST", `/v1/grants/${pick(stock.grants).id}/revoke`),
  wallet: (stock) =>
    stock.api.call("PUT", `/v1/customers/${pick(stock.customers).id}/wallets/USD`, {
      low_balance_cents: cents(),
      top_up_cents: cents(),
    }),
  async "apply coupon"(stock) {
    const body = { customer_id: pick(stock.customers).id };
    const answer = await stock.api.call("POST", `/v1/coupons/${stock.coupon.id}/apply`, body);
    stock.keep("applied", answer.body.applied_coupon);
    return answer;
  },
  "end coupon": (stock) =>
    stock.api.call("DELETE", `/v1/applied-coupons/${pick(stock.applied).id}`),
  "add-on's price": (stock) =>
    stock.api.call("POST", "/v1/addons", {
      code: "boost",
      name: "Boost",
      ...pick<Body>([{ catalog_item_code: pick(ITEMS) }, { amount_cents: cents() }]),
    }),
  "apply add-on": (stock) =>
    stock.api.call("POST", `/v1/addons/${stock.addOn.id}/apply`, {
      customer_id: pick(stock.customers).id,
    }),
  "plan's charges": (stock) =>
    stock.api.call("PATCH", `/v1/plans/${pick(stock.plans).id}`, {
      charges: [{ type: "standard", metric_ref: "calls", rate: "0.02" }, flat(pick(ITEMS), true)],
    }),
  "charge of a plan": (stock) =>
    stock.api.call("POST", `/v1/plans/${pick(stock.plans).id}/charges`, flat(pick(ITEMS))),
  "tax and settings": async (stock) => {
    await stock.api.call("POST", "/v1/taxes", { code: "vat", name: "VAT", percent: "19" });
    return stock.api.call("PUT", "/v1/settings", { tax_codes: ["vat"], name: stock.name() });
  },
  customer: (stock) =>
    stock.api.call("PATCH", `/v1/customers/${pick(stock.customers).id}`, {
      name: stock.name(),
      tax_codes: pick([["vat"], []]),
    }),
  dunning: (stock) =>
    stock.api.call("PUT", "/v1/dunning", {
      enabled: true,
      steps: [{ days_after_due: 1, webhook_event: "invoice.payment_overdue_reminder_1" }],
    }),
} satisfies Record<string, Call>;

/** Not one of the calls, but beside them all the time. */
export function reprice(stock: Stock): Promise<Answer> {
  return stock.api.call("POST", "/v1/catalog", item(pick(ITEMS)));
}
