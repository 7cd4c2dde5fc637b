// Periods that follow a date of the subscription's own, and trials that are billed nothing.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { flatFee, perUnit, sandbox } from "../../support/given.ts";
import { closeSound, expectFault, issued, spanned, written } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const anniversary = { billing_time: "anniversary" };

describe("an anniversary", () => {
  test("P100 never drifts from the day it is counted from", async () => {
    const story = await sandbox(app, "2026-01-31T10:30");
    const { id, ...made } = await story.subscribe({ amount_cents: 3000, ...anniversary });
    expect(made).toMatchObject({
      billing_time: "anniversary",
      anchor_date: "2026-01-31",
      current_period_start: "2026-01-31T10:30:00.000Z",
      current_period_end: "2026-02-27T23:59:59.999Z",
    });
    for (const [at, end] of [
      ["2026-02-28", "2026-03-30"],
      ["2026-03-31", "2026-04-29"],
      ["2026-04-30", "2026-05-30"],
      ["2026-05-31", "2026-06-29"],
    ] as const) {
      await story.travelTo(at);
      expect(await story.subscription(id)).toMatchObject({
        current_period_start: `${at}T00:00:00.000Z`,
        current_period_end: `${end}T23:59:59.999Z`,
      });
    }
    const invoices = await story.invoices();
    expect(invoices.map(spanned)).toEqual([
      "2026-01-31 to 2026-02-27: 3000",
      "2026-02-28 to 2026-03-30: 3000",
      "2026-03-31 to 2026-04-29: 3000",
      "2026-04-30 to 2026-05-30: 3000",
    ]);
    expect(invoices.map((invoice) => invoice.issuing_date)).toEqual([
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
    ]);
  });

  test.each([
    {
      p: "P102",
      interval: "yearly",
      at: "2024-02-29T12:00",
      boundaries: ["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29", "2029-02-28"],
    },
    {
      p: "P105",
      interval: "semiannual",
      at: "2026-08-31",
      boundaries: ["2027-02-28", "2027-08-31", "2028-02-29"],
    },
    // By the same rule: a quarter after 30 November is cut to February.
    {
      p: "also:",
      interval: "quarterly",
      at: "2026-11-30T23:59:59.999",
      boundaries: ["2027-02-28", "2027-05-30", "2027-08-30", "2027-11-30", "2028-02-29"],
    },
    {
      p: "also:",
      interval: "weekly",
      at: "2026-12-31T01:00",
      boundaries: ["2027-01-07", "2027-01-14", "2027-01-21"],
    },
  ])("$p $interval from $at", async ({ interval, at, boundaries }) => {
    const story = await sandbox(app, at);
    await story.subscribe({ interval, amount_cents: 7300, ...anniversary });
    await story.travelTo(boundaries.at(-1) ?? at);
    expect(await issued(story)).toEqual(boundaries.map((boundary) => `${boundary}: 7300`));
  });

  test("P106 from a given date", async () => {
    const story = await sandbox(app, "2026-02-28T09:00");
    const anchored = { ...anniversary, anchor_date: "2026-01-31" };
    const subscription = await story.subscribe({ amount_cents: 3000, ...anchored });
    expect(subscription.anchor_date).toBe("2026-01-31");
    await story.travelTo("2026-05-31");
    expect((await story.invoices()).map(spanned)).toEqual([
      "2026-02-28 to 2026-03-30: 3000",
      "2026-03-31 to 2026-04-29: 3000",
      "2026-04-30 to 2026-05-30: 3000",
    ]);
  });

  test("P107 parts usage at its instants", async () => {
    const story = await sandbox(app, "2026-01-31T10:30");
    const metric = await story.metric();
    const charges = [perUnit(metric, "1")];
    const subscription = await story.subscribe({ amount_cents: 3000, charges, ...anniversary });
    const early = await story.use(subscription, metric, "1", "2026-01-31T10:29:59.999");
    expect(early.warning).toBe("before_start");
    await story.use(subscription, metric, "1", "2026-01-31T10:30");
    await story.travelTo("2026-02-27T12:00");
    await story.use(subscription, metric, "1", "2026-02-27T23:59:59.999");
    await story.use(subscription, metric, "1", "2026-02-28");
    await story.travelTo("2026-03-31");
    expect(await issued(story)).toEqual(["2026-02-28: 3000 200", "2026-03-31: 3000 100"]);
  });

  test.each([
    {
      at: "2026-01-10T16:00",
      anchor_date: "2026-01-15",
      amount_cents: 3100,
      expected: ["2026-01-10 to 2026-01-14: 500", "2026-01-15 to 2026-02-14: 3100"],
    },
    {
      at: "2026-01-10T16:00",
      anchor_date: "2025-06-12",
      amount_cents: 3100,
      expected: ["2026-01-10 to 2026-01-11: 200", "2026-01-12 to 2026-02-11: 3100"],
    },
    {
      at: "2026-02-10",
      anchor_date: "2026-03-31",
      amount_cents: 2800,
      expected: ["2026-02-10 to 2026-02-27: 1800", "2026-02-28 to 2026-03-30: 2800"],
    },
  ])("P108 of $anchor_date, from $at", async ({ at, anchor_date, amount_cents, expected }) => {
    const story = await sandbox(app, at);
    await story.subscribe({ amount_cents, ...anniversary, anchor_date });
    await story.travelTo("2026-03-31");
    expect((await story.invoices()).map(spanned).slice(0, 2)).toEqual(expected);
  });

  // Back on 20 February: eight of the 28 days from 31 January to 27 February.
  test("also: a return runs to the next boundary of the same anchor", async () => {
    const story = await sandbox(app, "2026-01-31");
    const subscription = await story.subscribe({ amount_cents: 2800, ...anniversary });
    await story.travelTo("2026-02-10");
    await story.terminate(subscription);
    await story.travelTo("2026-02-20T09:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-03-31");
    expect((await story.invoices()).map(spanned)).toEqual([
      "2026-01-31 to 2026-02-09: 1000",
      "2026-02-20 to 2026-02-27: 800",
      "2026-02-28 to 2026-03-30: 2800",
    ]);
  });
});

