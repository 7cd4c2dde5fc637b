// A sandbox project of its own for each story, and the acts that set a story up. Instants may be
// written short: a bare date is its first instant, and everything is UTC.

import { vi } from "vitest";
import type { Answer, App, Body, Json } from "./app.ts";

/** What the log calls the facts that endpoints are told. */
const TOLD = [
  "invoice.created",
  "payment.recorded",
  "subscription.period_renewed",
  "subscription.started",
  "subscription.trial_ended",
  "subscription.plan_changed",
  "subscription.billing_failed",
  "add_on.applied",
  "dunning.step_fired",
  "credit_note.created",
  "refund.recorded",
];
/** Told without an entry in the log. */
const UNLOGGED = ["invoice.payment_due", "wallet.balance_low"];
const REQUESTS = ["subscription.suspend_requested", "subscription.terminate_requested"];
/** Told under one name, unless one that has ended is only called otherwise. */
const ENDED = ["subscription.terminated", "subscription.canceled"];

let projects = 0;

/** A fresh sandbox project with its clock frozen. */
export async function sandbox(app: App, at: string): Promise<Sandbox> {
  projects += 1;
  const { project } = await app.post("/v1/projects", {
    workspace: "main",
    slug: `story-${projects}`,
    mode: "sandbox",
  });
  const story = new Sandbox(app, project.id);
  await story.post("/v1/clock", { frozen_at: instant(at) });
  return story;
}

/** "2026-01-15" and "2026-01-15T10:30" written out to the millisecond. */
export function instant(text: string): string {
  if (text.endsWith("Z")) return text;
  return `${text}${"0000-00-00T00:00:00.000Z".slice(text.length)}`;
}

export type PlanFields = {
  readonly code?: string;
  readonly name?: string;
  readonly interval?: string;
  readonly amount_cents?: number;
  readonly amount_currency?: string;
  readonly minimum_cents?: number;
  readonly base_timing?: string;
  readonly trial_days?: number;
  readonly tax_codes?: readonly string[] | null;
  readonly charges?: readonly Body[];
};

/** How a subscription runs; instants may be short. */
export type RunFields = {
  readonly billing_time?: string;
  readonly anchor_date?: string;
  readonly trial_days?: number;
  readonly starts_at?: string;
  readonly ends_at?: string;
  readonly overrides?: Body;
};

/** `trial_days` is the subscription's own here; a plan's is said where the plan is made. */
export type SubscriptionFields = Omit<PlanFields, "trial_days" | "name"> &
  RunFields & {
    readonly plan?: Json;
    readonly customer?: Json;
    readonly external_id?: string;
    readonly properties?: Body;
  };

/** A charge per unit of a metric, at a rate in main units of the currency. */
export function perUnit(metric: Json, amount: string, more: Body = {}): Body {
  const properties = { amount, ...more };
  return { charge_model: "standard", billable_metric_id: metric.id, properties };
}

/** A fixed charge; `seats` as its quantity when asked for. */
export function flatFee(fields: Body & { seats?: boolean }): Body {
  const { seats, ...rest } = fields;
  const quantity = seats === true ? { quantity_from: "subscription_property.seats" } : {};
  return { charge_model: "flat_fee", ...quantity, ...rest };
}

export class Sandbox {
  readonly #app: App;
  readonly project_id: string;
  #made = 0;

  constructor(app: App, project_id: string) {
    this.#app = app;
    this.project_id = project_id;
  }

  call(method: string, url: string, body?: unknown, headers: Body = {}): Promise<Answer> {
    return this.#app.call(method, url, body, { "x-project-id": this.project_id, ...headers });
  }

  ok(method: string, url: string, body?: unknown): Promise<Json> {
    return this.#app.ok(method, url, body, { "x-project-id": this.project_id });
  }

  get(url: string): Promise<Json> {
    return this.ok("GET", url);
  }

  post(url: string, body?: unknown): Promise<Json> {
    return this.ok("POST", url, body);
  }

  patch(url: string, body: unknown): Promise<Json> {
    return this.ok("PATCH", url, body);
  }

  /** The clock's report of all that happened on the way. */
  travelTo(to: string): Promise<Json> {
    return this.post("/v1/clock/advance", { to: instant(to) });
  }

