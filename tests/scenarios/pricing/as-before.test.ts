// Who uses none of the new words is billed as before; and however time passes, everything that
// they say comes to the same invoices.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { flatFee, instant, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, graduated, issued, percentage, useOf, volume } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

describe("nothing of all this", () => {
  async function plainly() {
    const story = await sandbox(app, "2026-01-15T10:30");
    const metric = await story.metric();
    const plan = await story.plan({
      amount_cents: 3100,
      charges: [perUnit(metric, "0.10"), flatFee({ amount_override_cents: 700, seats: true })],
    });
    const subscription = await story.subscribe({ plan, properties: { seats: 2 } });
    return { story, metric, plan, subscription };
  }

  test("P186 is billed as before", async () => {
    const { story, metric, subscription } = await plainly();
    await story.use(subscription, metric, "30.75");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 1700 308 1400"]);
    expect(await story.totals()).toEqual([3408]);
    const [invoice] = await story.invoices();
    expect(invoice.fees).toMatchObject([
      { fee_type: "subscription", units: "1" },
      { fee_type: "charge", units: "30.75", properties: { amount: "0.1" } },
      { fee_type: "charge", units: "2" },
    ]);
  });

  test("P186 shows the new fields at rest", async () => {
    const { metric, plan, subscription } = await plainly();
    expect(plan).toMatchObject({ minimum_cents: 0, base_timing: "arrears", trial_days: 0 });
    expect(plan.charges).toMatchObject([{ name: null }, { name: null }]);
    expect(metric).toMatchObject({ dimensions: [], weighted_by: null });
    expect(subscription).toMatchObject({
      billing_time: "calendar",
      anchor_date: null,
      trial_ends_at: null,
      ends_at: null,
      scheduled_plan_id: null,
      overrides: null,
    });
  });
});

type Travel = (story: Sandbox, to: string) => Promise<void>;

const inOneJump: Travel = async (story, to) => {
  await story.travelTo(to);
};

const STEP_MS = 0.7 * 86_400_000;

const inSteps: Travel = async (story, to) => {
  const end = Date.parse(instant(to));
  for (let at = Date.parse(await story.now()) + STEP_MS; at < end; at += STEP_MS) {
    await story.travelTo(new Date(at).toISOString());
  }
  await story.travelTo(to);
};

async function cast(story: Sandbox) {
  const calls = await story.metric("sum");
  const level = await story.metric("weighted_sum", {
    weighted_by: "period",
    dimensions: ["region"],
  });
  const hours = await story.metric("weighted_sum", { weighted_by: "hour" });
  const prices = [{ match: { region: "us" }, amount: "2" }];
  const mode = { quantity_mode: "prorated" };
  const arrears = await story.plan({
    amount_cents: 9999,
    minimum_cents: 12_345,
    charges: [
      graduated(calls, "<=100 @0.033 + 1, rest @0.011", { minimum_cents: 777 }),
      perUnit(level, "1", { prices }),
      flatFee({ amount_override_cents: 333, seats: true, properties: mode }),
    ],
  });
  const advance = await story.plan({
    amount_cents: 20_001,
    base_timing: "advance",
    charges: [
      volume(calls, "<=50 @0.05, rest @0.02"),
      perUnit(hours, "0.0007"),
      flatFee({ amount_override_cents: 70, invoice_timing: "advance" }),
      flatFee({ amount_override_cents: 900, invoice_timing: "immediate" }),
    ],
  });
  const weekly = await story.plan({
    interval: "weekly",
    amount_cents: 701,
    charges: [percentage(calls, "1.37", { fixed_amount: "0.10", free_events: 1 })],
  });
  return { calls, level, hours, arrears, advance, weekly };
}

async function subscribed(story: Sandbox, { arrears, advance, weekly }: Json) {
  const properties = { seats: 3 };
  const anniversary = { billing_time: "anniversary" };
  return {
    trying: await story.subscribe({ plan: arrears, properties, trial_days: 17 }),
    yearday: await story.subscribe({ plan: arrears, properties, ...anniversary }),
    ahead: await story.subscribe({ plan: advance, properties, starts_at: "2026-01-20T13:00" }),
    weekly: await story.subscribe({ plan: weekly, properties, ...anniversary, trial_days: 3 }),
    ending: await story.subscribe({ plan: advance, properties, ends_at: "2026-03-11T07:00" }),
  };
}

/** Acts at odd instants, and long stretches between them in which only time passes. */
async function tell(story: Sandbox, travel: Travel): Promise<void> {
  const things = await cast(story);
  const { calls, level, hours, arrears, advance } = things;
  const all: Record<string, Json> = await subscribed(story, things);
  const { trying, yearday, ahead, weekly, ending } = all;
  const everyone = Object.values(all);
  const use = async () => {
    for (const each of everyone) {
      await story.use(each, calls, "77.7");
      await useOf(story, each, level, { value: "3", of: { region: "us" } });
      await story.use(each, hours, "5");
    }
  };
  await travel(story, "2026-01-22T09:30");
  await use();
  await story.update(yearday, { properties: { seats: 5 } });
  await travel(story, "2026-02-03T18:00");
  await story.use(yearday, calls, "-30", "2026-01-23T01:00");
  await story.change(trying, advance);
  await story.change(weekly, arrears, { change_at: "period_end" });
  await travel(story, "2026-02-19T23:59:59.999");
  await use();
  await story.suspend(ahead);
  await story.change(yearday, advance, { change_at: "period_end" });
  await travel(story, "2026-03-02");
  await story.setStatus(ahead, "active");
  await story.change(ahead, arrears);
  await story.use(ending, calls, "1000", "2026-02-10");
  await story.use(trying, hours, "-2", "2026-02-05T05:05");
  await travel(story, "2026-05-15T12:00");
}

/** Ids differ between two tellings; who is who must not. */
function withoutIds(record: unknown): unknown {
  const names = new Map<string, string>();
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  const text = JSON.stringify(record).replace(uuid, (id) => {
    const name = names.get(id) ?? `id ${names.size + 1}`;
    names.set(id, name);
    return name;
  });
  // The seller has the name of its project.
  return JSON.parse(text.replace(/"story-\d+"/g, '"story"'));
}

async function told(story: Sandbox): Promise<unknown> {
  const logs: Json = {};
  for (const type of [
    "invoice.created",
    "subscription.started",
    "subscription.trial_ended",
    "subscription.plan_changed",
    "subscription.period_renewed",
    "subscription.terminated",
  ]) {
    logs[type] = await story.log(type);
  }
  const { subscriptions } = await story.get("/v1/subscriptions?all=1");
  const analytics = await story.get("/v1/analytics");
  return withoutIds({ invoices: await story.invoices(), subscriptions, logs, analytics });
}

test("P187 one jump or steps of 0.7 days: the same invoices to the byte of every line", {
  timeout: 120_000,
}, async () => {
  const [one, many] = [
    await sandbox(app, "2026-01-15T10:30"),
    await sandbox(app, "2026-01-15T10:30"),
  ];
  await tell(one, inOneJump);
  await tell(many, inSteps);
  const jumped = await told(one);
  expect((await one.invoices()).length).toBeGreaterThan(25);
  expect(await told(many)).toEqual(jumped);
});
