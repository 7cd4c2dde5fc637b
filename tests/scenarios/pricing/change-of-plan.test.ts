// From one plan to another, at once or at the period's end: every day is billed once, by the plan
// whose day it is.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, graduated, issued, spanned } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

/** A subscription on a plan of the first price, and a plan of the second. */
async function between(at: string, from: number, to: number, run: Body = {}) {
  const story = await sandbox(app, at);
  const before = await story.plan({ amount_cents: from });
  const after = await story.plan({ amount_cents: to });
  const subscription = await story.subscribe({ plan: before, ...run });
  return { story, before, after, subscription };
}

async function changedAt(story: Sandbox, at: string, subscription: Json, plan: Json, more?: Body) {
  await story.travelTo(at);
  return story.change(subscription, plan, more);
}

describe("a change now", () => {
  test("P140 bills the old days at once and the new ones at the period's end", async () => {
    const { story, before, after, subscription } = await between("2026-01-01", 10_000, 20_000);
    const changed = await changedAt(story, "2026-01-15T10:30", subscription, after);
    expect(changed).toMatchObject({
      plan_id: after.id,
      scheduled_plan_id: null,
      current_period_start: "2026-01-15T10:30:00.000Z",
      current_period_end: "2026-01-31T23:59:59.999Z",
    });
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual([
      "2026-01-15: 4516",
      "2026-02-01: 10968",
      "2026-03-01: 20000",
    ]);
    const invoices = await story.invoices();
    // The last day billed is that of the instant less a millisecond.
    expect(invoices.map(spanned)).toEqual([
      "2026-01-01 to 2026-01-15: 4516",
      "2026-01-15 to 2026-01-31: 10968",
      "2026-02-01 to 2026-02-28: 20000",
    ]);
    expect(invoices.map(({ fees: [base] }) => base.properties)).toMatchObject([
      { plan_code: before.code, billable_days: 14, period_days: 31 },
      { plan_code: after.code, billable_days: 17, period_days: 31 },
      { plan_code: after.code, billable_days: 28, period_days: 28 },
    ]);
    const told = await story.webhooks("invoice.created");
    expect(told.map((each) => each.subscription.plan_code)).toEqual([
      before.code,
      after.code,
      after.code,
    ]);
  });

  test.each([
    { at: "2026-01-01T09:00", from: 10_000, to: 20_000, expected: ["2026-02-01: 20000"] },
    {
      at: "2026-01-31T23:00",
      from: 10_000,
      to: 20_000,
      expected: ["2026-01-31: 9677", "2026-02-01: 645"],
    },
    {
      at: "2026-01-31T23:00",
      from: 20_000,
      to: 10_000,
      expected: ["2026-01-31: 19355", "2026-02-01: 323"],
    },
  ])("P141 on the first or last day, $from to $to at $at", async ({ at, from, to, expected }) => {
    const { story, after, subscription } = await between("2026-01-01", from, to);
    await changedAt(story, at, subscription, after);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(expected);
  });

  test("P142 twice on a day: the day is the last plan's", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charges = [perUnit(metric, "1")];
    const [first, second, third] = [
      await story.plan({ amount_cents: 3100, charges }),
      await story.plan({ amount_cents: 6200, charges }),
      await story.plan({ amount_cents: 9300, charges }),
    ];
    const subscription = await story.subscribe({ plan: first });
    await changedAt(story, "2026-01-15T10:00", subscription, second);
    await story.travelTo("2026-01-15T12:00");
    await story.use(subscription, metric, "2");
    await changedAt(story, "2026-01-15T15:00", subscription, third);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual([
      "2026-01-15: 1400",
      "2026-01-15: 200",
      "2026-02-01: 5100",
    ]);
  });

  test("P143 splits usage at its instant, also what was sent ahead", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const before = await story.plan({ charges: [graduated(metric, "<=10 @1, rest @0.5")] });
    const after = await story.plan({ charges: [graduated(metric, "<=10 @2, rest @1")] });
    const subscription = await story.subscribe({ plan: before });
    await story.travelTo("2026-01-15T08:00");
    await story.use(subscription, metric, "12", "2026-01-15");
    await story.use(subscription, metric, "5", "2026-01-15T20:00");
    await story.use(subscription, metric, "1", "2026-01-15T09:59:59.999");
    await changedAt(story, "2026-01-15T10:00", subscription, after);
    await story.use(subscription, metric, "7", "2026-01-15T10:00");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 1150", "2026-02-01: 2200"]);
    const invoices = await story.invoices();
    expect(invoices.map(({ fees: [fee] }) => fee.units)).toEqual(["13", "12"]);
  });

  test("P145 to another interval, by the calendar", async () => {
    const story = await sandbox(app, "2026-03-01");
    const monthly = await story.plan({ amount_cents: 3100 });
    const yearly = await story.plan({ amount_cents: 36_500, interval: "yearly" });
    const now = await story.subscribe({ plan: monthly });
    const later = await story.subscribe({ plan: monthly });
    await changedAt(story, "2026-03-16T08:00", now, yearly);
    await story.change(later, yearly, { change_at: "period_end" });
    await story.travelTo("2027-01-01");
    expect(await issued(story, now)).toEqual(["2026-03-16: 1500", "2027-01-01: 29100"]);
    expect(await issued(story, later)).toEqual(["2026-04-01: 3100", "2027-01-01: 27500"]);
  });

  test("P146 on an anniversary: the same interval keeps the anchor", async () => {
    const run = { billing_time: "anniversary" };
    const { story, after, subscription } = await between("2026-01-31", 2800, 5600, run);
    const changed = await changedAt(story, "2026-02-10T12:00", subscription, after);
    expect(changed.anchor_date).toBe("2026-01-31");
    await story.travelTo("2026-03-31");
    expect(await issued(story)).toEqual([
      "2026-02-10: 1000",
      "2026-02-28: 3600",
      "2026-03-31: 5600",
    ]);
  });

  test("P146 on an anniversary: another interval makes its day the anchor", async () => {
    const story = await sandbox(app, "2026-01-31");
    const monthly = await story.plan({ amount_cents: 2800 });
    const yearly = await story.plan({ amount_cents: 36_500, interval: "yearly" });
    const run = { plan: monthly, billing_time: "anniversary" };
    const [now, later] = [await story.subscribe(run), await story.subscribe(run)];
    const changed = await changedAt(story, "2026-02-10T12:00", now, yearly);
    expect(changed).toMatchObject({
      anchor_date: "2026-02-10",
      current_period_end: "2027-02-09T23:59:59.999Z",
    });
    await story.change(later, yearly, { change_at: "period_end" });
    await story.travelTo("2027-02-28");
    const invoices = await story.invoices();
    const of = ({ id }: Json) => invoices.filter((each) => each.subscription_id === id);
    expect(of(now).map(spanned)).toEqual([
      "2026-01-31 to 2026-02-10: 1000",
      "2026-02-10 to 2027-02-09: 36500",
    ]);
    expect(of(later).map(spanned)).toEqual([
      "2026-01-31 to 2026-02-27: 2800",
      "2026-02-28 to 2027-02-27: 36500",
    ]);
    expect(await issued(story, now)).toEqual(["2026-02-10: 1000", "2027-02-10: 36500"]);
    expect(await issued(story, later)).toEqual(["2026-02-28: 2800", "2027-02-28: 36500"]);
  });

  test("P148 leaves late usage of the old days at the old prices", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const before = await story.plan({ charges: [perUnit(metric, "1")] });
    const after = await story.plan({ charges: [perUnit(metric, "2")] });
    const subscription = await story.subscribe({ plan: before });
    await story.use(subscription, metric, "3");
    await changedAt(story, "2026-01-15T10:00", subscription, after);
    await story.travelTo("2026-01-20");
    await story.use(subscription, metric, "4", "2026-01-12");
    await story.use(subscription, metric, "5", "2026-01-18");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 300", "2026-02-01: 1000 400"]);
    const [first, second] = await story.invoices();
    expect(second.fees[1]).toMatchObject({
      fee_type: "adjustment",
      units: "4",
      properties: { plan_code: before.code, invoice_number: first.number },
    });
  });

  test.each([
    { mode: "last", expected: ["2026-01-16: 3000", "2026-02-01: 6000"] },
    { mode: "prorated", expected: ["2026-01-16: 1452", "2026-02-01: 3097"] },
  ])("P151 bills seats by $mode", async ({ mode, expected }) => {
    const story = await sandbox(app, "2026-01-01");
    const seats = (amount_override_cents: number) =>
      flatFee({ amount_override_cents, seats: true, properties: { quantity_mode: mode } });
    const before = await story.plan({ charges: [seats(1000)] });
    const after = await story.plan({ charges: [seats(2000)] });
    const subscription = await story.subscribe({ plan: before, properties: { seats: 3 } });
    await changedAt(story, "2026-01-16", subscription, after);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(expected);
  });

  test("P172 is one change under one Idempotency-Key", async () => {
    const { story, after, subscription } = await between("2026-01-01", 10_000, 20_000);
    await story.travelTo("2026-01-15T10:30");
    const url = `/v1/subscriptions/${subscription.id}`;
    const body = { plan_id: after.id };
    const key = { "idempotency-key": "change-1" };
    const [first, second, third] = [
      await story.call("PATCH", url, body, key),
      await story.call("PATCH", url, body, key),
      await story.call("PATCH", url, body),
    ];
    expect([first.status, second.status, third.status]).toEqual([200, 200, 200]);
    expect(second.body).toEqual(first.body);
    expect(second.headers["idempotent-replayed"]).toBe("true");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 4516", "2026-02-01: 10968"]);
    expect(await story.log("subscription.plan_changed")).toHaveLength(1);
  });

  test("P173 bills no fee that is due once, and what the new plan bills in advance", async () => {
    const story = await sandbox(app, "2026-01-01");
    const timed = (amount_override_cents: number, invoice_timing: string) =>
      flatFee({ amount_override_cents, invoice_timing });
    const before = await story.plan({ amount_cents: 3100, charges: [timed(500, "immediate")] });
    const charges = [timed(900, "immediate"), timed(70, "advance")];
    const after = await story.plan({ amount_cents: 6200, charges });
    const subscription = await story.subscribe({ plan: before });
    await changedAt(story, "2026-01-16T12:00", subscription, after);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual([
      "2026-01-01: 500",
      "2026-01-16: 1500",
      "2026-01-16: 70",
      "2026-02-01: 3200",
      "2026-02-01: 70",
    ]);
  });

  test.each([
    {
      change_at: "now",
      expected: ["2026-01-16: 3000", "2026-01-16: 500", "2026-02-01: 10000", "2026-02-01: 500"],
    },
    { change_at: "period_end", expected: ["2026-02-01: 5000", "2026-02-01: 500"] },
  ])("P174 with a new quantity, $change_at", async ({ change_at, expected }) => {
    const story = await sandbox(app, "2026-01-01");
    const seats = (amount_override_cents: number, invoice_timing = "arrears") =>
      flatFee({ amount_override_cents, invoice_timing, seats: true });
    const before = await story.plan({ charges: [seats(1000)] });
    const after = await story.plan({ charges: [seats(2000), seats(100, "advance")] });
    const subscription = await story.subscribe({ plan: before, properties: { seats: 3 } });
    const with_seats = { change_at, properties: { seats: 5 } };
    await changedAt(story, "2026-01-16T12:00", subscription, after, with_seats);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(expected);
  });
});

