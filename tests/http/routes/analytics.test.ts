// The figures of a project agree with what its lists add up to, whatever happened in it.

import { afterAll, expect, test } from "vitest";
import { analyticsTotalsJob } from "../../../src/workers/sweep.ts";
import { type Json, startApp } from "../../support/app.ts";
import { type Client, newProject } from "../../support/client.ts";
import {
  makeCustomer,
  makeInvoice,
  makeItem,
  makePlan,
  makeSubscription,
  paymentOf,
} from "../../support/records.ts";
import { runToEnd } from "../../support/run-job.ts";

const NOW = "2026-05-15T12:00:00.000Z";
const REVENUE_FROM = "2026-04-15T12:00:00.000Z";

const app = await startApp();
afterAll(() => app.close());

/** Twelfths of a month that one interval is worth. */
const TWELFTHS: Readonly<Record<string, bigint>> = {
  weekly: 52n,
  monthly: 12n,
  quarterly: 4n,
  semiannual: 2n,
  yearly: 1n,
};

/** What the figures must be, added up row by row from the lists. */
async function recomputed(api: Client, currency: string) {
  const all = async (name: string) => (await api.get(`/v1/${name}?all=1`))[name] as Json[];
  const plans = new Map<string, Json>();
  for (const plan of (await api.get("/v1/plans?archived=1")).plans) plans.set(plan.id, plan);
  const items = new Map<string, Json>();
  for (const item of (await api.get("/v1/catalog")).catalog_items) items.set(item.code, item);
  const active = (await all("subscriptions")).filter(({ status }) => status === "active");
  let tenths = 0n;
  for (const { plan_id, properties } of active) {
    const plan = plans.get(plan_id);
    if (plan.amount_currency !== currency) continue;
    let cents = 10n * BigInt(plan.amount_cents);
    for (const charge of plan.charges) {
      if (charge.charge_model !== "flat_fee" || charge.invoice_timing === "immediate") continue;
      const unit = charge.amount_override_cents ?? items.get(charge.catalog_item_code).amount_cents;
      const [whole, fraction = "0"] = String(
        charge.quantity_from === null ? 1 : JSON.parse(properties).seats,
      ).split(".");
      cents += BigInt(unit) * (10n * BigInt(whole ?? 0) + BigInt(fraction));
    }
    tenths += cents * (TWELFTHS[plan.interval] ?? 0n);
  }
  const invoices = (await all("invoices")).filter((one) => one.currency === currency);
  const open = invoices.filter((one) => ["outstanding", "overdue"].includes(one.status));
  const issued = invoices.filter(
    (one) => one.created_at > REVENUE_FROM && one.created_at <= NOW && one.status !== "voided",
  );
  const paid = (await all("payments")).filter(
    (one) => one.paid_at > REVENUE_FROM && one.paid_at <= NOW && one.currency === currency,
  );
  return {
    mrr_cents: Number((tenths + 60n) / 120n),
    outstanding_invoice_count: open.length,
    outstanding_total_cents: open.reduce((sum, one) => sum + one.amount_due_cents, 0),
    revenue_30d_cents: paid.reduce((sum, one) => sum + one.amount_cents, 0),
    payments_30d_count: paid.length,
    net_revenue_30d_cents: issued.reduce((sum, one) => sum + one.subtotal_cents, 0),
    tax_30d_cents: 0,
    refunds_30d_cents: 0,
    wallet_balance_cents: 0,
  };
}

async function livelyProject(): Promise<Client> {
  const api = await newProject(app, NOW);
  const seat = await makeItem(api, { amount_cents: 333 });
  const charges = [
    {
      type: "flat_fee",
      catalog_ref: seat.code,
      quantity_from: "subscription_property.seats",
    },
    { type: "flat_fee", amount_override_cents: 77, invoice_timing: "advance" },
    { type: "flat_fee", amount_override_cents: 5_000, invoice_timing: "immediate" },
  ];
  const intervals = Object.keys(TWELFTHS);
  for (const [i, interval] of intervals.entries()) {
    const plan = await makePlan(api, { interval, amount_cents: 997 * (i + 1), charges });
    for (let n = 0; n < i + 1; n++) {
      const properties = { seats: ["1", "2.5", "7", "0", "3"][n] };
      const { id } = await makeSubscription(api, { plan_id: plan.id, properties });
      const status = ["active", "active", "suspended", "terminated", "canceled"][n];
      if (status !== "active") await api.ok("PATCH", `/v1/subscriptions/${id}`, { status });
    }
  }
  const euro = await makePlan(api, { amount_currency: "EUR", amount_cents: 1_234 });
  await makeSubscription(api, { plan_id: euro.id });
  return api;
}

