// Changes of plan that are refused, those of trials and of what has not begun, and how far back
// late usage reaches when a period was cut in parts.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { fees, flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, expectFault, issued } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const UNKNOWN = "00000000-0000-4000-8000-000000000000";

describe("a change that is refused", () => {
  let story: Sandbox;
  let subscription: Json;
  let plans: Record<string, Json>;
  beforeAll(async () => {
    story = await sandbox(app, "2026-01-01");
    const charges = [flatFee({ amount_override_cents: 100, seats: true })];
    plans = {
      before: await story.plan({ amount_cents: 3100 }),
      after: await story.plan({ amount_cents: 6200 }),
      euro: await story.plan({ amount_currency: "EUR" }),
      archived: await story.plan(),
      seats: await story.plan({ charges }),
    };
    await story.ok("DELETE", `/v1/plans/${plans.archived.id}`);
    const { id } = await story.subscribe({ plan: plans.before });
    await story.travelTo("2026-01-10");
    subscription = await story.subscription(id);
  });

  const change = (body: Body) => story.call("PATCH", `/v1/subscriptions/${subscription.id}`, body);

  test.each<[string, string, number, string]>([
    ["another currency", "euro", 422, "currency_mismatch"],
    ["an archived plan", "archived", 422, "plan_archived"],
    ["a missing quantity", "seats", 422, "validation_error"],
  ])("P147 %s", async (_, plan, status, code) => {
    for (const change_at of ["now", "period_end"]) {
      const answer = await change({ plan_id: plans[plan].id, change_at });
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      if (plan === "seats") expect(JSON.stringify(answer.body)).toContain("seats");
    }
    expect(await story.subscription(subscription.id)).toEqual(subscription);
  });

  test("P147 an unknown plan", async () => {
    const answer = await change({ plan_id: UNKNOWN });
    expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
    expect(await story.subscription(subscription.id)).toEqual(subscription);
  });

  test("P147 tomorrow, and together with a status", async () => {
    const plan_id = plans.after.id;
    expectFault(await change({ plan_id, change_at: "tomorrow" }), "change_at", "enum");
    for (const status of ["active", "suspended", "terminated"]) {
      const answer = await change({ plan_id, status });
      expect([answer.status, answer.body.error.code]).toEqual([422, "validation_error"]);
    }
    expect(await story.subscription(subscription.id)).toEqual(subscription);
    expect(await story.invoices()).toEqual([]);
  });

  test("P147 of a subscription that has ended", async () => {
    const ended = await story.subscribe({ plan: plans.before });
    await story.setStatus(ended, "canceled");
    const gone = await story.subscribe({ plan: plans.before });
    await story.terminate(gone, { invoice: "skip" });
    for (const { id } of [ended, gone]) {
      const body = { plan_id: plans.after.id };
      const answer = await story.call("PATCH", `/v1/subscriptions/${id}`, body);
      expect([answer.status, answer.body.error.code]).toEqual([422, "subscription_ended"]);
    }
  });
});

describe("before anything is billed", () => {
  test("P150 a trial keeps its end and bills the new plan from there", async () => {
    const story = await sandbox(app, "2026-01-01");
    const charges = [flatFee({ amount_override_cents: 900, invoice_timing: "immediate" })];
    const before = await story.plan({ amount_cents: 3100, trial_days: 10 });
    const after = await story.plan({ amount_cents: 6200, charges });
    const subscription = await story.subscribe({ plan: before });
    await story.travelTo("2026-01-05");
    expect(await story.change(subscription, after)).toMatchObject({
      plan_id: after.id,
      trial_ends_at: "2026-01-11T00:00:00.000Z",
      current_period_start: "2026-01-01T00:00:00.000Z",
    });
    expect(await story.invoices()).toEqual([]);
    expect(await story.log("subscription.plan_changed")).toHaveLength(1);
    expect(await story.log("subscription.period_renewed")).toEqual([]);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-11: 900", "2026-02-01: 4200"]);
  });

  test("P150 a pending one keeps its start", async () => {
    const story = await sandbox(app, "2026-01-01");
    const charges = [flatFee({ amount_override_cents: 900, invoice_timing: "immediate" })];
    const before = await story.plan({ amount_cents: 3100 });
    const after = await story.plan({ amount_cents: 6200, charges });
    const subscription = await story.subscribe({ plan: before, starts_at: "2026-01-21" });
    await story.travelTo("2026-01-05");
    expect(await story.change(subscription, after)).toMatchObject({
      plan_id: after.id,
      status: "pending",
      current_period_start: "2026-01-21T00:00:00.000Z",
    });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-21: 900", "2026-02-01: 2200"]);
  });
});

