// Any sequence of acts on money, and many acts at once on one customer: whatever happens, the books
// are sound, no fee changes its sign and no balance falls below 0.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Answer, Json } from "../../support/app.ts";
import { perUnit, type Sandbox } from "../../support/given.ts";
import {
  applyCoupon,
  balanceOf,
  coupon,
  credit,
  discount,
  grant,
  oneOff,
  paid,
  proposeGrant,
  proposeOneOff,
  refund,
  settings,
  stories,
  tax,
  topUp,
  voidInvoice,
} from "../../support/money.ts";
import { Books } from "../../support/money-invariants.ts";
import { runs } from "../../support/property-runs.ts";

const { begin } = stories();
const deep = process.env.DUES_DEEP === "1";
const RUNS = deep ? 300 : 12;
const TIMEOUT = { timeout: deep ? 1_200_000 : 240_000 };
const HOUR_MS = 3_600_000;
const START = Date.parse("2026-01-07T13:00:00.000Z");

type Act = { readonly kind: (typeof KINDS)[number]; readonly a: number; readonly b: number };
const KINDS = [
  ...(["travel", "travel", "use", "use", "late", "late", "one-off", "one-off"] as const),
  ...(["pay", "pay", "refund", "note", "note", "void", "write-off"] as const),
  ...(["coupon", "coupon", "end", "grant", "top-up", "revoke", "tax"] as const),
];
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), a: fc.nat(10_000), b: fc.nat(10_000) }),
  { minLength: 15, maxLength: 30 },
);

/** One customer with a subscription, on whom the acts are played. */
class Play {
  readonly #story: Sandbox;
  readonly #metric: Json;
  readonly #customer: Json;
  readonly #subscription: Json;
  #now = START;

  constructor(story: Sandbox, parts: { metric: Json; customer: Json; subscription: Json }) {
    this.#story = story;
    this.#metric = parts.metric;
    this.#customer = parts.customer;
    this.#subscription = parts.subscription;
  }

  async #pick(url: string, name: string, at: number): Promise<Json> {
    const found = (await this.#story.get(`${url}${url.includes("?") ? "&" : "?"}all=1`))[name];
    return found.length === 0 ? undefined : found[at % found.length];
  }