async function payments(api: Client): Promise<void> {
  const customer = await makeCustomer(api);
  const instants = [NOW, "2026-04-15T12:00:00.001Z", REVENUE_FROM, "2026-05-15T12:00:00.001Z"];
  for (const [i, paid_at] of instants.entries()) {
    const invoice = await makeInvoice(api, { customer_id: customer.id, amount_cents: 1_000 });
    const part = { paid_at, amount_cents: i % 2 === 0 ? 400 : 1_000 };
    await api.post("/v1/payments", paymentOf(invoice, part));
  }
  const voided = await makeInvoice(api, { customer_id: customer.id });
  await api.post(`/v1/invoices/${voided.id}/void`);
  const euros = await makeInvoice(api, { currency: "EUR", amount_cents: 900 });
  await api.post("/v1/payments", paymentOf(euros, { amount_cents: 100 }));
}

test("every figure is what the lists add up to, in each currency", async () => {
  const api = await livelyProject();
  await payments(api);
  const figures = await api.get("/v1/analytics");
  const usd = await recomputed(api, "USD");
  const eur = await recomputed(api, "EUR");
  expect(figures).toMatchObject({ currency: "USD", ...usd });
  expect(figures.by_currency).toEqual([
    { currency: "EUR", ...eur },
    { currency: "USD", ...usd },
  ]);
  expect(usd.mrr_cents).toBeGreaterThan(0);
  expect(usd.payments_30d_count).toBe(2);
  expect(eur).toMatchObject({ mrr_cents: 1_234, outstanding_total_cents: 800 });
  const { subscriptions } = await api.get("/v1/subscriptions?status=active&all=1");
  expect(figures.active_subscriptions).toBe(subscriptions.length);
});

test("adding up what was noted changes no figure, and leaves nothing to add up", async () => {
  const api = await livelyProject();
  const before = await api.get("/v1/analytics");
  const job = analyticsTotalsJob(app.context);
  expect(await runToEnd(job)).toBeGreaterThan(0);
  expect(await api.get("/v1/analytics")).toEqual(before);
});

test("a changed quantity is in the MRR at once", async () => {
  const api = await newProject(app, NOW);
  const charge = {
    type: "flat_fee",
    amount_override_cents: 100,
    quantity_from: "subscription_property.seats",
  };
  const plan = await makePlan(api, { amount_cents: 0, charges: [charge] });
  const { id } = await makeSubscription(api, { plan_id: plan.id, properties: { seats: 2 } });
  const mrr = async () => (await api.get("/v1/analytics")).mrr_cents;
  expect(await mrr()).toBe(200);
  await api.ok("PATCH", `/v1/subscriptions/${id}`, { properties: { seats: 5 } });
  expect(await mrr()).toBe(500);
  await api.post(`/v1/subscriptions/${id}/suspend`);
  expect(await mrr()).toBe(0);
  await api.ok("PATCH", `/v1/subscriptions/${id}`, { status: "active" });
  expect(await mrr()).toBe(500);
});

test("the ten plans with the most active subscriptions, the busiest first", async () => {
  const api = await newProject(app, NOW);
  const customer = await makeCustomer(api);
  const codes: string[] = [];
  for (let n = 0; n < 12; n++) {
    const plan = await makePlan(api);
    codes.push(plan.code);
    const subscribers = n < 3 ? 3 - n : 1;
    for (let i = 0; i < subscribers; i++) {
      await makeSubscription(api, { plan_id: plan.id, customer_id: customer.id });
    }
  }
  const { top_plans } = await api.get("/v1/analytics");
  expect(top_plans).toHaveLength(10);
  expect(top_plans.slice(0, 2)).toEqual([
    { plan_code: codes[0], plan_name: "Pro", active_count: 3 },
    { plan_code: codes[1], plan_name: "Pro", active_count: 2 },
  ]);
});
