// The least that a charge or a plan costs in a period, by days, and what late usage does to it.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { fees, flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, creditOf, graduated, issued, lines, useOf } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

type Terms = {
  readonly rate?: string;
  readonly charge_minimum?: number;
  readonly minimum_cents?: number;
  readonly amount_cents?: number;
};
type Metered = { story: Sandbox; metric: Json; plan: Json; subscription: Json };

async function metered(at: string, terms: Terms): Promise<Metered> {
  const { rate = "1", charge_minimum, minimum_cents, amount_cents = 0 } = terms;
  const story = await sandbox(app, at);
  const metric = await story.metric();
  const more: Body = charge_minimum === undefined ? {} : { minimum_cents: charge_minimum };
  const plan = await story.plan({
    amount_cents,
    ...(minimum_cents !== undefined && { minimum_cents }),
    charges: [perUnit(metric, rate, more)],
  });
  return { story, metric, plan, subscription: await story.subscribe({ plan }) };
}

describe("a charge's minimum", () => {
  test.each([
    { used: undefined, expected: [500] },
    { used: "30", expected: [300, 200] },
    { used: "50", expected: [500] },
    { used: "60", expected: [600] },
    { used: "49.96", expected: [500] },
  ])("P60 after usage of $used", async ({ used, expected }) => {
    const terms = { rate: "0.10", charge_minimum: 500 };
    const { story, metric, subscription } = await metered("2026-01-01", terms);
    if (used !== undefined) await story.use(subscription, metric, used);
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual(expected);
    const made_up = used === undefined || used === "30";
    expect(fees(invoice, "minimum")).toHaveLength(made_up ? 1 : 0);
    if (!made_up) return;
    expect(fees(invoice, "minimum")).toMatchObject([
      {
        units: "1",
        charge_id: invoice.fees[0].charge_id,
        billable_metric_code: metric.code,
        properties: {
          minimum_cents: 500,
          billable_days: 31,
          period_days: 31,
          counted_cents: used === undefined ? 0 : 300,
        },
      },
    ]);
  });

  // 1200 + 200 + 22 = 1422 of all combinations, and one line after them makes up 578.
  test("also: counts the lines of all combinations together", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric("sum", { dimensions: ["model"] });
    const prices = [{ match: { model: "large" }, amount: "0.10" }];
    const charge = perUnit(metric, "0.02", { prices, minimum_cents: 2000 });
    const subscription = await story.subscribe({ charges: [charge, perUnit(metric, "1")] });
    await useOf(story, subscription, metric, { value: "120", of: { model: "large" } });
    await useOf(story, subscription, metric, { value: "100", of: { model: "medium" } });
    await useOf(story, subscription, metric, { value: "11", of: {} });
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual([22, 1200, 200, 578, 23_100]);
    expect(fees(invoice, "minimum")).toHaveLength(1);
  });
});

