// The first paid period, where a call ends the trial before it, or the subscription was away.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, startApp } from "../../support/app.ts";
import { flatFee, sandbox } from "../../support/given.ts";
import { closeSound, spanned } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const anniversary = { billing_time: "anniversary" };

describe("a trial that is ended by the call that also", () => {
  const NOW = { trial_days: 0 };

  test("sets the end bills in advance only the days up to that", async () => {
    const story = await sandbox(app, "2026-01-01");
    const advance = { amount_cents: 3100, base_timing: "advance" };
    const subscription = await story.subscribe({ ...advance, trial_days: 30 });
    await story.travelTo("2026-01-12");
    await story.update(subscription, { ...NOW, ends_at: "2026-01-17T00:00:00Z" });
    expect(await story.totals()).toEqual([500]);
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([500]);
  });

  test("changes the plan bills the start of that, and nothing of the one it leaves", async () => {
    const story = await sandbox(app, "2026-01-01");
    const once = (amount_override_cents: number) =>
      flatFee({ amount_override_cents, invoice_timing: "immediate" });
    const subscription = await story.subscribe({ charges: [once(900)], trial_days: 30 });
    const plan = await story.plan({ charges: [once(100)] });
    await story.travelTo("2026-01-12");
    const changed = await story.change(subscription, plan, NOW);
    expect(changed).toMatchObject({
      plan_id: plan.id,
      current_period_start: "2026-01-12T00:00:00.000Z",
    });
    expect(await story.totals()).toEqual([100]);
    expect((await story.invoices())[0].fees[0].properties.plan_code).toBe(plan.code);
  });

  test("brings prices of its own bills the start by those", async () => {
    const story = await sandbox(app, "2026-01-01");
    const advance = { amount_cents: 3100, base_timing: "advance" };
    const subscription = await story.subscribe({ ...advance, trial_days: 30 });
    await story.travelTo("2026-01-12");
    await story.update(subscription, { ...NOW, overrides: { amount_cents: 6200 } });
    expect(await story.totals()).toEqual([4000]);
  });
});

describe("a return before any paid period", () => {
  const back = async (fields: object) => {
    const story = await sandbox(app, "2026-01-10");
    const terms = { amount_cents: 3100, ...anniversary, trial_days: 14 };
    const subscription = await story.subscribe({ ...terms, ...fields });
    await story.travelTo("2026-01-15");
    await story.terminate(subscription);
    await story.travelTo("2026-02-20");
    const returned = await story.setStatus(subscription, "active");
    await story.travelTo("2026-03-20");
    return { returned, spans: (await story.invoices()).map(spanned) };
  };

  test("counts the periods from the day of the return", async () => {
    const { returned, spans } = await back({});
    expect(returned.anchor_date).toBe("2026-02-20");
    expect(spans).toEqual(["2026-02-20 to 2026-03-19: 3100"]);
  });

  test("keeps an anchor date that was given", async () => {
    const { returned, spans } = await back({ anchor_date: "2026-01-24" });
    expect(returned.anchor_date).toBe("2026-01-24");
    expect(spans).toEqual(["2026-02-20 to 2026-02-23: 400"]);
  });
});