  async now(): Promise<string> {
    return (await this.get("/v1/clock")).clock.now;
  }

  async customer(fields: Body = {}): Promise<Json> {
    const external_id = `customer-${this.#next()}`;
    const sent = { external_id, name: "Acme", email: "pay@acme.test", currency: "USD", ...fields };
    return (await this.post("/v1/customers", sent)).customer;
  }

  async metric(aggregation_type = "sum", fields: Body = {}): Promise<Json> {
    const code = `metric-${this.#next()}`;
    const sent = { code, name: "Usage", aggregation_type, field_name: "units", ...fields };
    return (await this.post("/v1/metrics", sent)).metric;
  }

  async item(fields: Body): Promise<Json> {
    const sent = { code: `item-${this.#next()}`, name: "Item", ...fields };
    return (await this.post("/v1/catalog", sent)).catalog_item;
  }

  async addOn(fields: Body): Promise<Json> {
    const sent = { code: `add-on-${this.#next()}`, name: "Add-on", ...fields };
    return (await this.post("/v1/addons", sent)).add_on;
  }

  async plan(fields: PlanFields = {}): Promise<Json> {
    const { code = `plan-${this.#next()}`, interval = "monthly", amount_cents = 0 } = fields;
    const { amount_currency = "USD", charges = [] } = fields;
    const always = { code, name: code, interval, amount_cents, amount_currency, charges };
    const sent = { ...always, ...fields };
    return (await this.post("/v1/plans", sent)).plan;
  }

  /** Started now, with a plan and a customer of its own unless they are given. */
  async subscribe(fields: SubscriptionFields = {}): Promise<Json> {
    const { plan, customer, external_id, properties = {}, ...rest } = fields;
    const { run, terms } = apart(rest);
    const { id: plan_id } = plan ?? (await this.plan(terms));
    const { id: customer_id } = customer ?? (await this.customer());
    const sent = { customer_id, plan_id, properties, ...(external_id && { external_id }), ...run };
    return (await this.post("/v1/subscriptions", sent)).subscription;
  }

  async update({ id }: Json, body: Body): Promise<Json> {
    return (await this.patch(`/v1/subscriptions/${id}`, body)).subscription;
  }

  /** A change of plan, now unless `change_at` says otherwise. */
  change(subscription: Json, plan: Json, fields: Body = {}): Promise<Json> {
    return this.update(subscription, { plan_id: plan.id, ...fields });
  }

  async subscription(id: string): Promise<Json> {
    return (await this.get(`/v1/subscriptions/${id}`)).subscription;
  }

  async terminate(subscription: Json, body?: Body): Promise<Json> {
    const url = `/v1/subscriptions/${subscription.id}/terminate`;
    return (await this.post(url, body)).subscription;
  }

  async suspend(subscription: Json): Promise<Json> {
    return (await this.post(`/v1/subscriptions/${subscription.id}/suspend`)).subscription;
  }

  async setStatus(subscription: Json, status: string): Promise<Json> {
    return (await this.patch(`/v1/subscriptions/${subscription.id}`, { status })).subscription;
  }

  /** The body of a usage event, at the project's present instant unless it says when. */
  usage(subscription: Json, metric: Json, value: string | undefined, at?: string): Body {
    return {
      transaction_id: `use-${this.#next()}`,
      subscription_id: subscription.id,
      code: metric.code,
      ...(value !== undefined && { value }),
      ...(at !== undefined && { timestamp: instant(at) }),
    };
  }

  /** Sends a usage event; the answer says what became of it. */
  use(subscription: Json, metric: Json, value: string, at?: string): Promise<Json> {
    return this.post("/v1/events", this.usage(subscription, metric, value, at));
  }

  async runningUsage(subscription: Json): Promise<Json> {
    return (await this.get(`/v1/subscriptions/${subscription.id}/usage`)).usage;
  }

  /** What the period would be billed if it ended now, or at its end with the usage of now. */
  async preview({ id }: Json, at: "now" | "period_end"): Promise<Json> {
    const sent = { subscription_id: id, at };
    return (await this.post("/v1/invoices/preview", sent)).invoice_preview;
  }