  async #invoice(at: number): Promise<Json> {
    const found = await this.#pick("/v1/invoices", "invoices", at);
    return found && this.#story.invoice(found.id);
  }

  /** Every act is taken or refused in words; it never fails. */
  async act(act: Act): Promise<void> {
    const answer = await this.#play(act);
    if (answer !== undefined) expect([act, answer.status < 500]).toEqual([act, true]);
  }

  async #play({ kind, a, b }: Act): Promise<Answer | undefined> {
    switch (kind) {
      case "travel":
        this.#now += (1 + (a % 400)) * HOUR_MS;
        await this.#story.travelTo(new Date(this.#now).toISOString());
        return undefined;
      case "use":
        return this.#use((a % 60) - 5, 0);
      case "late":
        return this.#use((a % 60) - 40, b % 1400);
      case "tax":
        await tax(this.#story, "vat", String(a % 30));
        return undefined;
      case "one-off":
        return proposeOneOff(this.#story, this.#customer, `${a % 700}, ${b % 300} [low]`);
      case "coupon":
        return this.#coupon(a, b);
      case "grant":
        return this.#grant(a, b);
      case "top-up":
        return proposeGrant(this.#story, this.#customer, (a % 900) + 1, { kind: "paid" });
      default:
        return this.#settle(kind, a, b);
    }
  }

  /** What is done to an invoice, a payment, a grant or a coupon that is there. */
  async #settle(kind: Act["kind"], a: number, b: number): Promise<Answer | undefined> {
    const mine = `customer_id=${this.#customer.id}`;
    if (kind === "revoke") {
      const chosen = await this.#pick(`/v1/grants?${mine}`, "grants", a);
      return chosen && this.#story.call("POST", `/v1/grants/${chosen.id}/revoke`);
    }
    if (kind === "end") {
      const chosen = await this.#pick(`/v1/applied-coupons?${mine}`, "applied_coupons", a);
      return chosen && this.#story.call("DELETE", `/v1/applied-coupons/${chosen.id}`);
    }
    if (kind === "refund") return this.#refund(a, b);
    const invoice = await this.#invoice(a);
    if (invoice === undefined) return undefined;
    if (kind === "void") return voidInvoice(this.#story, invoice);
    if (kind === "note") return this.#note(invoice, b);
    if (kind === "pay") {
      const fields = { allow_overpayment: b % 2 === 0 };
      return this.#story.pay(invoice, (b % (invoice.total_cents + 50)) + 1, fields);
    }
    return this.#story.call("POST", `/v1/invoices/${invoice.id}/write-off`);
  }

  #use(value: number, hours: number): Promise<Answer> {
    const at = new Date(this.#now - hours * HOUR_MS).toISOString();
    const event = this.#story.usage(this.#subscription, this.#metric, String(value), at);
    return this.#story.call("POST", "/v1/events", event);
  }

  async #coupon(a: number, b: number): Promise<Answer> {
    const price =
      a % 2 === 0 ? { percent: String((b % 100) + 1) } : { amount_cents: (b % 900) + 1 };
    const times = [1, 2, null][a % 3] ?? null;
    const bound = a % 5 === 0 ? { subscription_id: this.#subscription.id } : {};
    const made = await coupon(this.#story, { ...price, times });
    return applyCoupon(this.#story, made, this.#customer, bound);
  }

  #grant(a: number, b: number): Promise<Answer> {
    const expires_at = new Date(this.#now + (1 + (b % 900)) * HOUR_MS).toISOString();
    const fields = { priority: b % 101, ...(b % 2 === 0 && { expires_at }) };
    return proposeGrant(this.#story, this.#customer, (a % 900) + 1, fields);
  }

  #note(invoice: Json, b: number): Promise<Answer> {
    if (b % 3 === 0) return credit(this.#story, invoice);
    const at = b % invoice.fees.length;
    const { taxable_cents } = invoice.fees[at];
    const amount = Math.sign(taxable_cents) * ((b % (Math.abs(taxable_cents) + 1)) + 1);
    const fields = b % 5 === 0 ? { refund_cents: b % 100 } : {};
    return credit(this.#story, invoice, { [at]: amount }, fields);
  }

  async #refund(a: number, b: number): Promise<Answer | undefined> {
    const payment = await this.#pick("/v1/payments", "payments", a);
    if (payment === undefined) return undefined;
    const url = `/v1/credit-notes?invoice_id=${payment.invoice_id}`;
    const made = b % 2 === 0 ? await this.#pick(url, "credit_notes", b) : undefined;
    const fields = made === undefined ? {} : { credit_note_id: made.id };
    return refund(this.#story, payment, (b % payment.amount_cents) + 1, fields);
  }
}

test("any story leaves sound books, and no fee changes its sign", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(acts, fc.boolean(), async (all, advance) => {
      const story = await begin(new Date(START).toISOString());
      await tax(story, "vat", "20");
      await tax(story, "low", "5.5");
      await settings(story, { tax_codes: ["vat"] });
      const metric = await story.metric();
      const customer = await story.customer();
      const base_timing = advance ? "advance" : "arrears";
      const charges = [perUnit(metric, "0.333", { minimum_cents: 200 })];
      const terms = { customer, amount_cents: 777, base_timing, charges };
      const subscription = await story.subscribe(terms);
      const play = new Play(story, { metric, customer, subscription });
      const books = new Books(story);
      for (const [i, act] of all.entries()) {
        await play.act(act);
        if (i % 5 === 4) expect(await books.broken()).toEqual([]);
      }
      await story.terminate(subscription);
      expect(await books.broken()).toEqual([]);
    }),
    runs(RUNS),
  );
});

const many = (count: number) => Array.from({ length: count }, (_, i) => i);

test("64 acts at once on one customer never overdraw its ledger", TIMEOUT, async () => {
  const story = await begin("2026-01-01");
  await tax(story, "vat", "20");
  await settings(story, { tax_codes: ["vat"] });
  const customer = await story.customer();
  const plan = await story.plan({ amount_cents: 3100 });
  const subscriptions: Json[] = [];
  for (const _ of many(16)) subscriptions.push(await story.subscribe({ plan, customer }));
  await discount(story, customer, { amount_cents: 5000 });
  const owed: Json[] = [];
  for (const _ of many(24)) owed.push(await oneOff(story, customer, "900"));
  const settled: Json[] = [];
  for (const invoice of owed.slice(0, 8)) {
    const { amount_due_cents } = await story.invoice(invoice.id);
    if (amount_due_cents > 0) settled.push(await paid(story, invoice, amount_due_cents));
  }
  const grants: Json[] = [];
  for (const i of many(8)) grants.push(await grant(story, customer, 400 + i));
  const { invoice: top_up } = await topUp(story, customer, 2000);
  await story.travelTo("2026-01-20T12:00");
  const post = (url: string, body?: Json) => story.call("POST", url, body);
  const calls: (() => Promise<Answer>)[] = [
    ...subscriptions.map(
      ({ id }) =>
        () =>
          post(`/v1/subscriptions/${id}/terminate`),
    ),
    ...owed
      .slice(8, 20)
      .map((invoice) => () => story.pay(invoice, 1500, { allow_overpayment: true })),
    ...owed.slice(0, 12).map((invoice) => () => credit(story, invoice, { 0: 1 })),
    ...grants.map(
      ({ id }) =>
        () =>
          post(`/v1/grants/${id}/revoke`),
    ),
    ...owed.slice(18, 22).map((invoice) => () => voidInvoice(story, invoice)),
    ...settled.slice(0, 3).map((payment) => () => refund(story, payment, 100)),
    ...many(8).map(() => () => proposeOneOff(story, customer, "250")),
    () => story.pay(top_up, 2000),
  ];
  while (calls.length < 64) calls.push(() => proposeOneOff(story, customer, "1"));
  expect(calls.length).toBe(64);
  // Taken in turns of the kinds, so that all of them meet.
  const mixed = calls.map((_, i) => calls[(i * 37) % calls.length]);
  const answers = await Promise.all(mixed.map((call) => call?.()));
  expect(answers.filter((answer) => (answer?.status ?? 500) >= 500)).toEqual([]);
  expect(await balanceOf(story, customer)).toBeGreaterThanOrEqual(0);
  expect(await new Books(story).broken()).toEqual([]);
});
