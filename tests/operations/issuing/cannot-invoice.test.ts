// A subscription that cannot be billed: whoever asks is told why, it can be found, and is tried
// again as soon as its properties are mended.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { flatFee, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
let story: Sandbox;
let subscription: Json;

/** Its plan bills by a property that it has not, and its first period is over. */
beforeAll(async () => {
  app = await startApp();
  story = await sandbox(app, "2026-01-01");
  const plan = await story.plan({ code: "pro", amount_cents: 1000 });
  subscription = await story.subscribe({ plan });
  await story.subscribe({ plan: await story.plan({ code: "lite", amount_cents: 100 }) });
  const charge = flatFee({
    amount_override_cents: 500,
    quantity_from: "subscription_property.seats",
  });
  await story.patch(`/v1/plans/${plan.id}`, { charges: [charge] });
  await story.travelTo("2026-03-02");
});
afterAll(() => app.close());

const WHY = 'The property "seats" must be a decimal of 0 or more; it is missing.';

test("is found by its error", async () => {
  const found = await story.get("/v1/subscriptions?billing_error=1");
  expect(found.subscriptions).toMatchObject([{ id: subscription.id, billing_error: WHY }]);
  const others = await story.get("/v1/subscriptions?billing_error=0");
  expect(others.subscriptions.map(({ id }: Json) => id)).not.toContain(subscription.id);
});

test("a preview says what is wrong", async () => {
  const body = { subscription_id: subscription.id };
  const { status, body: answer } = await story.call("POST", "/v1/invoices/preview", body);
  expect([status, answer.error.code]).toEqual([422, "validation_error"]);
  expect(answer.error.message).toContain(WHY);
});

test("does not hold up its customer's money", async () => {
  const { customer_id } = subscription;
  const wallet = { low_balance_cents: 100 };
  await story.ok("PUT", `/v1/customers/${customer_id}/wallets/USD`, wallet);
  await story.post("/v1/grants", { customer_id, kind: "free", amount_cents: 500 });
  const { wallets } = await story.get(`/v1/customers/${customer_id}/wallets`);
  expect(wallets).toMatchObject([{ balance_cents: 500, running_cents: 0 }]);
});

test("is billed as soon as the property is there", async () => {
  expect((await story.get("/v1/analytics")).billing_failed_count).toBe(1);
  await story.patch(`/v1/subscriptions/${subscription.id}`, { properties: { seats: "2" } });
  await app.runWorkers();
  expect((await story.get("/v1/analytics")).billing_failed_count).toBe(0);
  const found = await story.get(`/v1/subscriptions/${subscription.id}`);
  expect(found.subscription.billing_error).toBeNull();
  const { invoices } = await story.get(`/v1/invoices?subscription_id=${subscription.id}`);
  expect(invoices.length).toBeGreaterThan(1);
});