describe("a trial", () => {
  test("P110 is a first period that is billed nothing", async () => {
    const story = await sandbox(app, "2026-01-25T15:00");
    const plan = await story.plan({ amount_cents: 2800, trial_days: 14 });
    expect(plan.trial_days).toBe(14);
    const subscription = await story.subscribe({ plan });
    expect(subscription).toMatchObject({
      status: "active",
      current_period_start: "2026-01-25T15:00:00.000Z",
      current_period_end: "2026-02-07T23:59:59.999Z",
      trial_ends_at: "2026-02-08T00:00:00.000Z",
    });
    await story.travelTo("2026-02-08");
    expect(await story.invoices()).toEqual([]);
    expect(await story.subscription(subscription.id)).toMatchObject({
      current_period_start: "2026-02-08T00:00:00.000Z",
      current_period_end: "2026-02-28T23:59:59.999Z",
      trial_ends_at: "2026-02-08T00:00:00.000Z",
    });
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual(["2026-03-01: 2100", "2026-04-01: 2800"]);
    expect(spanned((await story.invoices())[0])).toBe("2026-02-08 to 2026-02-28: 2100");
  });

  test("P111 has usage that is counted apart, and free, also when it comes late", async () => {
    const story = await sandbox(app, "2026-01-01");
    const users = await story.metric("count_unique");
    const units = await story.metric("sum");
    const highest = await story.metric("max");
    const charges = [perUnit(users, "1.50"), perUnit(units, "1"), perUnit(highest, "1")];
    const subscription = await story.subscribe({ charges, trial_days: 10 });
    const used = async (who: string[], value: string, peak: string) => {
      for (const user of who) await story.use(subscription, users, user);
      await story.use(subscription, units, value);
      await story.use(subscription, highest, peak);
    };
    await story.travelTo("2026-01-05");
    await used(["a", "b"], "100", "50");
    expect((await story.runningUsage(subscription)).amount_cents).toBe(0);
    await story.travelTo("2026-01-15");
    await used(["a", "c"], "3", "2");
    const late = await story.use(subscription, units, "5", "2026-01-10T23:59:59.999");
    expect(late).toEqual({ accepted: true, duplicate: false });
    await story.travelTo("2026-03-01");
    expect((await story.invoices()).map(spanned)).toEqual([
      "2026-01-11 to 2026-01-31: 300 300 200",
    ]);
    expect(await story.totals()).toEqual([800]);
  });

  test("P112 puts off what is due at the start, at the prices of its end", async () => {
    const story = await sandbox(app, "2026-01-01");
    const item = await story.item({ amount_cents: 9900 });
    const once = flatFee({ catalog_item_code: item.code, invoice_timing: "immediate" });
    const ahead = flatFee({ amount_override_cents: 500, invoice_timing: "advance" });
    await story.subscribe({ charges: [once, ahead], trial_days: 10 });
    await story.travelTo("2026-01-05");
    await story.post("/v1/catalog", { code: item.code, name: item.name, amount_cents: 12_000 });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-11: 12000 500", "2026-02-01: 500"]);
  });

  test("P113 that is ended in owes nothing", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charges = [
      perUnit(metric, "1", { minimum_cents: 50 }),
      flatFee({ amount_override_cents: 500, invoice_timing: "immediate" }),
    ];
    const plan = await story.plan({ amount_cents: 3100, minimum_cents: 100, charges });
    const terminated = await story.subscribe({ plan, trial_days: 10 });
    const canceled = await story.subscribe({ plan, trial_days: 10 });
    const ending = await story.subscribe({ plan, trial_days: 10, ends_at: "2026-01-08" });
    for (const each of [terminated, canceled, ending]) await story.use(each, metric, "7");
    await story.travelTo("2026-01-05");
    await story.terminate(terminated);
    await story.setStatus(canceled, "canceled");
    await story.travelTo("2026-01-08");
    expect((await story.subscription(ending.id)).status).toBe("terminated");
    await story.use(ending, metric, "7", "2026-01-06");
    await story.travelTo("2026-06-01");
    expect(await story.invoices()).toEqual([]);
  });

  test("P114 makes its end the anchor", async () => {
    const story = await sandbox(app, "2026-01-17T14:00");
    const fields = { amount_cents: 3100, trial_days: 14, ...anniversary };
    const subscription = await story.subscribe(fields);
    expect(subscription).toMatchObject({
      anchor_date: "2026-01-31",
      trial_ends_at: "2026-01-31T00:00:00.000Z",
    });
    await story.travelTo("2026-03-31");
    expect((await story.invoices()).map(spanned)).toEqual([
      "2026-01-31 to 2026-02-27: 3100",
      "2026-02-28 to 2026-03-30: 3100",
    ]);
  });

  test("P115 is the plan's, or the subscription's own", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100, trial_days: 7 });
    const subscribed: Json[] = [
      await story.subscribe({ plan }),
      await story.subscribe({ plan, trial_days: 20 }),
      await story.subscribe({ plan, trial_days: 0 }),
    ];
    await story.patch(`/v1/plans/${plan.id}`, { trial_days: 30 });
    subscribed.push(await story.subscribe({ plan }));
    expect(subscribed[2].trial_ends_at).toBeNull();
    await story.travelTo("2026-02-01");
    const invoices = await story.invoices();
    const of = ({ id }: Json) => invoices.filter((each) => each.subscription_id === id);
    expect(subscribed.map((each) => of(each).map(written))).toEqual([
      ["2026-02-01: 2400"],
      ["2026-02-01: 1100"],
      ["2026-02-01: 3100"],
      ["2026-02-01: 100"],
    ]);
  });

  test.each([
    {
      trial_days: 20,
      run: {},
      shown: { trial_ends_at: "2026-01-21T00:00:00.000Z", anchor_date: null },
      expected: "2026-01-21 to 2026-01-31: 1100",
    },
    {
      trial_days: 0,
      run: {},
      shown: {
        trial_ends_at: "2026-01-05T10:00:00.000Z",
        current_period_start: "2026-01-05T10:00:00.000Z",
      },
      expected: "2026-01-05 to 2026-01-31: 2700",
    },
    {
      trial_days: 15,
      run: anniversary,
      shown: { trial_ends_at: "2026-01-16T00:00:00.000Z", anchor_date: "2026-01-16" },
      expected: "2026-01-16 to 2026-02-15: 3100",
    },
    // By the same rule: a given anchor stays, so 16 January to 9 February, 25 of 31 days.
    {
      trial_days: 15,
      run: { ...anniversary, anchor_date: "2026-01-10" },
      shown: { trial_ends_at: "2026-01-16T00:00:00.000Z", anchor_date: "2026-01-10" },
      expected: "2026-01-16 to 2026-02-09: 2500",
    },
  ])("P116 of 10 days made one of $trial_days, $run", async (changed) => {
    const story = await sandbox(app, "2026-01-01");
    const fields = { amount_cents: 3100, trial_days: 10, ...changed.run };
    const subscription = await story.subscribe(fields);
    await story.travelTo("2026-01-05T10:00");
    const { trial_days } = changed;
    expect(await story.update(subscription, { trial_days })).toMatchObject(changed.shown);
    await story.travelTo("2026-02-16");
    expect(spanned((await story.invoices())[0])).toBe(changed.expected);
    const url = `/v1/subscriptions/${subscription.id}`;
    expectFault(await story.call("PATCH", url, { trial_days: 5 }), "trial_days");
  });

  // Back on 7 January after an end in the trial: 25 of 31 days are paid, and the fee due once was
  // of the start that did not come.
  test("also: does not come again with a return, nor what it kept from being billed", async () => {
    const story = await sandbox(app, "2026-01-01");
    const charges = [flatFee({ amount_override_cents: 900, invoice_timing: "immediate" })];
    const fields = { amount_cents: 3100, charges, trial_days: 10 };
    const subscription = await story.subscribe(fields);
    await story.travelTo("2026-01-05");
    await story.terminate(subscription);
    await story.travelTo("2026-01-07T10:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 2500", "2026-03-01: 3100"]);
  });

  // The example of the rules: trial to 31 January, then whole periods of a given anchor, at a
  // price of its own.
  test("also: with an anchor, a start in the past and a price of its own", async () => {
    const story = await sandbox(app, "2026-01-17T16:00");
    const subscription = await story.subscribe({
      ...anniversary,
      anchor_date: "2026-01-31",
      starts_at: "2026-01-17T14:00",
      trial_days: 14,
      amount_cents: 2900,
      minimum_cents: 5000,
      overrides: { amount_cents: 1900, minimum_cents: 0 },
    });
    expect(subscription.trial_ends_at).toBe("2026-01-31T00:00:00.000Z");
    await story.travelTo("2026-04-30");
    expect((await story.invoices()).map(spanned)).toEqual([
      "2026-01-31 to 2026-02-27: 1900",
      "2026-02-28 to 2026-03-30: 1900",
      "2026-03-31 to 2026-04-29: 1900",
    ]);
  });
});
