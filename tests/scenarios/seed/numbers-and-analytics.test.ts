// Invoice numbers, and the figures of a project at a glance.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { flatFee, perUnit, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

describe("invoice numbers", () => {
  test("start again with the year of issue (S112)", async () => {
    const story = await sandbox(app, "2026-12-01");
    const subscription = await story.subscribe({ amount_cents: 3100 });
    const addOn = await story.addOn({ amount_cents: 500 });
    const customer = await story.customer();
    for (const at of ["2026-12-05", "2026-12-20", "2026-12-31T23:59:59.999"]) {
      await story.travelTo(at);
      await story.apply(addOn, customer);
    }
    await story.travelTo("2027-01-01");
    const invoices = await story.invoices();
    expect(invoices.map((invoice) => invoice.number)).toEqual([
      "INV-2026-0001",
      "INV-2026-0002",
      "INV-2026-0003",
      "INV-2027-0001",
    ]);
    expect(invoices[3]).toMatchObject({
      subscription_id: subscription.id,
      issuing_date: "2027-01-01",
      period_end: "2026-12-31",
    });
  });

  test("have no gap where many subscriptions close at once and some have nothing to pay (R13)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const plan = await story.plan({ charges: [perUnit(metric, "1")] });
    const customer = await story.customer();
    for (let i = 0; i < 12; i++) {
      const subscription = await story.subscribe({ plan, customer });
      if (i % 3 !== 0) await story.use(subscription, metric, "1");
    }
    await story.travelTo("2026-02-01");
    const numbers = (await story.invoices()).map((invoice) => invoice.number);
    const wanted = Array.from({ length: 8 }, (_, i) => `INV-2026-000${i + 1}`);
    expect(numbers).toEqual(wanted);
  });

  test("and ids belong to their project (S155)", async () => {
    const first = await sandbox(app, "2026-01-01");
    const second = await sandbox(app, "2026-01-01");
    for (const story of [first, second]) {
      await story.subscribe({ amount_cents: 100 });
      await story.travelTo("2026-02-01");
      expect(await story.invoices()).toMatchObject([{ number: "INV-2026-0001" }]);
    }
    const [invoice] = await first.invoices();
    for (const url of [
      `/v1/invoices/${invoice.id}`,
      `/v1/subscriptions/${invoice.subscription_id}`,
      `/v1/customers/${invoice.customer_id}`,
    ]) {
      expect((await first.call("GET", url)).status).toBe(200);
      expect((await second.call("GET", url)).status).toBe(404);
    }
    expect((await second.pay(invoice, 100)).status).toBe(404);
    expect(await first.invoice(invoice.id)).toEqual(invoice);
  });
});

describe("monthly recurring revenue", () => {
  test("takes every interval as a month, and is rounded once (S114)", async () => {
    const story = await sandbox(app, "2026-01-10");
    await story.subscribe({ interval: "yearly", amount_cents: 120_000 });
    await story.subscribe({ interval: "semiannual", amount_cents: 60_000 });
    await story.subscribe({ interval: "quarterly", amount_cents: 29_900 });
    await story.subscribe({ interval: "weekly", amount_cents: 1000 });
    expect(await story.get("/v1/analytics")).toMatchObject({
      mrr_cents: 34_300,
      active_subscriptions: 4,
    });
  });

  test("counts recurring flat fees of active subscriptions, not what is due once (S116)", async () => {
    const story = await sandbox(app, "2026-01-10");
    const plan = await story.plan({
      charges: [
        flatFee({ amount_override_cents: 4900, seats: true }),
        flatFee({ amount_override_cents: 9900, invoice_timing: "immediate" }),
      ],
    });
    const properties = { seats: 3 };
    await story.subscribe({ plan, properties });
    const second = await story.subscribe({ plan, properties });
    await story.suspend(second);
    expect(await story.get("/v1/analytics")).toMatchObject({
      mrr_cents: 14_700,
      active_subscriptions: 1,
      outstanding_invoice_count: 2,
      outstanding_total_cents: 19_800,
      top_plans: [{ plan_code: plan.code, plan_name: plan.name, active_count: 1 }],
    });
  });

  test("follows every change of status (S156)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 1000 });
    const [first, second, third] = [
      await story.subscribe({ plan }),
      await story.subscribe({ plan }),
      await story.subscribe({ plan }),
      await story.subscribe({ plan }),
    ];
    const mrr = async () => (await story.get("/v1/analytics")).mrr_cents;
    expect(await mrr()).toBe(4000);
    await story.suspend(first);
    expect(await mrr()).toBe(3000);
    await story.terminate(second);
    await story.setStatus(third, "canceled");
    expect(await mrr()).toBe(1000);
    await story.setStatus(first, "active");
    expect(await mrr()).toBe(2000);
  });

  test("follows the seats, and a new price from the next period on (R8)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const item = await story.item({ amount_cents: 1000 });
    const charges = [flatFee({ catalog_item_code: item.code, seats: true })];
    const subscription = await story.subscribe({ charges, properties: { seats: 3 } });
    const mrr = async () => (await story.get("/v1/analytics")).mrr_cents;
    expect(await mrr()).toBe(3000);
    await story.patch(`/v1/subscriptions/${subscription.id}`, { properties: { seats: 5 } });
    expect(await mrr()).toBe(5000);
    await story.post("/v1/catalog", { code: item.code, name: item.name, amount_cents: 1500 });
    expect(await mrr()).toBe(5000);
    await story.travelTo("2026-02-01");
    expect(await mrr()).toBe(7500);
  });
});

test("revenue is what was paid in the last 30 days, to the millisecond (S117)", async () => {
  const story = await sandbox(app, "2026-05-01");
  const customer = await story.customer();
  await story.apply(await story.addOn({ amount_cents: 5000 }), customer);
  const [invoice] = await story.invoices();
  await story.travelTo("2026-06-01T12:00");
  for (const [amount, paid_at] of [
    [1000, "2026-05-03T12:00:00.000Z"],
    [500, "2026-05-01T12:00:00.000Z"],
    [70, "2026-05-02T12:00:00.001Z"],
  ] as const) {
    expect((await story.pay(invoice, amount, { paid_at })).status).toBe(201);
  }
  const revenue = async () => {
    const { revenue_30d_cents, payments_30d_count }: Json = await story.get("/v1/analytics");
    return [revenue_30d_cents, payments_30d_count];
  };
  expect(await revenue()).toEqual([1070, 2]);
  await story.travelTo("2026-06-01T12:00:00.001");
  expect(await revenue()).toEqual([1000, 1]);
});

test("what is outstanding is what is still due, overdue included (R12)", async () => {
  const story = await sandbox(app, "2026-01-01");
  const customer = await story.customer();
  const addOn = await story.addOn({ amount_cents: 5000 });
  for (let i = 0; i < 3; i++) await story.apply(addOn, customer);
  const [paid, partly] = await story.invoices();
  await story.pay(paid, 5000);
  await story.pay(partly, 1500);
  await story.travelTo("2026-02-01");
  expect(await story.get("/v1/analytics")).toMatchObject({
    outstanding_invoice_count: 2,
    outstanding_total_cents: 8500,
  });
});