describe("the window of late usage", () => {
  const CHANGES = ["2026-01-10T10:00", "2026-01-20T10:00"] as const;

  async function since2025() {
    const story = await sandbox(app, "2025-11-01");
    const metric = await story.metric();
    const one = await story.plan({ charges: [perUnit(metric, "1")] });
    const two = await story.plan({ charges: [perUnit(metric, "2")] });
    const subscription = await story.subscribe({ plan: one });
    const late = (value: string, at: string) => story.use(subscription, metric, value, at);
    return { story, one, two, subscription, late };
  }
  const FRESH = { accepted: true, duplicate: false };

  test("P175 is not shortened by changes of plan: the parts of a month count as one", async () => {
    const { story, one, two, subscription, late } = await since2025();
    await story.travelTo(CHANGES[0]);
    await story.change(subscription, two);
    await story.travelTo(CHANGES[1]);
    await story.change(subscription, one);
    await story.travelTo("2026-01-25");
    for (const [value, at] of [
      ["1", "2025-11-15"],
      ["2", "2025-12-15"],
      ["4", "2026-01-05"],
      ["8", "2026-01-15"],
    ] as const) {
      expect(await late(value, at)).toEqual(FRESH);
    }
    await story.travelTo("2026-02-03");
    expect(await issued(story)).toEqual(["2026-02-01: 100 200 400 1600"]);
    expect(await story.totals()).toEqual([2300]);
    expect(await late("1", "2025-11-15")).toEqual({ ...FRESH, warning: "late_unbilled" });
    expect(await late("2", "2025-12-15")).toEqual(FRESH);
    expect(await late("3", "2026-01-05")).toEqual(FRESH);
    await story.travelTo("2026-03-01");
    expect((await issued(story)).slice(1)).toEqual(["2026-03-01: 200 300"]);
  });

  test("P175 is not shortened by an end and a return", async () => {
    const { story, subscription, late } = await since2025();
    await story.travelTo(CHANGES[0]);
    await story.terminate(subscription);
    await story.travelTo(CHANGES[1]);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-01-25");
    expect(await late("1", "2025-11-15")).toEqual(FRESH);
    expect(await late("2", "2026-01-05")).toEqual(FRESH);
    await story.travelTo("2026-02-03");
    expect(await issued(story)).toEqual(["2026-02-01: 100 200"]);
    expect(await late("1", "2025-11-15")).toEqual({ ...FRESH, warning: "late_unbilled" });
    expect(await late("5", "2025-12-15")).toEqual(FRESH);
    await story.travelTo("2026-03-01");
    expect((await issued(story)).slice(1)).toEqual(["2026-03-01: 500"]);
  });

  // A trial of ten days is a full period: on 3 March, January from the 11th and February are the
  // two, and the trial is beyond them.
  test("also: a trial is one of its periods", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charges = [perUnit(metric, "1")];
    const subscription = await story.subscribe({ charges, trial_days: 10 });
    await story.travelTo("2026-02-03");
    expect(await story.use(subscription, metric, "1", "2026-01-05")).toEqual(FRESH);
    await story.travelTo("2026-03-03");
    const trial = await story.use(subscription, metric, "1", "2026-01-05");
    expect(trial.warning).toBe("late_unbilled");
    expect(await story.use(subscription, metric, "1", "2026-01-15")).toEqual(FRESH);
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual(["2026-04-01: 100"]);
  });
});

