// Acts on a project that two projects can play alike: an act names what it is about by its place in
// a list, and what it makes by its own number, so that two tellings differ in ids alone.

import fc from "fast-check";
import type { Answer, Body, Json } from "./app.ts";
import type { Sandbox } from "./given.ts";
import type { World } from "./twin-world.ts";

const HOUR_MS = 3_600_000;

const KINDS = [
  ...(["travel", "travel", "travel", "use", "use", "use", "late", "batch", "ahead"] as const),
  ...([
    "subscribe",
    "subscribe",
    "plan",
    "plan",
    "properties",
    "status",
    "end-at",
    "trial",
  ] as const),
  ...(["price", "item", "overrides", "customer", "tax", "dunning", "settings"] as const),
  ...([
    "one-off",
    "add-on",
    "coupon",
    "end-coupon",
    "grant",
    "top-up",
    "revoke",
    "wallet",
  ] as const),
  ...(["pay", "pay", "refund", "note", "void", "write-off"] as const),
] as const;

export type Act = {
  readonly kind: (typeof KINDS)[number];
  readonly a: number;
  readonly b: number;
  readonly c: number;
};

const part = fc.nat(10_000);

export function acts(minLength: number, maxLength: number): fc.Arbitrary<Act[]> {
  const act = fc.record({ kind: fc.constantFrom(...KINDS), a: part, b: part, c: part });
  return fc.array(act, { minLength, maxLength });
}

/** Plays acts on one of the twins. `at` is the number of the act in the story. */
export class Teller {
  readonly story: Sandbox;
  readonly #world: World;
  now: number;

  constructor(story: Sandbox, world: World, now: number) {
    this.story = story;
    this.#world = world;
    this.now = now;
  }

  /** Undefined where there is nothing yet that the act could be about. */
  async play(act: Exclude<Act, { kind: "travel" }>, at: number): Promise<Answer | undefined> {
    switch (act.kind) {
      case "use":
      case "late":
      case "ahead":
      case "batch":
        return this.#use(act, at);
      case "subscribe":
      case "plan":
      case "properties":
      case "status":
      case "end-at":
      case "trial":
      case "overrides":
        return this.#subscription(act, at);
      case "price":
      case "item":
      case "customer":
      case "tax":
      case "dunning":
      case "settings":
        return this.#terms(act);
      case "one-off":
      case "add-on":
      case "coupon":
      case "grant":
      case "top-up":
      case "wallet":
        return this.#give(act, at);
      default:
        return this.#settle(act, at);
    }
  }