describe("a change at the period's end", () => {
  test("P144 is shown until then, and can be taken back", async () => {
    const { story, before, after, subscription } = await between("2026-01-01", 20_000, 10_000);
    const back = await story.subscribe({ plan: before });
    const change_at = "period_end";
    const scheduled = await changedAt(story, "2026-01-15", subscription, after, { change_at });
    expect(scheduled).toMatchObject({ plan_id: before.id, scheduled_plan_id: after.id });
    await story.change(back, after, { change_at });
    await story.travelTo("2026-01-20");
    expect(await story.change(back, before)).toMatchObject({
      plan_id: before.id,
      scheduled_plan_id: null,
      current_period_start: "2026-01-01T00:00:00.000Z",
    });
    expect(await story.invoices()).toEqual([]);
    await story.travelTo("2026-03-01");
    expect(await issued(story, subscription)).toEqual(["2026-02-01: 20000", "2026-03-01: 10000"]);
    expect(await issued(story, back)).toEqual(["2026-02-01: 20000", "2026-03-01: 20000"]);
    expect(await story.subscription(subscription.id)).toMatchObject({
      plan_id: after.id,
      scheduled_plan_id: null,
    });
  });

  // A change to a third plan now, on 16 January, leaves nothing scheduled: 15/31 and 16/31.
  test("also: is replaced by any later change", async () => {
    const { story, after, subscription } = await between("2026-01-01", 3100, 100);
    const third = await story.plan({ amount_cents: 6200 });
    await story.change(subscription, after, { change_at: "period_end" });
    const changed = await changedAt(story, "2026-01-16", subscription, third);
    expect(changed.scheduled_plan_id).toBeNull();
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual([
      "2026-01-16: 1500",
      "2026-02-01: 3200",
      "2026-03-01: 6200",
    ]);
  });

  test("also: comes though its plan was archived meanwhile", async () => {
    const { story, after, subscription } = await between("2026-01-01", 3100, 6200);
    await story.change(subscription, after, { change_at: "period_end" });
    await story.travelTo("2026-01-10");
    await story.ok("DELETE", `/v1/plans/${after.id}`);
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3100", "2026-03-01: 6200"]);
  });

  // At one instant the end comes before the close: nothing of the new plan is billed.
  test("also: does not come where the subscription ends", async () => {
    const story = await sandbox(app, "2026-01-01");
    const before = await story.plan({ amount_cents: 3100 });
    const after = await story.plan({ amount_cents: 6200, base_timing: "advance" });
    const subscription = await story.subscribe({ plan: before, ends_at: "2026-02-01" });
    await story.change(subscription, after, { change_at: "period_end" });
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3100"]);
    expect(await story.log("subscription.plan_changed")).toEqual([]);
  });
});
