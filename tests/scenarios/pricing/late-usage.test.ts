// Late usage under tiers, what a fee says about itself, and how charges are written and answered.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { fees, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import {
  closeSound,
  creditOf,
  graduated,
  issued,
  lines,
  packages,
  percentage,
  volume,
} from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

type Metered = { story: Sandbox; metric: Json; plan: Json; subscription: Json };

async function metered(charge: (metric: Json) => Body, amount_cents = 0): Promise<Metered> {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric();
  const plan = await story.plan({ amount_cents, charges: [charge(metric)] });
  return { story, metric, plan, subscription: await story.subscribe({ plan }) };
}

/** January with this usage, closed; the clock stands on 3 February. */
async function afterJanuary(told: Metered, used: string): Promise<void> {
  await told.story.use(told.subscription, told.metric, used);
  await told.story.travelTo("2026-02-03");
}

describe("late usage", () => {
  test("P21 is rated in the tiers that all of the period's usage reaches", async () => {
    const told = await metered((metric) =>
      graduated(metric, "<=100 @0.10, <=1000 @0.08, rest @0.05"),
    );
    const { story, metric, subscription } = told;
    await afterJanuary(told, "90");
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.use(subscription, metric, "50", "2026-02-03");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 900", "2026-03-01: 500 180"]);
    const [january, february] = await story.invoices();
    expect(february.total_cents).toBe(680);
    const [usage] = january.fees;
    expect(fees(february, "adjustment")).toMatchObject([
      {
        units: "20",
        charge_id: usage.charge_id,
        billable_metric_code: metric.code,
        properties: {
          invoice_number: january.number,
          period_start: "2026-01-01",
          period_end: "2026-01-31",
          plan_code: told.plan.code,
          plan_version: 1,
          tiers: [
            { from: "0", up_to: "100", units: "100", precise_amount: "1000" },
            { from: "100", up_to: "1000", units: "10", precise_amount: "80" },
          ],
        },
      },
    ]);
  });

  test("P22 falls into a cheaper tier and lowers the invoice", async () => {
    const told = await metered((metric) => volume(metric, "<=100 @1.00, rest @0.50"), 6000);
    const { story, metric, subscription } = told;
    await afterJanuary(told, "100");
    await story.use(subscription, metric, "1", "2026-01-20");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 6000 10000", "2026-03-01: 6000 -4950"]);
    expect((await story.invoices()).at(-1)).toMatchObject({ total_cents: 1050 });
  });

  test("P22 falls into a cheaper tier and leaves a credit", async () => {
    const told = await metered((metric) => volume(metric, "<=100 @1.00, rest @0.50"));
    const { story, metric, subscription } = told;
    await afterJanuary(told, "100");
    await story.use(subscription, metric, "1", "2026-01-20");
    await story.travelTo("2026-03-02");
    expect((await story.invoices()).at(-1)).toMatchObject({
      total_cents: 0,
      subtotal_cents: -4950,
      status: "succeeded",
    });
    expect(await creditOf(story, { id: subscription.customer_id })).toBe(4950);
    await story.use(subscription, metric, "60");
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual([
      "2026-02-01: 10000",
      "2026-03-01: -4950",
      "2026-04-01: 6000",
    ]);
    expect((await story.invoices()).at(-1)).toMatchObject({
      total_cents: 6000,
      credit_applied_cents: 4950,
      amount_due_cents: 1050,
    });
  });

  test("P25 that changes no cent waits for what does", async () => {
    const told = await metered((metric) => graduated(metric, "<=100 @0.005, rest @0.0025"));
    const { story, metric, subscription } = told;
    await afterJanuary(told, "99");
    await story.use(subscription, metric, "0.5", "2026-01-20");
    await story.travelTo("2026-03-03");
    expect(await issued(story)).toEqual(["2026-02-01: 50"]);
    await story.use(subscription, metric, "0.4", "2026-01-20");
    await story.use(subscription, metric, "3.1", "2026-01-21");
    await story.travelTo("2026-06-01");
    expect(await issued(story)).toEqual(["2026-02-01: 50", "2026-04-01: 1"]);
    const [, march] = await story.invoices();
    expect(fees(march, "adjustment")).toMatchObject([
      { units: "4", properties: { precise_amount: "50.75" } },
    ]);
  });

  test("P27 is rated at the tiers of its own period", async () => {
    const told = await metered((metric) => graduated(metric, "<=10 @1, rest @0.5"));
    const { story, metric, subscription, plan } = told;
    await story.use(subscription, metric, "12");
    await story.travelTo("2026-01-20");
    const charges = [graduated(metric, "<=5 @2, rest @1")];
    await story.patch(`/v1/plans/${plan.id}`, { charges });
    await story.use(subscription, metric, "2");
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "14");
    await story.use(subscription, metric, "4", "2026-01-25");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 1200", "2026-03-01: 1900 200"]);
  });

  // 100 in a package that was begun: nothing; one more begins the next: 5.00.
  test("also: within a package that was begun costs nothing", async () => {
    const told = await metered((metric) => packages(metric, "100", "5"));
    const { story, metric, subscription } = told;
    await afterJanuary(told, "1");
    await story.use(subscription, metric, "99", "2026-01-20");
    await story.travelTo("2026-03-03");
    expect(await issued(story)).toEqual(["2026-02-01: 500"]);
    await story.use(subscription, metric, "0.1", "2026-01-20");
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual(["2026-02-01: 500", "2026-04-01: 500"]);
  });

  // An event of 0 changes no sum and is one event more: its fixed amount is due.
  test("also: of no value has its fixed amount", async () => {
    const told = await metered((metric) =>
      percentage(metric, "1", { fixed_amount: "0.30", free_events: 1 }),
    );
    const { story, metric, subscription } = told;
    await afterJanuary(told, "100");
    await story.use(subscription, metric, "0", "2026-01-20");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 100", "2026-03-01: 30"]);
  });

  // January had no invoice: there is no number to name.
  test("also: of a period without an invoice names none", async () => {
    const told = await metered((metric) => perUnit(metric, "1", { free_units: "10" }));
    const { story, metric, subscription } = told;
    await afterJanuary(told, "10");
    await story.use(subscription, metric, "2", "2026-01-20");
    await story.travelTo("2026-03-01");
    const [february] = await story.invoices();
    expect(fees(february, "adjustment")).toMatchObject([
      { units: "2", amount_cents: 200, properties: { invoice_number: null } },
    ]);
  });
});

