// The base fee in advance and the days given back, quantities by days and by their highest, and
// prices of a subscription's own.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import {
  closeSound,
  creditOf,
  expectFault,
  graduated,
  issued,
  lines,
  proposePlan,
  tiers,
} from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const ahead = (amount_cents: number) => ({ amount_cents, base_timing: "advance" });

describe("a base in advance", () => {
  test("P154 is billed at each start, usage at each end", async () => {
    const story = await sandbox(app, "2026-01-15T10:30");
    const metric = await story.metric();
    const once = flatFee({ amount_override_cents: 900, invoice_timing: "immediate" });
    const charges = [perUnit(metric, "1"), once];
    const subscription = await story.subscribe({ ...ahead(3100), charges });
    await story.use(subscription, metric, "2");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual([
      "2026-01-15: 1700 900",
      "2026-02-01: 200",
      "2026-02-01: 3100",
      "2026-03-01: 3100",
    ]);
    const [first] = await story.invoices();
    expect(first.fees[0]).toMatchObject({ fee_type: "subscription", units: "1" });
    expect(first).toMatchObject({ period_start: "2026-01-15", period_end: "2026-01-31" });
  });

  test("P155 gives the days after an end back as credit, and a canceled one nothing", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan(ahead(3100));
    const customer = await story.customer();
    const ended = await story.subscribe({ plan, customer });
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(ended);
    expect(await issued(story)).toEqual(["2026-01-01: 3100", "2026-01-10: -2100"]);
    const [billed, given_back] = await story.invoices();
    expect(given_back).toMatchObject({ total_cents: 0, subtotal_cents: -2100 });
    expect(given_back.fees).toMatchObject([
      {
        fee_type: "adjustment",
        units: "1",
        charge_id: null,
        billable_metric_code: null,
        properties: { invoice_number: billed.number },
      },
    ]);
    expect(await creditOf(story, customer)).toBe(2100);
    const next = await story.subscribe({ plan, customer });
    expect(await issued(story, next)).toEqual(["2026-01-10: 2200"]);
    expect((await story.invoices()).at(-1)).toMatchObject({
      credit_applied_cents: 2100,
      amount_due_cents: 100,
    });
    const canceled = await story.subscribe({ plan });
    await story.setStatus(canceled, "canceled");
    await story.travelTo("2026-01-31");
    expect(await issued(story, canceled)).toEqual(["2026-01-10: 2200"]);
  });

  test("P156 gives the days after a change back before the new plan bills its own", async () => {
    const story = await sandbox(app, "2026-01-01");
    const before = await story.plan(ahead(10_000));
    const after = await story.plan(ahead(20_000));
    const subscription = await story.subscribe({ plan: before });
    await story.travelTo("2026-01-16T12:00");
    await story.change(subscription, after);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual([
      "2026-01-01: 10000",
      "2026-01-16: -5161",
      "2026-01-16: 10323",
      "2026-02-01: 20000",
    ]);
    const [, given_back, started] = await story.invoices();
    expect(given_back).toMatchObject({ total_cents: 0, status: "succeeded" });
    expect(started).toMatchObject({ total_cents: 10_323, amount_due_cents: 5162 });
  });

  test("P157 gives suspended days back at the close", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe(ahead(3000));
    await story.travelTo("2026-04-10T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-04-20T09:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-05-01");
    expect(await issued(story)).toEqual([
      "2026-04-01: 3000",
      "2026-05-01: -900",
      "2026-05-01: 3000",
    ]);
    const [, given_back, may] = await story.invoices();
    expect(given_back.total_cents).toBe(0);
    expect(may.amount_due_cents).toBe(2100);
  });

  test("P159 leaves out the days after a known end, and gives back those after another", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan(ahead(3100));
    const known = await story.subscribe({ plan, ends_at: "2026-01-21" });
    const set = await story.subscribe({ plan });
    await story.travelTo("2026-01-10");
    await story.update(set, { ends_at: "2026-01-21T00:00:00.000Z" });
    await story.travelTo("2026-04-01");
    expect(await issued(story, known)).toEqual(["2026-01-01: 2000"]);
    expect(await issued(story, set)).toEqual(["2026-01-01: 3100", "2026-01-21: -1100"]);
  });

  // The end is taken back: 20 days were billed, 31 are due.
  test("also: bills at the close what an end that was cleared had left out", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ ...ahead(3100), ends_at: "2026-01-21" });
    await story.travelTo("2026-01-10");
    await story.update(subscription, { ends_at: null });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual([
      "2026-01-01: 2000",
      "2026-02-01: 1100",
      "2026-02-01: 3100",
    ]);
  });

  // May starts suspended: no day is known to be paid. Back on the 11th: 21 of 31 days at its close.
  test("also: leaves out the days of a suspension that runs at the start", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe(ahead(3100));
    await story.travelTo("2026-04-30T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-05-11");
    expect(await issued(story)).toEqual(["2026-04-01: 3100"]);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-06-01");
    expect(await issued(story)).toEqual([
      "2026-04-01: 3100",
      "2026-06-01: 2100",
      "2026-06-01: 3100",
    ]);
  });

  test("also: an end with invoice: skip gives nothing back", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe(ahead(3100));
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription, { invoice: "skip" });
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-01-01: 3100"]);
  });

  // January was billed at its start by the list of then; the new timing counts from February on.
  test("also: a new base_timing counts from later periods, and no month is billed twice", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    await story.subscribe({ plan });
    await story.travelTo("2026-01-10");
    await story.patch(`/v1/plans/${plan.id}`, { base_timing: "advance" });
    await story.travelTo("2026-02-10");
    expect(await issued(story)).toEqual(["2026-02-01: 3100", "2026-02-01: 3100"]);
    await story.patch(`/v1/plans/${plan.id}`, { base_timing: "arrears" });
    await story.travelTo("2026-04-01");
    expect((await issued(story)).slice(2)).toEqual(["2026-04-01: 3100"]);
  });
});