describe("also, by the same rules", () => {
  // Three plans at one instant: the one in the middle had no time, and its flat fee is not due.
  test("a period of no length bills nothing", async () => {
    const story = await sandbox(app, "2026-01-01");
    const charges = [flatFee({ amount_override_cents: 500 })];
    const first = await story.plan({ amount_cents: 3100 });
    const second = await story.plan({ amount_cents: 6200, minimum_cents: 99_000, charges });
    const third = await story.plan({ amount_cents: 9300 });
    const subscription = await story.subscribe({ plan: first });
    await story.travelTo("2026-01-15T10:00");
    await story.change(subscription, second);
    await story.change(subscription, third);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 1400", "2026-02-01: 5100"]);
  });

  // 14 and 17 of 31 days of a minimum of 3100 and one of 6200.
  test("minimums are shared by days", async () => {
    const story = await sandbox(app, "2026-01-01");
    const before = await story.plan({ minimum_cents: 3100 });
    const after = await story.plan({ minimum_cents: 6200 });
    const subscription = await story.subscribe({ plan: before });
    await story.travelTo("2026-01-15T10:30");
    await story.change(subscription, after);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 1400", "2026-02-01: 3400"]);
    const [, january] = await story.invoices();
    expect(fees(january, "minimum")[0]?.properties).toMatchObject({
      billable_days: 17,
      period_days: 31,
    });
  });

  // Suspended from 10 to 20 January, changed on the 15th: days 1 to 10 and 20 to 31 are paid.
  test("a suspended subscription changes its plan and stays suspended", async () => {
    const story = await sandbox(app, "2026-01-01");
    const after = await story.plan({ amount_cents: 6200 });
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-10T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-01-15T12:00");
    expect(await story.change(subscription, after)).toMatchObject({ status: "suspended" });
    await story.travelTo("2026-01-20T09:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 1000", "2026-02-01: 2400"]);
  });

  // A distinct value seen on both sides of the change counts on both: 1.50 + 3.00.
  test("unique values begin anew", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric("count_unique");
    const before = await story.plan({ charges: [perUnit(metric, "1.50")] });
    const after = await story.plan({ charges: [perUnit(metric, "3")] });
    const subscription = await story.subscribe({ plan: before });
    await story.use(subscription, metric, "ann");
    await story.travelTo("2026-01-15T10:00");
    await story.use(subscription, metric, "ann", "2026-01-15T20:00");
    await story.change(subscription, after);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 150", "2026-02-01: 300"]);
  });

  // Ended on 10 January and back on the 21st: 10 and 11 of 31 days, then a whole month, all on the
  // old plan.
  test("a return has forgotten the scheduled change", async () => {
    const story = await sandbox(app, "2026-01-01");
    const after = await story.plan({ amount_cents: 6200 });
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.change(subscription, after, { change_at: "period_end" });
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    await story.travelTo("2026-01-21");
    const back = await story.setStatus(subscription, "active");
    expect(back.scheduled_plan_id).toBeNull();
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual([
      "2026-01-10: 1000",
      "2026-02-01: 1100",
      "2026-03-01: 3100",
    ]);
  });

  test("late usage after two changes is rated by each part's own plan", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const plans: Json[] = [];
    for (const rate of ["1", "2", "4"]) {
      plans.push(await story.plan({ charges: [perUnit(metric, rate)] }));
    }
    const subscription = await story.subscribe({ plan: plans[0] });
    await story.travelTo("2026-01-10T10:00");
    await story.change(subscription, plans[1]);
    await story.travelTo("2026-01-10T11:00");
    await story.change(subscription, plans[2]);
    await story.travelTo("2026-02-03");
    // Three events of one day, each in another part of it.
    for (const at of ["09:59:59.999", "10:00", "11:00"]) {
      await story.use(subscription, metric, "1", `2026-01-10T${at}`);
    }
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-03-01: 100 200 400"]);
  });
});