describe("a fee explains itself", () => {
  test("P28 by the tiers that its units reach", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const subscription = await story.subscribe({
      charges: [
        graduated(metric, "<=100 @0.10 + 5, <=200 @0.0512, rest @0"),
        volume(metric, "<=100 @1, rest @0.0025 + 3"),
      ],
    });
    await story.use(subscription, metric, "150.5");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual([1759, 338]);
    expect(invoice.total_cents).toBe(2097);
    const [first, second] = invoice.fees;
    expect(first.properties).toMatchObject({
      charge_model: "graduated",
      precise_amount: "1758.56",
      plan_version: 1,
    });
    expect(first.properties.tiers).toEqual([
      {
        from: "0",
        up_to: "100",
        units: "100",
        amount: "0.10",
        flat_amount: "5",
        precise_amount: "1500",
      },
      {
        from: "100",
        up_to: "200",
        units: "50.5",
        amount: "0.0512",
        flat_amount: "0",
        precise_amount: "258.56",
      },
    ]);
    expect(second.properties).toMatchObject({ charge_model: "volume", precise_amount: "337.625" });
    expect(second.properties.tiers).toEqual([
      {
        from: "100",
        up_to: null,
        units: "150.5",
        amount: "0.0025",
        flat_amount: "3",
        precise_amount: "337.625",
      },
    ]);
  });

  test("also: by its packages and by its events", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const subscription = await story.subscribe({
      charges: [
        packages(metric, "100", "5", { free_units: "1000" }),
        percentage(metric, "2.9", { fixed_amount: "0.30", free_events: 1 }),
        graduated(metric, "<=5000 @0, rest @1"),
      ],
    });
    await story.use(subscription, metric, "1100");
    await story.use(subscription, metric, "0.5");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    const [first, second, third] = invoice.fees.map((fee: Json) => fee.properties);
    expect(first).toMatchObject({ package_size: "100", free_units: "1000", amount: "5" });
    expect(Number(first.packages)).toBe(2);
    expect([second.events, second.paid_events].map(Number)).toEqual([2, 1]);
    expect(second).toMatchObject({ percent: "2.9", fixed_amount: "0.30", free_events: 1 });
    // 31.9145 + 0.30
    expect(second.precise_amount).toBe("3221.45");
    expect(third).toMatchObject({ precise_amount: "0", tiers: [{ units: "1100.5" }] });
  });
});
