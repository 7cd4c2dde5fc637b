// Everything that moves a customer's money, at once on one customer: payments, refunds, credit
// notes, voids, write-offs, grants and their ends, coupons, invoices and the workers' closes. Every
// statement is a little late. Nothing is overdrawn, and the books are those of some order.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer, Body, Json } from "../../support/app.ts";
import type { Client } from "../../support/client.ts";
import { amidClose, insist, makeCustomer, RaceCourse } from "../../support/race.ts";

const deep = process.env.DUES_DEEP === "1";
const ROUNDS = deep ? 40 : 1;
const ACTS = 64;
const TIMEOUT = { timeout: deep ? 900_000 : 60_000 };

const START = "2026-01-05T08:00:00.000Z";
const BEFORE = "2026-01-31T23:59:59.500Z";
/** Past the end of the period, and past the expiry of some grants. */
const AFTER = "2026-02-01T00:00:00.250Z";

let course: RaceCourse;
beforeAll(async () => {
  course = await RaceCourse.open();
});
afterAll(async () => {
  expect(await course.close()).toEqual([]);
});

const many = (count: number) => Array.from({ length: count }, (_, i) => i);

/** A customer with a tax, coupons, credit, subscriptions whose period ends, and unpaid invoices. */
class Account {
  readonly slow: Client;
  readonly customer_id: string;
  readonly #prompt: Client;
  readonly invoices: Json[] = [];
  readonly payments: Json[] = [];
  readonly notes: Json[] = [];
  readonly grants: Json[] = [];
  coupon: Json;
  plan: Json;
  top_up: Json;
  #refs = 0;

  private constructor({ prompt, slow }: { prompt: Client; slow: Client }, customer_id: string) {
    this.slow = slow;
    this.#prompt = prompt;
    this.customer_id = customer_id;
  }

  static async open(): Promise<Account> {
    course.setClocks(START, START);
    const clients = await course.project("live");
    const { prompt } = clients;
    const account = new Account(clients, (await makeCustomer(prompt)).id);
    await prompt.post("/v1/taxes", { code: "vat", name: "VAT", percent: "20" });
    await prompt.ok("PUT", "/v1/settings", { tax_codes: ["vat"] });
    await account.#sell();
    await account.#pay();
    return account;
  }

