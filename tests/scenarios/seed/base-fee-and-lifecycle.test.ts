// The base fee by days, and what suspending, ending and returning do to it.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { count, perUnit, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

describe("the first period", () => {
  test.each([
    { s: "S21", amount_cents: 5000, at: "2026-08-10", to: "2026-09-01", total: 3548 },
    { s: "S22", amount_cents: 10_000, at: "2025-02-08", to: "2025-03-01", total: 7500 },
    { s: "S23", amount_cents: 9999, at: "2026-02-14T23:59:59.999", to: "2026-03-01", total: 5357 },
  ])("costs its days, the first one whole ($s)", async ({ amount_cents, at, to, total }) => {
    const story = await sandbox(app, at);
    await story.subscribe({ amount_cents });
    await story.travelTo(to);
    const [invoice, ...others] = await story.invoices();
    expect(others).toEqual([]);
    expect(invoice).toMatchObject({ subtotal_cents: total, total_cents: total });
    expect(invoice.fees).toMatchObject([{ fee_type: "subscription", units: "1" }]);
  });

  test("makes no invoice when it rounds to nothing, and takes no number (S24)", async () => {
    const story = await sandbox(app, "2026-01-31");
    await story.subscribe({ amount_cents: 1 });
    await story.travelTo("2026-02-01");
    expect(await story.invoices()).toEqual([]);
    await story.travelTo("2026-03-01");
    expect(await story.invoices()).toMatchObject([{ total_cents: 1, number: "INV-2026-0001" }]);
  });
});

test("a free plan never makes an invoice and renews every time (S26)", async () => {
  const story = await sandbox(app, "2026-01-10");
  await story.subscribe({ amount_cents: 0 });
  const report = await story.travelTo("2026-07-01");
  expect(count(report, "subscription.period_renewed")).toBe(6);
  expect(count(report, "invoice.created")).toBe(0);
  expect(await story.invoices()).toEqual([]);
});

describe("termination", () => {
  test("bills the days so far at once (S27)", async () => {
    const story = await sandbox(app, "2022-12-15");
    const subscription = await story.subscribe({ amount_cents: 1000 });
    await story.travelTo("2022-12-20T10:00");
    const ended = await story.terminate(subscription);
    expect(ended).toMatchObject({
      status: "terminated",
      terminated_at: "2022-12-20T10:00:00.000Z",
    });
    expect(await story.invoices()).toMatchObject([
      {
        number: "INV-2022-0001",
        total_cents: 194,
        issuing_date: "2022-12-20",
        due_date: "2023-01-03",
        period_start: "2022-12-15",
        period_end: "2022-12-20",
        status: "outstanding",
      },
    ]);
  });

  test("counts its own day, of a leap February too (S29)", async () => {
    const story = await sandbox(app, "2024-01-01");
    const subscription = await story.subscribe({ amount_cents: 2900 });
    await story.travelTo("2024-02-12T06:00");
    await story.terminate(subscription);
    expect(await story.totals()).toEqual([2900, 1200]);
  });

  test("at midnight does not count the day that begins there (R4)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-15");
    await story.terminate(subscription);
    expect(await story.invoices()).toMatchObject([
      { total_cents: 1400, issuing_date: "2026-04-15", period_end: "2026-04-14" },
    ]);
  });

  test("again changes nothing and bills nothing (S31)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-15T10:00");
    await story.terminate(subscription);
    await story.travelTo("2026-04-16T10:00");
    const again = await story.terminate(subscription);
    await story.travelTo("2026-06-16");
    const third = await story.setStatus(subscription, "terminated");
    for (const { terminated_at, status } of [again, third]) {
      expect({ terminated_at, status }).toEqual({
        terminated_at: "2026-04-15T10:00:00.000Z",
        status: "terminated",
      });
    }
    expect(await story.totals()).toEqual([1500]);
    expect(await story.log("subscription.terminated")).toHaveLength(1);
    expect(await story.log("subscription.period_renewed")).toEqual([]);
  });

  test("with invoice: skip makes no final invoice and keeps the earlier ones (S122)", async () => {
    const story = await sandbox(app, "2026-03-01");
    const metric = await story.metric();
    const subscription = await story.subscribe({
      amount_cents: 3000,
      charges: [perUnit(metric, "1")],
    });
    await story.travelTo("2026-04-15T10:00");
    await story.use(subscription, metric, "7");
    const ended = await story.terminate(subscription, { invoice: "skip" });
    expect(ended).toMatchObject({
      status: "terminated",
      terminated_at: "2026-04-15T10:00:00.000Z",
    });
    await story.travelTo("2026-07-01");
    expect(await story.invoices()).toMatchObject([{ total_cents: 3000, status: "overdue" }]);
  });
});

test("a canceled subscription is never billed for its open period (S32)", async () => {
  const story = await sandbox(app, "2026-04-01");
  const metric = await story.metric();
  const charges = [perUnit(metric, "0.10")];
  const subscription = await story.subscribe({ amount_cents: 3000, charges });
  await story.travelTo("2026-04-15T10:00");
  await story.use(subscription, metric, "100");
  const canceled = await story.setStatus(subscription, "canceled");
  expect(canceled).toMatchObject({
    status: "canceled",
    terminated_at: "2026-04-15T10:00:00.000Z",
  });
  await story.travelTo("2026-07-01");
  expect(await story.invoices()).toEqual([]);
});