describe("a plan's minimum", () => {
  test.each([
    { amount_cents: 5000, used: "3", expected: [5000, 3000, 2000] },
    { amount_cents: 5000, used: undefined, expected: [5000, 5000] },
    { amount_cents: 12_000, used: "1", expected: [12_000, 1000] },
  ])("P62 base $amount_cents and $used units at 10", async ({ amount_cents, used, expected }) => {
    const terms = { rate: "10", amount_cents, minimum_cents: 10_000 };
    const { story, metric, subscription } = await metered("2026-01-01", terms);
    if (used !== undefined) await story.use(subscription, metric, used);
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual(expected);
    const made_up = amount_cents === 5000 ? 1 : 0;
    expect(fees(invoice, "minimum")).toHaveLength(made_up);
    for (const line of fees(invoice, "minimum")) {
      expect(line).toMatchObject({ units: "1", charge_id: null, billable_metric_code: null });
    }
  });

  test("P63 counts what is billed in advance, and not what is due once", async () => {
    const story = await sandbox(app, "2026-01-01");
    await story.subscribe({
      amount_cents: 3100,
      minimum_cents: 10_000,
      charges: [
        flatFee({ amount_override_cents: 2000 }),
        flatFee({ amount_override_cents: 1000, invoice_timing: "advance" }),
        flatFee({ amount_override_cents: 9900, invoice_timing: "immediate" }),
      ],
    });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual([
      "2026-01-01: 1000 9900",
      "2026-02-01: 3100 2000 3900",
      "2026-02-01: 1000",
    ]);
    expect(await story.totals()).toEqual([10_900, 9000, 1000]);
  });

  test("P69 counts the charge's minimum", async () => {
    const terms = { amount_cents: 100, minimum_cents: 1000, charge_minimum: 500 };
    const { story, metric, subscription } = await metered("2026-01-01", terms);
    await story.use(subscription, metric, "3");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual([100, 300, 200, 400]);
    expect(invoice.fees.map((fee: Json) => fee.fee_type)).toEqual([
      "subscription",
      "charge",
      "minimum",
      "minimum",
    ]);
  });

  test("P71 counts from periods that start later when it is changed", async () => {
    const terms = { amount_cents: 100, minimum_cents: 1000 };
    const { story, plan } = await metered("2026-01-01", terms);
    expect(plan.minimum_cents).toBe(1000);
    await story.travelTo("2026-01-20");
    const patched = await story.patch(`/v1/plans/${plan.id}`, { minimum_cents: 3000 });
    expect(patched.plan.minimum_cents).toBe(3000);
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 100 900", "2026-03-01: 100 2900"]);
  });

  // It stands after all charges, also those without a minimum, and looks at no add-on.
  test("also: does not count add-ons", async () => {
    const { story, subscription } = await metered("2026-01-01", { minimum_cents: 1000 });
    const addOn = await story.addOn({ amount_cents: 5000 });
    await story.apply(addOn, { id: subscription.customer_id });
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([5000, 1000]);
  });
});

describe("by days", () => {
  test.each([
    { of: "charge", terms: { charge_minimum: 3100 }, expected: "500 1200" },
    { of: "plan", terms: { minimum_cents: 3100, amount_cents: 1000 }, expected: "548 500 652" },
  ])("P61 the $of's minimum of 17 days out of 31", async ({ terms, expected }) => {
    const told = await metered("2026-01-15T10:30", { rate: "0.10", ...terms });
    await told.story.use(told.subscription, told.metric, "50");
    await told.story.travelTo("2026-02-01");
    expect(await issued(told.story)).toEqual([`2026-02-01: ${expected}`]);
    const [invoice] = await told.story.invoices();
    expect(invoice.total_cents).toBe(1700);
    expect(fees(invoice, "minimum")[0]?.properties).toMatchObject({
      minimum_cents: 3100,
      billable_days: 17,
      period_days: 31,
    });
  });

  test("P64 suspended days lower it, and their usage counts towards it", async () => {
    const terms = { amount_cents: 3000, minimum_cents: 9000 };
    const { story, metric, subscription } = await metered("2026-04-01", terms);
    await story.travelTo("2026-04-10T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-04-15");
    await story.use(subscription, metric, "10");
    await story.travelTo("2026-04-20T09:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-05-01");
    expect(await issued(story)).toEqual(["2026-05-01: 2100 1000 3200"]);
    expect(await story.totals()).toEqual([6300]);
  });

  test("P65 a month suspended as a whole has none", async () => {
    const terms = { charge_minimum: 700, minimum_cents: 9000 };
    const { story, metric, subscription } = await metered("2026-04-01", terms);
    await story.travelTo("2026-04-30T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-05-15");
    await story.use(subscription, metric, "3");
    await story.travelTo("2026-06-01");
    expect(await issued(story)).toEqual(["2026-05-01: 700 8300", "2026-06-01: 300"]);
  });

  test.each([
    { of: "plan", terms: { minimum_cents: 3100 } },
    { of: "charge", terms: { charge_minimum: 3100 } },
  ])("P66 an end lowers the $of's, and a canceled one owes none", async ({ terms }) => {
    const { story, metric, plan, subscription } = await metered("2026-01-01", terms);
    const canceled = await story.subscribe({ plan });
    for (const each of [subscription, canceled]) await story.use(each, metric, "3");
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    await story.setStatus(canceled, "canceled");
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual(["2026-01-10: 300 700"]);
  });

  // Ten of 31 days: a base of 1000 is due, 3100 was billed; the target is 5000 x 10 / 31 = 1613.
  test("also: a base in advance counts as finally due", async () => {
    const story = await sandbox(app, "2026-01-01");
    const fields = { amount_cents: 3100, minimum_cents: 5000, base_timing: "advance" };
    const subscription = await story.subscribe(fields);
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    const [, final] = await story.invoices();
    expect(lines(final).sort((a, b) => a - b)).toEqual([-2100, 613]);
    expect(await creditOf(story, { id: subscription.customer_id })).toBe(1487);
  });
});