  /** Every invoice of the project with its fees, oldest first. */
  async invoices(): Promise<Json[]> {
    const { invoices } = await this.get("/v1/invoices?all=1");
    const ids: string[] = invoices.map((invoice: Json) => invoice.id).reverse();
    const found: Json[] = [];
    for (const id of ids) found.push((await this.get(`/v1/invoices/${id}`)).invoice);
    return found;
  }

  async invoice(id: string): Promise<Json> {
    return (await this.get(`/v1/invoices/${id}`)).invoice;
  }

  async totals(): Promise<number[]> {
    const { invoices } = await this.get("/v1/invoices?all=1");
    return invoices.map((invoice: Json) => invoice.total_cents).reverse();
  }

  pay(invoice: Json, amount_cents: unknown, fields: Body = {}): Promise<Answer> {
    return this.call("POST", "/v1/payments", {
      invoice_id: invoice.id,
      amount_cents,
      currency: invoice.currency,
      provider: "bank",
      provider_payment_id: `transfer-${this.#next()}`,
      ...fields,
    });
  }

  apply(addOn: Json, customer: Json, headers: Body = {}): Promise<Answer> {
    const body = { customer_id: customer.id };
    return this.call("POST", `/v1/addons/${addOn.id}/apply`, body, headers);
  }

  /** The log's entries of one type, oldest first. */
  async log(event_type: string): Promise<Json[]> {
    const { billing_events } = await this.get(`/v1/billing-events?all=1&event_type=${event_type}`);
    return billing_events.reverse();
  }

  /**
   * Every message to endpoints, oldest first; those that the log does not have only if one of them
   * is asked for. The feed shows a message once no older write is under
   * way, also one of another test's database; the log says at once how many there are to be.
   */
  async messages(also?: string): Promise<Json[]> {
    const logged = await Promise.all(TOLD.map((type) => this.log(type)));
    const ends = await Promise.all(ENDED.map((type) => this.log(type)));
    const told = ends.flat().filter(({ payload }) => payload.terminated_at !== undefined);
    // A step of dunning is logged once, and asks about each of these subscriptions.
    const more = logged.flat().flatMap(({ payload: { webhook_event, subscription_ids = [] } }) => {
      return REQUESTS.includes(webhook_event) ? subscription_ids.slice(1) : [];
    });
    const wanted = logged.flat().length + more.length + told.length;
    return vi.waitFor(
      async () => {
        const { webhook_messages } = await this.get("/v1/webhook-messages?all=1");
        const logged_ones = webhook_messages.filter(({ event }: Json) => !UNLOGGED.includes(event));
        if (logged_ones.length !== wanted) throw new Error(`${wanted} messages are logged.`);
        return also === undefined ? logged_ones : webhook_messages;
      },
      { timeout: 10_000, interval: 20 },
    );
  }

  /** The data of what endpoints are told under one event code, oldest first. */
  async webhooks(event: string): Promise<Json[]> {
    const told = (await this.messages(event)).filter((message) => message.event === event);
    return told.map((message) => JSON.parse(message.body).data);
  }

  #next(): number {
    this.#made += 1;
    return this.#made;
  }
}

/** What belongs to the subscription, and what to a plan that is made for it. */
function apart(fields: RunFields & Omit<PlanFields, "trial_days">) {
  const { billing_time, anchor_date, trial_days, starts_at, ends_at, overrides, ...terms } = fields;
  const run = {
    ...(billing_time !== undefined && { billing_time }),
    ...(anchor_date !== undefined && { anchor_date }),
    ...(trial_days !== undefined && { trial_days }),
    ...(starts_at !== undefined && { starts_at: instant(starts_at) }),
    ...(ends_at !== undefined && { ends_at: instant(ends_at) }),
    ...(overrides !== undefined && { overrides }),
  };
  return { run, terms };
}

/** How often a clock's report names an event. */
export function count(report: Json, event: string): number {
  return report.events.filter((one: Json) => one.event === event).length;
}

/** The lines of an invoice for one kind of fee. */
export function fees(invoice: Json, fee_type: string): Json[] {
  return invoice.fees.filter((fee: Json) => fee.fee_type === fee_type);
}