describe("suspension", () => {
  test("takes out the days that lie wholly inside it (S33)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-10T12:00");
    expect(await story.suspend(subscription)).toMatchObject({ status: "suspended" });
    await story.travelTo("2026-04-20T09:00");
    expect(await story.setStatus(subscription, "active")).toMatchObject({ status: "active" });
    await story.travelTo("2026-05-01");
    expect(await story.totals()).toEqual([2100]);
  });

  test("over a whole month leaves it without invoice and renewal, and time goes on (S34)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-30T12:00");
    await story.suspend(subscription);
    const report = await story.travelTo("2026-06-11");
    expect(await story.totals()).toEqual([3000]);
    expect(report.periods_closed).toBe(2);
    expect(count(report, "subscription.period_renewed")).toBe(0);
    const june = await story.subscription(subscription.id);
    expect(june.current_period_start).toBe("2026-06-01T00:00:00.000Z");
    expect(june.status).toBe("suspended");
    await story.setStatus(subscription, "active");
    const july = await story.travelTo("2026-07-01");
    expect(count(july, "subscription.period_renewed")).toBe(1);
    expect(await story.totals()).toEqual([3000, 2000]);
    expect(await story.webhooks("subscription.period_renewed")).toHaveLength(1);
  });

  test("over the end of a month counts in both months (S125)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-20T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-05-06");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-06-01");
    expect(await story.totals()).toEqual([2000, 2516]);
  });

  test("of less than a day, or touching a day by a millisecond, takes nothing out (R5)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-10T00:00:00.001");
    await story.suspend(subscription);
    await story.travelTo("2026-04-10T23:59:59.999");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-05-01");
    expect(await story.totals()).toEqual([3000]);
  });

  test("that ends in termination is billed for its active days only (R5)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-11");
    await story.suspend(subscription);
    await story.travelTo("2026-04-20T15:00");
    await story.terminate(subscription);
    expect(await story.totals()).toEqual([1000]);
  });
});

describe("an external_id", () => {
  test("is free again after termination, and then means the new one (S39)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const metric = await story.metric();
    const plan = await story.plan({ amount_cents: 3000, charges: [perUnit(metric, "1")] });
    const customer = await story.customer();
    const first = await story.subscribe({ plan, customer, external_id: "acme-pro" });
    await story.travelTo("2026-04-15T10:00");
    await story.terminate(first);
    const second = await story.subscribe({ plan, customer, external_id: "acme-pro" });
    expect(second.id).not.toBe(first.id);
    expect((await story.subscription("ext:acme-pro")).id).toBe(second.id);

    const byName = { id: "ext:acme-pro" };
    await story.use(byName, metric, "5", "2026-04-15T10:00");
    await story.travelTo("2026-05-01");
    const invoices = await story.invoices();
    // The 15th is a day of both: 15 days of the first, 16 of the second.
    expect(invoices).toMatchObject([
      { subscription_id: first.id, total_cents: 1500 },
      { subscription_id: second.id, total_cents: 1600 + 500 },
    ]);
  });

  test.each(["active", "suspended"])(
    "of a subscription that is %s is taken (S40)",
    async (status) => {
      const story = await sandbox(app, "2026-04-01");
      const plan = await story.plan();
      const customer = await story.customer();
      const first = await story.subscribe({ plan, customer, external_id: "acme-pro" });
      if (status === "suspended") await story.suspend(first);
      const refused = await story.call("POST", "/v1/subscriptions", {
        external_id: "acme-pro",
        customer_id: customer.id,
        plan_id: plan.id,
      });
      expect(refused.status).toBe(409);
      expect(refused.body.error.code).toBe("already_exists");
      const { subscriptions } = await story.get("/v1/subscriptions?all=1");
      expect(subscriptions.map((one: Json) => one.id)).toEqual([first.id]);
    },
  );

  test("goes to one of six equal creations at once (S40)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const plan = await story.plan();
    const customer = await story.customer();
    const body = { external_id: "acme-pro", customer_id: customer.id, plan_id: plan.id };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => story.call("POST", "/v1/subscriptions", body)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, 409, 409, 409, 409, 409]);
    expect((await story.get("/v1/subscriptions?all=1")).subscriptions).toHaveLength(1);
    expect(await story.log("subscription.created")).toHaveLength(1);
  });
});

test("a new base price counts from periods that start later (S127)", async () => {
  const story = await sandbox(app, "2026-01-01");
  const plan = await story.plan({ amount_cents: 3100 });
  const first = await story.subscribe({ plan });
  await story.travelTo("2026-01-20");
  await story.patch(`/v1/plans/${plan.id}`, { amount_cents: 6200 });
  const second = await story.subscribe({ plan });
  await story.travelTo("2026-03-01");
  const invoices = await story.invoices();
  const of = ({ id }: Json) =>
    invoices
      .filter((invoice) => invoice.subscription_id === id)
      .map((invoice) => invoice.total_cents);
  expect(of(first)).toEqual([3100, 6200]);
  expect(of(second)).toEqual([2400, 6200]);
});
