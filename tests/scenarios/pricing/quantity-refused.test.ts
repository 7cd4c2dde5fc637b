// A quantity that cannot be billed is refused by the call that brings it, whichever of the prices
// to come it is for: those behind a trial or before a start, of its own, or of a scheduled plan.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { flatFee, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, expectFault, issued } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const seated = (fields: Body = {}) =>
  flatFee({ amount_override_cents: 1000, seats: true, ...fields });

/** What the call would change stays as it is. */
async function refused(story: Sandbox, { id }: Json, body: Body): Promise<void> {
  const before = await story.subscription(id);
  const answer = await story.call("PATCH", `/v1/subscriptions/${id}`, body);
  expectFault(answer, "properties", "quantity");
  expect(await story.subscription(id)).toEqual(before);
}

describe("before the first paid period", () => {
  test.each(["many", -1, null])("a trial does not take a quantity of %s", async (seats) => {
    const story = await sandbox(app, "2026-01-01");
    const run = { trial_days: 14, charges: [seated()], properties: { seats: 3 } };
    const subscription = await story.subscribe(run);
    await story.travelTo("2026-01-05");
    await refused(story, subscription, { properties: { seats } });
    await story.update(subscription, { properties: { note: "x" } });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3000"]);
  });

  test("own prices that were sent in the trial say what is a quantity", async () => {
    const story = await sandbox(app, "2026-01-01");
    const run = { trial_days: 14, charges: [seated()], properties: { seats: 3 } };
    const subscription = await story.subscribe(run);
    const charges = [flatFee({ amount_override_cents: 500 })];
    await story.travelTo("2026-01-05");
    await story.update(subscription, { overrides: { charges } });
    await story.update(subscription, { properties: { seats: "many" } });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 500"]);
  });

  test.each([
    ["a trial", { trial_days: 14 }],
    ["a start to come", { starts_at: "2026-01-15" }],
  ])("%s on another plan with own prices needs only their quantities", async (_, run) => {
    const story = await sandbox(app, "2026-01-01");
    const after = await story.plan({ charges: [seated()] });
    const subscription = await story.subscribe({ amount_cents: 0, ...run });
    const overrides = { charges: [flatFee({ amount_override_cents: 500 })] };
    await story.change(subscription, after, { overrides });
    await story.update(subscription, { properties: { note: "x" } });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 500"]);
  });

  test.each([
    ["a trial", { trial_days: 14 }],
    ["a start to come", { starts_at: "2026-01-15" }],
  ])("%s drops a quantity together with the plan that counts it", async (_, run) => {
    const story = await sandbox(app, "2026-01-01");
    const after = await story.plan({ charges: [flatFee({ amount_override_cents: 500 })] });
    const subscription = await story.subscribe({
      charges: [seated()],
      properties: { seats: 3 },
      ...run,
    });
    const moved = await story.change(subscription, after, { properties: { seats: null } });
    expect(moved.plan_id).toBe(after.id);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 500"]);
  });
});

describe("prices that count from the next period", () => {
  const own = { overrides: { charges: [seated({ invoice_timing: "advance" })] } };

  async function unseated() {
    const story = await sandbox(app, "2026-01-01");
    const before = await story.plan({ amount_cents: 3100 });
    const after = await story.plan({ charges: [seated({ invoice_timing: "advance" })] });
    const run = { plan: before, properties: { seats: 2 } };
    return { story, before, after, run };
  }

  test("own ones are refused without their quantity, and taken together with it", async () => {
    const { story, before } = await unseated();
    const subscription = await story.subscribe({ plan: before });
    await story.travelTo("2026-01-10");
    await refused(story, subscription, own);
    await story.update(subscription, { ...own, properties: { seats: 2 } });
    await refused(story, subscription, { properties: { seats: "x" } });
    await story.update(subscription, { overrides: null, properties: { seats: 3 } });
    await story.update(subscription, own);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3100", "2026-02-01: 3000"]);
  });

  test("own ones are not taken away where the plan's lack a quantity", async () => {
    const { story, after } = await unseated();
    const overrides = { charges: [flatFee({ amount_override_cents: 500 })] };
    const subscription = await story.subscribe({ plan: after, overrides });
    await refused(story, subscription, { overrides: null });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 500"]);
  });

  test("a plan that is to come keeps its quantity until it is taken back", async () => {
    const { story, before, after, run } = await unseated();
    const subscription = await story.subscribe(run);
    await story.change(subscription, after, { change_at: "period_end" });
    await story.travelTo("2026-01-10");
    await refused(story, subscription, { properties: { seats: "x" } });
    await story.update(subscription, { properties: { seats: 3 } });
    await story.change(subscription, before);
    await story.update(subscription, { properties: { seats: "x" } });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3100"]);
  });

  test("a plan that the same call takes back or replaces asks for nothing", async () => {
    const { story, before, after, run } = await unseated();
    const third = await story.plan({ amount_cents: 6200 });
    const properties = { seats: null };
    for (const plan of [before, third]) {
      const subscription = await story.subscribe(run);
      await story.change(subscription, after, { change_at: "period_end" });
      await story.change(subscription, plan, { change_at: "period_end", properties });
    }
    await story.travelTo("2026-03-01");
    expect(await story.totals()).toEqual([3100, 3100, 3100, 6200]);
  });

  test.each([
    ["a trial", { trial_days: 14 }],
    ["a start to come", { starts_at: "2026-01-15" }],
  ])("%s drops a quantity together with the prices that count it", async (_, run) => {
    const { story, after } = await unseated();
    const subscription = await story.subscribe({ plan: after, properties: { seats: 2 }, ...run });
    const overrides = { charges: [flatFee({ amount_override_cents: 500 })] };
    await story.update(subscription, { overrides, properties: { seats: null } });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-02-01: 500"]);
  });

  // Who changes a property has not changed the plan: its new charge is found at the close.
  test("a new charge of the plan does not refuse other properties", async () => {
    const { story, before } = await unseated();
    const subscription = await story.subscribe({ plan: before });
    await story.patch(`/v1/plans/${before.id}`, { charges: [seated()] });
    await story.update(subscription, { properties: { note: "x" } });
    await story.update(subscription, { properties: { seats: 1 } });
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 3100", "2026-03-01: 3100 1000"]);
  });
});