describe("late usage", () => {
  test.each([
    { of: "plan", terms: { minimum_cents: 1000 } },
    { of: "charge", terms: { charge_minimum: 1000 } },
  ])("P67 is re-rated with the $of's minimum", async ({ terms }) => {
    const { story, metric, plan, subscription } = await metered("2026-01-01", terms);
    const other = await story.subscribe({ plan });
    for (const each of [subscription, other]) await story.use(each, metric, "3");
    await story.travelTo("2026-02-03");
    expect(await issued(story)).toEqual(["2026-02-01: 300 700", "2026-02-01: 300 700"]);
    await story.use(subscription, metric, "2", "2026-01-20");
    await story.use(other, metric, "9", "2026-01-20");
    await story.travelTo("2026-03-01");
    expect(await issued(story, subscription)).toEqual([
      "2026-02-01: 300 700",
      "2026-03-01: 1000 200 -200",
    ]);
    expect(await issued(story, other)).toEqual([
      "2026-02-01: 300 700",
      "2026-03-01: 1000 900 -700",
    ]);
    const [january, february] = (await story.invoices()).filter(
      ({ subscription_id }) => subscription_id === other.id,
    );
    expect(february.total_cents).toBe(1200);
    const [usage, minimum] = fees(february, "adjustment");
    const numbered = { properties: { invoice_number: january.number } };
    expect(usage).toMatchObject({ ...numbered, billable_metric_code: metric.code });
    expect(minimum).toMatchObject(numbered);
    // Nothing comes again.
    await story.travelTo("2026-04-01");
    expect((await issued(story, other)).at(-1)).toBe("2026-04-01: 1000");
  });

  // January: 300, 700 made up by the charge, 200 by the plan. With 1100 of usage the charge's
  // minimum is gone, and the plan's falls to 100.
  test("also: moves the charge's minimum first, then the plan's", async () => {
    const terms = { minimum_cents: 1200, charge_minimum: 1000 };
    const { story, metric, subscription } = await metered("2026-01-01", terms);
    await story.use(subscription, metric, "3");
    await story.travelTo("2026-02-03");
    expect(await issued(story)).toEqual(["2026-02-01: 300 700 200"]);
    await story.use(subscription, metric, "8", "2026-01-20");
    await story.travelTo("2026-03-01");
    expect((await issued(story)).at(-1)).toBe("2026-03-01: 1000 200 800 -700 -100");
  });

  // 90 units are above the minimum of 80.00; with 50 left it makes up 30.00.
  test("also: may bring a minimum that was not there", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charge = graduated(metric, "<=100 @1, rest @0", { minimum_cents: 8000 });
    const subscription = await story.subscribe({ charges: [charge] });
    await story.use(subscription, metric, "90");
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "-40", "2026-01-20");
    await story.use(subscription, metric, "80");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 9000", "2026-03-01: 8000 -4000 3000"]);
  });
});