  #post(url: string, body?: Body): Promise<Answer> {
    return this.story.call("POST", url, body);
  }

  #instant(hours: number): string {
    return new Date(this.now + hours * HOUR_MS).toISOString();
  }

  async subscriptions(): Promise<Json[]> {
    const { subscriptions } = await this.story.get("/v1/subscriptions?all=1");
    return subscriptions.reverse();
  }

  async #chosen(url: string, name: string, at: number): Promise<Json> {
    const found: Json[] = (await this.story.get(`${url}?all=1`))[name].reverse();
    return found[at % found.length];
  }

  async #use({ kind, a, b, c }: Act, at: number): Promise<Answer | undefined> {
    const found = await this.subscriptions();
    const subscription = found[a % found.length];
    if (subscription === undefined) return undefined;
    const hours = { use: 0, late: -(c % 1_400), ahead: c % 24 }[kind as "use"] ?? 0;
    const event = (i: number): Body => {
      const metric = this.#world.metrics[(b + i) % this.#world.metrics.length];
      return {
        transaction_id: `t-${at}-${i}`,
        subscription_id: subscription.id,
        code: metric?.code,
        value: String(((c + 7 * i) % 90) - (b % 20)),
        timestamp: this.#instant(hours - i * (c % 40)),
        properties: { region: ["eu", "us", "ap"][(c + i) % 3] },
      };
    };
    if (kind !== "batch") return this.#post("/v1/events", event(0));
    return this.#post("/v1/events/batch", { events: [0, 1, 2, 3].map(event) });
  }

  async #subscription({ kind, a, b, c }: Act, at: number): Promise<Answer | undefined> {
    const { plans, customers, item } = this.#world;
    const plan = plans[b % plans.length];
    if (kind === "subscribe") {
      const starts = a % 5 === 0 ? { starts_at: this.#instant(c % 900) } : {};
      const ends = a % 7 === 0 ? { ends_at: this.#instant(900 + (c % 2_000)) } : {};
      return this.#post("/v1/subscriptions", {
        external_id: `s-${at}`,
        customer_id: customers[a % customers.length]?.id,
        plan_id: plan?.id,
        billing_time: c % 3 === 0 ? "anniversary" : "calendar",
        properties: { seats: c % 6 },
        ...(c % 4 === 0 && { trial_days: c % 20 }),
        ...starts,
        ...ends,
      });
    }
    const found = await this.subscriptions();
    const subscription = found[a % found.length];
    if (subscription === undefined) return undefined;
    const change = (body: Body) =>
      this.story.call("PATCH", `/v1/subscriptions/${subscription.id}`, body);
    switch (kind) {
      case "plan":
        return change({
          plan_id: plan?.id,
          change_at: c % 2 === 0 ? "now" : "period_end",
          ...(c % 5 === 0 && { properties: { seats: c % 7 } }),
        });
      case "properties":
        return change({ properties: { seats: c % 9 } });
      case "trial":
        return change({
          trial_days: c % 30,
          ...(b % 3 === 0 && { ends_at: this.#instant(c % 700) }),
        });
      case "end-at":
        return change({ ends_at: c % 3 === 0 ? null : this.#instant(c % 1_500) });
      case "overrides": {
        const own = { charge_model: "flat_fee", catalog_item_code: item.code };
        return change({ overrides: c % 3 === 0 ? null : { amount_cents: c, charges: [own] } });
      }
      default:
        return this.#status(subscription, b, change);
    }
  }

  #status(subscription: Json, b: number, change: (body: Body) => Promise<Answer>) {
    const url = `/v1/subscriptions/${subscription.id}`;
    switch (b % 6) {
      case 0:
        return this.#post(`${url}/suspend`);
      case 1:
        return this.#post(`${url}/terminate`);
      case 2:
        return this.#post(`${url}/terminate`, { invoice: "skip" });
      case 3:
        return change({ status: "canceled" });
      default:
        return change({ status: "active" });
    }
  }

  #terms({ kind, a, b, c }: Act): Promise<Answer> {
    const { plans, customers, item } = this.#world;
    const put = (url: string, body: Body) => this.story.call("PUT", url, body);
    switch (kind) {
      case "price": {
        const plan = plans[a % plans.length];
        return this.story.call("PATCH", `/v1/plans/${plan?.id}`, { amount_cents: b });
      }
      case "item": {
        const { code, name } = item;
        return this.#post("/v1/catalog", { code, name, amount_cents: b });
      }
      case "customer": {
        const customer = customers[a % customers.length];
        const exempt = { tax_exemption: "reverse_charge", tax_id: "DE123456789" };
        const body = b % 2 === 0 ? exempt : { tax_exemption: null };
        return this.story.call("PATCH", `/v1/customers/${customer?.id}`, body);
      }
      case "tax":
        return this.#post("/v1/taxes", { code: "vat", name: "VAT", percent: String(a % 26) });
      case "dunning":
        return put("/v1/dunning", { enabled: a % 3 !== 0, steps: this.#steps(b, c) });
      default:
        return put("/v1/settings", { net_payment_days: a % 30, tax_codes: b % 4 ? ["vat"] : [] });
    }
  }

  #steps(b: number, c: number): Body[] {
    return [
      { days_after_due: 1 + (b % 4), webhook_event: "invoice.payment_overdue_reminder_1" },
      { days_after_due: 6 + (c % 5), webhook_event: "subscription.suspend_requested" },
      { days_after_due: 12 + (b % 9), webhook_event: "subscription.terminate_requested" },
    ];
  }

  #give({ kind, a, b, c }: Act, at: number): Promise<Answer> {
    const { customers, coupons, addOn, currency } = this.#world;
    const customer_id = customers[a % customers.length]?.id;
    switch (kind) {
      case "one-off": {
        const lines = [b % 700, c % 300].map((unit_amount_cents, i) => {
          return { name: `Line ${i}`, unit_amount_cents, ...(i === 1 && { tax_codes: ["low"] }) };
        });
        return this.#post("/v1/invoices", { customer_id, currency, lines });
      }
      case "add-on":
        return this.#post(`/v1/addons/${addOn.id}/apply`, { customer_id });
      case "coupon": {
        const coupon = coupons[b % coupons.length];
        return this.#post(`/v1/coupons/${coupon?.id}/apply`, { customer_id });
      }
      case "wallet": {
        const rule = { low_balance_cents: b % 900, top_up_cents: 1 + (c % 1_500) };
        const url = `/v1/customers/${customer_id}/wallets/${currency}`;
        return this.story.call("PUT", url, c % 3 === 0 ? { low_balance_cents: null } : rule);
      }
      default: {
        const paid = kind === "top-up";
        const expires = c % 2 === 0 ? { expires_at: this.#instant(1 + (c % 900)) } : {};
        const named = { kind: paid ? "paid" : "free", name: `Grant ${at}`, priority: b % 101 };
        return this.#post("/v1/grants", {
          customer_id,
          currency,
          amount_cents: 1 + (b % 1_900),
          ...named,
          ...expires,
        });
      }
    }
  }

  /** What is done to an invoice, a payment, a grant or a coupon that is there. */
  async #settle({ kind, a, b, c }: Act, at: number): Promise<Answer | undefined> {
    if (kind === "revoke") {
      const grant = await this.#chosen("/v1/grants", "grants", a);
      return grant && this.#post(`/v1/grants/${grant.id}/revoke`);
    }
    if (kind === "end-coupon") {
      const applied = await this.#chosen("/v1/applied-coupons", "applied_coupons", a);
      return applied && this.story.call("DELETE", `/v1/applied-coupons/${applied.id}`);
    }
    if (kind === "refund") return this.#refund(a, b, at);
    const invoice = await this.#chosen("/v1/invoices", "invoices", a);
    if (invoice === undefined) return undefined;
    switch (kind) {
      case "void":
        return this.#post(`/v1/invoices/${invoice.id}/void`);
      case "write-off":
        return this.#post(`/v1/invoices/${invoice.id}/write-off`);
      case "note":
        return this.#note(invoice.id, b, c);
      default:
        return this.#post("/v1/payments", {
          invoice_id: invoice.id,
          amount_cents: b % 3 === 0 ? 1 + (b % 500) : Math.max(1, invoice.amount_due_cents),
          currency: invoice.currency,
          provider: "bank",
          provider_payment_id: `p-${at}`,
          allow_overpayment: c % 2 === 0,
        });
    }
  }

  async #note(id: string, b: number, c: number): Promise<Answer> {
    const { fees } = await this.story.invoice(id);
    if (b % 3 === 0 || fees.length === 0) return this.#post("/v1/credit-notes", { invoice_id: id });
    const fee = fees[b % fees.length];
    const amount = Math.sign(fee.taxable_cents) * (1 + (c % (Math.abs(fee.taxable_cents) + 1)));
    const lines = [{ fee_id: fee.id, amount_cents: amount }];
    return this.#post("/v1/credit-notes", { invoice_id: id, lines });
  }

  async #refund(a: number, b: number, at: number): Promise<Answer | undefined> {
    const payment = await this.#chosen("/v1/payments", "payments", a);
    if (payment === undefined) return undefined;
    const { credit_notes } = await this.story.get(
      `/v1/credit-notes?all=1&invoice_id=${payment.invoice_id}`,
    );
    const note = credit_notes[b % Math.max(1, credit_notes.length)];
    return this.#post("/v1/refunds", {
      payment_id: payment.id,
      amount_cents: 1 + (b % payment.amount_cents),
      provider_refund_id: `r-${at}`,
      ...(b % 2 === 0 && note !== undefined && { credit_note_id: note.id }),
    });
  }
}