async function seated(at: string, quantity_mode: string, seats: unknown) {
  const story = await sandbox(app, at);
  const properties = { quantity_mode };
  const charge = flatFee({ amount_override_cents: 1000, seats: true, properties });
  const subscription = await story.subscribe({ charges: [charge], properties: { seats } });
  const seat = async (when: string, count: unknown) => {
    await story.travelTo(when);
    await story.update(subscription, { properties: { seats: count } });
  };
  return { story, subscription, seat };
}

/** "2026-04-01: 4097 for 4.096774193548" of each invoice's one line. */
async function seatLines(story: Sandbox): Promise<string[]> {
  return (await story.invoices()).map(
    ({ issuing_date, fees: [fee] }: Json) =>
      `${issuing_date}: ${fee.amount_cents} for ${fee.units}`,
  );
}

describe("a quantity", () => {
  test("P162 prorated counts the last value of each day", async () => {
    const { story, seat } = await seated("2026-03-01", "prorated", 3);
    await seat("2026-03-15T10:00", 5);
    await story.travelTo("2026-05-01");
    expect(await seatLines(story)).toEqual([
      "2026-04-01: 4097 for 4.096774193548",
      "2026-05-01: 5000 for 5",
    ]);
  });

  test("P164 max counts the highest that was in force for a moment", async () => {
    const { story, seat } = await seated("2026-03-01", "max", 3);
    await seat("2026-03-10", 9);
    await seat("2026-03-12", 5);
    await seat("2026-04-01", 4);
    await seat("2026-04-20", "4.5");
    await story.travelTo("2026-06-01");
    expect(await seatLines(story)).toEqual([
      "2026-04-01: 9000 for 9",
      "2026-05-01: 4500 for 4.5",
      "2026-06-01: 4500 for 4.5",
    ]);
  });

  test.each<[string, Body]>([
    ["unknown", { seats: true, properties: { quantity_mode: "avg" } }],
    [
      "prorated in advance",
      { seats: true, invoice_timing: "advance", properties: { quantity_mode: "prorated" } },
    ],
    [
      "max immediate",
      { seats: true, invoice_timing: "immediate", properties: { quantity_mode: "max" } },
    ],
    ["max without quantity_from", { properties: { quantity_mode: "max" } }],
  ])("P166 %s", async (_, fields) => {
    const story = await sandbox(app, "2026-01-01");
    const charge = flatFee({ amount_override_cents: 100, ...fields });
    expectFault(await proposePlan(story, [charge]), "charges[0].properties.quantity_mode");
  });

  // 100 for an hour on 10 March, 2 at the day's end: prorated sees 2 of that day, max sees 100.
  test.each([
    { mode: "prorated", expected: "2026-04-01: 2000 for 2" },
    { mode: "max", expected: "2026-04-01: 100000 for 100" },
  ])("also: of an hour, by $mode", async ({ mode, expected }) => {
    const { story, seat } = await seated("2026-03-01", mode, 2);
    await seat("2026-03-10T09:00", 100);
    await seat("2026-03-10T10:00", 2);
    await story.travelTo("2026-04-01");
    expect(await seatLines(story)).toEqual([expected]);
  });

  // April without the nine days that lie wholly in the suspension: 21 days of 3 of 30.
  test("also: prorated leaves suspended days out", async () => {
    const { story, subscription } = await seated("2026-04-01", "prorated", 3);
    await story.travelTo("2026-04-10T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-04-20T09:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-05-01");
    expect(await seatLines(story)).toEqual(["2026-05-01: 2100 for 2.1"]);
  });

  test("also: prorated without quantity_from is a share of one", async () => {
    const story = await sandbox(app, "2026-01-15T10:30");
    const properties = { quantity_mode: "prorated" };
    await story.subscribe({ charges: [flatFee({ amount_override_cents: 3100, properties })] });
    await story.travelTo("2026-02-01");
    expect(await seatLines(story)).toEqual(["2026-02-01: 1700 for 0.548387096774"]);
  });
});