  async #sell(): Promise<void> {
    const { customer_id } = this;
    const terms = { code: "pro", name: "Pro", interval: "monthly", amount_currency: "USD" };
    this.plan = (await this.#prompt.post("/v1/plans", { ...terms, amount_cents: 3_100 })).plan;
    for (const i of many(6)) {
      const wanted = { customer_id, plan_id: this.plan.id, external_id: `s${i}` };
      await this.#prompt.post("/v1/subscriptions", wanted);
    }
    for (const [code, price] of Object.entries({
      pot: { amount_cents: 1_500, currency: "USD" },
      share: { percent: "10", times: 2 },
    })) {
      const made = await this.#prompt.post("/v1/coupons", { code, name: code, ...price });
      this.coupon = made.coupon;
    }
    for (const _ of many(16)) {
      const lines = [{ name: "Work", unit_amount_cents: 900 }];
      const { invoice } = await this.#prompt.post("/v1/invoices", { customer_id, lines });
      this.invoices.push((await this.#prompt.get(`/v1/invoices/${invoice.id}`)).invoice);
    }
  }

  async #pay(): Promise<void> {
    const { customer_id } = this;
    for (const invoice of this.invoices.slice(0, 6)) {
      const { body } = await this.pay(invoice, 1_180, this.#prompt);
      this.payments.push(body.payment);
    }
    for (const invoice of this.invoices.slice(0, 2)) {
      const wanted = { invoice_id: invoice.id, refund_cents: 300 };
      this.notes.push((await this.#prompt.post("/v1/credit-notes", wanted)).credit_note);
    }
    for (const i of many(8)) {
      const expires_at = i % 2 === 0 ? { expires_at: "2026-02-01T00:00:00.100Z" } : {};
      const free = { customer_id, amount_cents: 400 + i, kind: "free", ...expires_at };
      this.grants.push((await this.#prompt.post("/v1/grants", free)).grant);
    }
    const paid = { customer_id, amount_cents: 2_000, kind: "paid" };
    const { grant } = await this.#prompt.post("/v1/grants", paid);
    this.top_up = (await this.#prompt.get(`/v1/invoices/${grant.invoice_id}`)).invoice;
  }

  pay({ id }: Json, amount_cents: number, client = this.slow): Promise<Answer> {
    this.#refs += 1;
    return insist(client, "POST", "/v1/payments", {
      invoice_id: id,
      amount_cents,
      currency: "USD",
      provider: "bank",
      provider_payment_id: `p${this.#refs}`,
      allow_overpayment: true,
    });
  }

  refund(payment: Json, amount_cents: number, fields: Body = {}): Promise<Answer> {
    this.#refs += 1;
    const sent = { payment_id: payment.id, amount_cents, provider_refund_id: `r${this.#refs}` };
    return this.post("/v1/refunds", { ...sent, ...fields });
  }

  post(path: string, body: Body = {}): Promise<Answer> {
    return insist(this.slow, "POST", path, body);
  }

  /** More of every kind than can all be done: some are refused, in words. */
  acts(): (() => Promise<Answer>)[] {
    const { invoices, payments, notes, grants, customer_id } = this;
    const lines = [{ name: "More", unit_amount_cents: 700 }];
    const feeOf = ({ fees }: Json) => fees[0].id as string;
    const kinds: (() => Promise<Answer>)[][] = [
      invoices.slice(4, 12).map((one) => () => this.pay(one, 700)),
      invoices.slice(0, 10).map((one) => () => {
        const part = [{ fee_id: feeOf(one), amount_cents: 450 }];
        return this.post("/v1/credit-notes", { invoice_id: one.id, lines: part });
      }),
      invoices.slice(8, 14).map(
        ({ id }) =>
          () =>
            this.post(`/v1/invoices/${id}/void`),
      ),
      invoices.slice(10, 16).map(
        ({ id }) =>
          () =>
            this.post(`/v1/invoices/${id}/write-off`),
      ),
      [...payments, ...payments].map((one) => () => this.refund(one, 600)),
      [...notes, ...notes].map(({ id }, i) => () => {
        return this.refund(payments[i % notes.length], 200, { credit_note_id: id });
      }),
      [...grants, ...grants.slice(0, 2)].map(
        ({ id }) =>
          () =>
            this.post(`/v1/grants/${id}/revoke`),
      ),
      many(3).map(() => () => this.post("/v1/invoices", { customer_id, lines })),
      many(2).map(() => () => {
        return this.post("/v1/grants", { customer_id, amount_cents: 150, kind: "free" });
      }),
      many(2).map(() => () => {
        return this.post(`/v1/coupons/${this.coupon.id}/apply`, { customer_id });
      }),
      [() => this.pay(this.top_up, 2_000), () => this.pay(this.top_up, 2_000)],
      [() => this.post("/v1/credit-notes", { invoice_id: this.top_up.id })],
    ];
    // In turns of the kinds, so that all of them meet.
    const most = Math.max(...kinds.map((kind) => kind.length));
    return many(most).flatMap((i) => kinds.flatMap((kind) => kind.slice(i, i + 1)));
  }
}

test.each(many(ROUNDS))("64 acts at once beside a close (round %i)", TIMEOUT, async () => {
  const account = await Account.open();
  const acts = account.acts();
  expect(acts.length).toBeGreaterThanOrEqual(ACTS);
  course.setClocks(BEFORE, AFTER);
  const working = course.work("slow");
  const answers = await Promise.all(
    acts.map(async (act) => {
      await amidClose();
      return act();
    }),
  );
  await working;
  course.setClocks(AFTER, AFTER);
  await course.work();
  const failed = answers.filter(({ status }) => status >= 500);
  expect(failed.map(({ body }) => body)).toEqual([]);
  const done = answers.filter(({ status }) => status < 300).length;
  const refused = answers.length - done;
  // Neither everything nor nothing went: they were in each other's way.
  expect(done).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(0);
  const wallets = await account.slow.get(`/v1/customers/${account.customer_id}/wallets`);
  for (const { balance_cents } of wallets.wallets) expect(balance_cents).toBeGreaterThanOrEqual(0);
});
