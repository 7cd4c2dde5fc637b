// Time itself: how the clock is moved, where the server stands and when the workers come make no
// difference to what is billed.

import { afterEach, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { flatFee, instant, perUnit, Sandbox, sandbox } from "../../support/given.ts";
import { withoutIds } from "../../support/twin-world.ts";

const DAY_MS = 86_400_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function opened(options: Parameters<typeof startApp>[0] = {}): Promise<App> {
  const app = await startApp(options);
  closing.push(() => app.close());
  return app;
}

type Travel = (story: Sandbox, to: string) => Promise<void>;

const inOneJump: Travel = async (story, to) => {
  await story.travelTo(to);
};

const dayByDay: Travel = async (story, to) => {
  const end = Date.parse(instant(to));
  for (let at = Date.parse(await story.now()) + DAY_MS; at < end; at += DAY_MS) {
    await story.travelTo(new Date(at).toISOString());
  }
  await story.travelTo(to);
};

async function dunned(story: Sandbox): Promise<void> {
  await story.ok("PUT", "/v1/dunning", {
    enabled: true,
    steps: [
      { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
      { days_after_due: 14, webhook_event: "subscription.suspend_requested" },
    ],
  });
}

async function tenants(story: Sandbox) {
  const calls = await story.metric("sum");
  const people = await story.metric("count_unique");
  const item = await story.item({ amount_cents: 1900 });
  const seats = flatFee({ catalog_item_code: item.code, seats: true });
  const monthly = await story.plan({
    amount_cents: 4900,
    charges: [perUnit(calls, "0.0333"), perUnit(people, "1.50"), seats],
  });
  const weekly = { interval: "weekly", amount_cents: 1000, charges: [perUnit(calls, "0.01")] };
  const yearly = { interval: "yearly", amount_cents: 120_000 };
  const customer = await story.customer();
  const properties = { seats: 3 };
  return {
    calls,
    people,
    item,
    monthly,
    customer,
    steady: await story.subscribe({ plan: monthly, customer, properties }),
    paused: await story.subscribe({ plan: monthly, properties }),
    leaving: await story.subscribe({ plan: monthly, properties }),
    weekly: await story.subscribe({ ...weekly, customer }),
    yearly: await story.subscribe(yearly),
  };
}

/** Some weeks of acts, then a year in which nobody does anything. */
async function tell(story: Sandbox, travel: Travel): Promise<void> {
  await dunned(story);
  const { calls, people, item, monthly, customer, ...subscribed } = await tenants(story);
  const { steady, paused, leaving } = subscribed;
  const addOn = await story.addOn({ amount_cents: 2500 });

  await travel(story, "2026-01-20T08:00");
  for (const subscription of Object.values(subscribed)) {
    await story.use(subscription, calls, "1234.5", "2026-01-19T10:00");
    await story.use(subscription, people, "ann", "2026-01-19T10:00");
  }
  await story.suspend(paused);
  await story.apply(addOn, customer);
  await travel(story, "2026-02-03T09:30");
  await story.use(steady, calls, "77.7", "2026-01-31T23:59:59.999");
  await story.use(paused, calls, "-2000", "2026-01-21");
  await story.use(steady, people, "bob", "2026-02-03");
  await story.patch(`/v1/plans/${monthly.id}`, { amount_cents: 5900 });
  await story.post("/v1/catalog", { code: item.code, name: "Item", amount_cents: 2100 });
  const [first] = await story.invoices();
  await story.pay(first, 100);
  await travel(story, "2026-02-17T12:00");
  await story.setStatus(paused, "active");
  await story.terminate(leaving);
  // Late for an ended subscription, late for a living one, and ahead of time.
  await story.use(leaving, calls, "300", "2026-02-10");
  await story.use(steady, calls, "0.5", "2026-01-16");
  await story.use(steady, calls, "9", "2026-02-18T11:00");
  await story.patch(`/v1/subscriptions/${steady.id}`, { properties: { seats: 4 } });

  await travel(story, "2027-02-17T12:00");
}

async function told(story: Sandbox): Promise<Json> {
  const logs: Json = {};
  for (const type of [
    "invoice.created",
    "invoice.overdue",
    "subscription.period_renewed",
    "subscription.updated",
    "dunning.step_fired",
  ]) {
    logs[type] = await story.log(type);
  }
  logs.webhooks = await story.messages();
  const invoices = await story.invoices();
  const { subscriptions } = await story.get("/v1/subscriptions?all=1");
  return { invoices, subscriptions, logs, analytics: await story.get("/v1/analytics") };
}

test("one jump of a year and 365 of a day make the same invoices (R13)", {
  timeout: 240_000,
}, async () => {
  const app = await opened();
  const [one, many] = [await sandbox(app, "2026-01-15"), await sandbox(app, "2026-01-15")];
  await tell(one, inOneJump);
  await tell(many, dayByDay);
  const [jumped, walked] = [await told(one), await told(many)];
  expect(jumped.invoices.length).toBeGreaterThan(80);
  expect(jumped.logs["dunning.step_fired"].length).toBeGreaterThan(80);
  expect(withoutIds(jumped)).toEqual(withoutIds(walked));
});

test("after an outage every missed period is billed in order, on the day of the run (S17)", async () => {
  let now = new Date("2025-12-01T00:00:00.000Z");
  const app = await opened({ mode: "live", clock: { now: () => now } });
  const story = new Sandbox(app, app.profile.project_id);
  const metric = await story.metric();
  const charges = [perUnit(metric, "1")];
  const subscription = await story.subscribe({ amount_cents: 3000, charges });
  now = new Date("2026-01-31T12:00:00.000Z");
  await app.runWorkers();
  await story.use(subscription, metric, "7", "2026-02-01T08:00");

  now = new Date("2026-04-10T08:00:00.000Z");
  await story.use(subscription, metric, "2", "2026-02-15");
  await story.use(subscription, metric, "3", "2026-04-05");
  await app.runWorkers();
  await app.runWorkers();

  const invoices = (await story.invoices()).slice(1);
  expect(
    invoices.map((invoice) => [invoice.number, invoice.period_start, invoice.total_cents]),
  ).toEqual([
    ["INV-2026-0002", "2026-01-01", 3000],
    ["INV-2026-0003", "2026-02-01", 3900],
    ["INV-2026-0004", "2026-03-01", 3000],
  ]);
  for (const { issuing_date, due_date } of invoices) {
    expect([issuing_date, due_date]).toEqual(["2026-04-10", "2026-04-24"]);
  }
  // One for December, at its time, and three now.
  expect(await story.log("subscription.period_renewed")).toHaveLength(4);
  expect(await story.runningUsage(subscription)).toMatchObject({
    period_start: "2026-04-01T00:00:00.000Z",
    charges: [{ units: "3" }],
  });
});

test.each(["Pacific/Kiritimati", "America/Los_Angeles"])(
  "in the time zone of %s the figures are those of UTC (R2)",
  async (zone) => {
    const before = { TZ: process.env.TZ, PGOPTIONS: process.env.PGOPTIONS };
    closing.push(() => {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    process.env.TZ = zone;
    process.env.PGOPTIONS = `-c timezone=${zone}`;
    const app = await opened();
    const story = await sandbox(app, "2026-01-15T10:30");
    const metric = await story.metric();
    const charges = [perUnit(metric, "1")];
    const subscription = await story.subscribe({ amount_cents: 3100, charges });
    expect(subscription.current_period_end).toBe("2026-01-31T23:59:59.999Z");
    await story.travelTo("2026-01-31T23:00");
    await story.use(subscription, metric, "1", "2026-01-31T23:59:59.999");
    await story.use(subscription, metric, "2", "2026-02-01");
    const running = await story.runningUsage(subscription);
    expect(running.charges[0].days).toEqual([{ date: "2026-01-31", units: "1" }]);
    await story.travelTo("2026-03-16");
    const [january, february] = await story.invoices();
    expect(january).toMatchObject({
      total_cents: 1800,
      period_start: "2026-01-15",
      period_end: "2026-01-31",
      issuing_date: "2026-02-01",
      due_date: "2026-02-15",
      status: "overdue",
    });
    expect(february).toMatchObject({ total_cents: 3300, period_end: "2026-02-28" });
    const [overdue] = await story.log("invoice.overdue");
    expect(overdue.created_at).toBe("2026-02-16T00:00:00.000Z");
  },
);