describe("prices of a subscription's own", () => {
  test("P167 count from the start, or from periods that start after them", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    const own = await story.subscribe({ plan, overrides: { amount_cents: 1550 } });
    expect(own.overrides).toEqual({ amount_cents: 1550 });
    const patched = await story.subscribe({ plan });
    expect(patched.overrides).toBeNull();
    await story.travelTo("2026-01-10");
    await story.patch(`/v1/plans/${plan.id}`, { amount_cents: 6200 });
    await story.update(patched, { overrides: { amount_cents: 100 } });
    await story.travelTo("2026-02-10");
    expect((await story.update(patched, { overrides: null })).overrides).toBeNull();
    await story.travelTo("2026-04-01");
    const months = (amounts: number[]) => amounts.map((cents, i) => `2026-0${i + 2}-01: ${cents}`);
    expect(await issued(story, own)).toEqual(months([1550, 1550, 1550]));
    expect(await issued(story, patched)).toEqual(months([3100, 100, 6200]));
  });

  test("P168 replace what they name, charges as a whole set", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charges = [perUnit(metric, "1"), flatFee({ amount_override_cents: 700 })];
    const plan = await story.plan({ amount_cents: 1000, minimum_cents: 5000, charges });
    const own = [graduated(metric, "<=10 @0.5, rest @0.1")];
    const overrides = { minimum_cents: 0, charges: own };
    const subscription = await story.subscribe({ plan, overrides });
    await story.use(subscription, metric, "20");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual([1000, 600]);
    const bad = { charges: [{ ...own[0], properties: {} }] };
    const sent = {
      plan_id: plan.id,
      customer_id: subscription.customer_id,
      external_id: "other",
      overrides: bad,
    };
    const field = "overrides.charges[0].properties.tiers";
    expectFault(await story.call("POST", "/v1/subscriptions", sent), field, "required");
    const url = `/v1/subscriptions/${subscription.id}`;
    expectFault(await story.call("PATCH", url, { overrides: bad }), field, "required");
    const falling = { charges: [{ ...own[0], properties: { tiers: tiers("<=2 @1, <=1 @1") } }] };
    const answer = await story.call("PATCH", url, { overrides: falling });
    expectFault(answer, `${field}[1].up_to`, "order");
  });

  // 15 January: 14 days at 310, 17 days at the plan's 6200, and at 620 where the call says so.
  test("also: are dropped by a change of plan unless it brings new ones", async () => {
    const story = await sandbox(app, "2026-01-01");
    const before = await story.plan({ amount_cents: 3100 });
    const after = await story.plan({ amount_cents: 6200 });
    const run = { plan: before, overrides: { amount_cents: 310 } };
    const [dropped, kept] = [await story.subscribe(run), await story.subscribe(run)];
    await story.travelTo("2026-01-15T10:00");
    expect((await story.change(dropped, after)).overrides).toBeNull();
    const overrides = { amount_cents: 620 };
    expect((await story.change(kept, after, { overrides })).overrides).toEqual(overrides);
    await story.travelTo("2026-02-01");
    expect(await issued(story, dropped)).toEqual(["2026-01-15: 140", "2026-02-01: 3400"]);
    expect(await issued(story, kept)).toEqual(["2026-01-15: 140", "2026-02-01: 340"]);
  });

  // A trial is a period of its own, so a PATCH in it counts from its end: 21 of 31 days of 310.
  test("also: brought in a trial count from its end", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100, trial_days: 10 });
    await story.travelTo("2026-01-05");
    await story.update(subscription, { overrides: { amount_cents: 310 } });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 210"]);
  });

  // Ten days, and eleven after the return, both at 310.
  test("also: stay when the subscription returns", async () => {
    const story = await sandbox(app, "2026-01-01");
    const run = { amount_cents: 3100, overrides: { amount_cents: 310 } };
    const subscription = await story.subscribe(run);
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    await story.travelTo("2026-01-21");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-10: 100", "2026-02-01: 110"]);
  });

  // The present plan's id changes nothing: the price counts from February, as without it.
  test("also: beside the present plan are those of a later period", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    const subscription = await story.subscribe({ plan });
    await story.travelTo("2026-01-10");
    await story.change(subscription, plan, { overrides: { amount_cents: 310 } });
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3100", "2026-03-01: 310"]);
  });
});
