// A preview of a change, held against what the change then bills.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { flatFee, sandbox } from "../../support/given.ts";
import { closeSound } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

/** What each line is counted and billed. */
function written({ fees }: Json): string[] {
  return fees.map(({ units, amount_cents }: Json) => `${units}: ${amount_cents}`);
}

// 3 → 5 on 15 March: (3 · 14 + 5 · 17) / 31 of 1000. 9 → 5: 9 were in force until then.
test.each([
  { mode: "prorated", seats: 3, line: "4.096774193548: 4097" },
  { mode: "max", seats: 9, line: "9: 9000" },
  { mode: "last", seats: 3, line: "5: 5000" },
])("a new quantity counts from now on, $mode", async ({ mode, seats, line }) => {
  const story = await sandbox(app, "2026-03-01");
  const properties = { quantity_mode: mode };
  const charges = [flatFee({ amount_override_cents: 1000, seats: true, properties })];
  const subscription = await story.subscribe({ charges, properties: { seats } });
  await story.travelTo("2026-03-15");
  const change = { properties: { seats: 5 } };
  const sent = { subscription_id: subscription.id, at: "period_end", ...change };
  const { invoice_preview } = await story.post("/v1/invoices/preview", sent);
  expect(written(invoice_preview)).toEqual([line]);
  await story.update(subscription, change);
  await story.travelTo("2026-04-01");
  expect((await story.invoices()).map(written)).toEqual([[line]]);
});

// As the close does: where the subscription ends, no period of the other plan begins.
test.each([
  { at: "period_end", ends_at: "2026-01-21", expected: [2000] },
  { at: "period_end", ends_at: "2026-02-01", expected: [3100] },
  { at: "period_end", ends_at: "2026-02-15", expected: [3100, 2000, 2000] },
  { at: "now", ends_at: "2026-01-21", expected: [900, 2000, 2000] },
])("of a subscription that ends $ends_at, $at", async ({ at, ends_at, expected }) => {
  const story = await sandbox(app, "2026-01-01");
  const flat = (invoice_timing: string) => flatFee({ amount_override_cents: 2000, invoice_timing });
  const plan = await story.plan({ charges: [flat("advance"), flat("arrears")] });
  const subscription = await story.subscribe({ amount_cents: 3100, ends_at });
  await story.travelTo("2026-01-10");
  const sent = { subscription_id: subscription.id, plan_id: plan.id, at };
  const { invoice_preview, next_invoice_previews } = await story.post("/v1/invoices/preview", sent);
  const previews = [invoice_preview, ...next_invoice_previews];
  expect(previews.map(({ total_cents }: Json) => total_cents)).toEqual(expected);
  await story.change(subscription, plan, { change_at: at });
  await story.travelTo("2026-03-01");
  expect(await story.totals()).toEqual(expected);
});

test("of the plan it is on, now, has the properties that are asked about", async () => {
  const story = await sandbox(app, "2026-01-01");
  const charges = [flatFee({ amount_override_cents: 1000, seats: true })];
  const subscription = await story.subscribe({ charges, properties: { seats: 1 } });
  const change = { plan_id: subscription.plan_id, properties: { seats: 5 } };
  const sent = { subscription_id: subscription.id, at: "now", ...change };
  const { invoice_preview } = await story.post("/v1/invoices/preview", sent);
  expect(written(invoice_preview)).toEqual(["5: 5000"]);
  await story.update(subscription, change);
  await story.terminate(subscription);
  expect((await story.invoices()).map(written)).toEqual([["5: 5000"]]);
});

test.each(["2026-01-20T00:00:00Z", "2026-02-01T00:00:00Z", "2026-02-01T00:00:00.001Z"])(
  "at the end of the period uses no grant that has expired by then (%s)",
  async (expires_at) => {
    const story = await sandbox(app, "2026-01-10T10:00");
    const customer = await story.customer();
    const subscription = await story.subscribe({ customer, amount_cents: 3100 });
    const made = { customer_id: customer.id, kind: "free", amount_cents: 500, expires_at };
    await story.post("/v1/grants", made);
    await story.travelTo("2026-01-11T12:00");
    const shown = await story.preview(subscription, "period_end");
    const left = expires_at.endsWith(".001Z") ? 500 : 0;
    expect(shown).toMatchObject({ total_cents: 2200, credit_applied_cents: left });
    expect((await story.preview(subscription, "now")).credit_applied_cents).toBe(200);
    await story.travelTo("2026-02-01");
    const [{ credit_applied_cents, amount_due_cents }] = await story.invoices();
    expect({ credit_applied_cents, amount_due_cents }).toEqual({
      credit_applied_cents: shown.credit_applied_cents,
      amount_due_cents: shown.amount_due_cents,
    });
  },
);

// Asked for now or for the end of the period, a change of plan leaves a trial as it is.
test.each(["now", "period_end"])(
  "another plan in a trial begins where that ends, %s",
  async (at) => {
    const story = await sandbox(app, "2026-03-10");
    const terms = { amount_cents: 3100, trial_days: 14 };
    const subscription = await story.subscribe({ plan: await story.plan(terms) });
    const plan = await story.plan({ amount_cents: 6200, base_timing: "advance" });
    const asked = { plan_id: plan.id, at };
    const sent = { subscription_id: subscription.id, ...asked };
    const { invoice_preview, next_invoice_previews } = await story.post(
      "/v1/invoices/preview",
      sent,
    );
    expect(invoice_preview).toMatchObject({ period_end: "2026-03-23", total_cents: 0 });
    await story.update(subscription, { plan_id: plan.id, change_at: at });
    await story.travelTo("2026-03-24");
    const [billed] = await story.invoices();
    const { issuing_date, period_start, total_cents } = billed ?? {};
    expect(next_invoice_previews[0]).toMatchObject({ issuing_date, period_start, total_cents });
    expect(total_cents).toBe(1600);
  },
);
