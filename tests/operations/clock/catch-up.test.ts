// A live subscription whose next period would have ended years ago is not billed without a word.

import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../../src/store/db/sql.ts";
import { type App, type Json, startApp } from "../../support/app.ts";

let now = new Date("2020-01-01T00:00:00.000Z");
let app: App;
let plan: Json;

beforeAll(async () => {
  app = await startApp({ mode: "live", clock: { now: () => now } });
  const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
  plan = (await app.post("/v1/plans", { code: "p", name: "P", ...price })).plan;
});
afterAll(() => app.close());

async function subscribeAt(at: string): Promise<string> {
  now = new Date(at);
  const name = { external_id: `c-${at}`, name: "C" };
  const { customer } = await app.post("/v1/customers", name);
  const ids = { customer_id: customer.id, plan_id: plan.id };
  return (await app.post("/v1/subscriptions", ids)).subscription.id;
}

async function countInvoices(): Promise<number> {
  return (await app.get("/v1/invoices?count=1")).total_count;
}

async function billingError(id: string): Promise<string | null> {
  return (await app.get(`/v1/subscriptions/${id}`)).subscription.billing_error;
}

test("25 periods at once are billed when somebody asks for it, and only then", async () => {
  const id = await subscribeAt("2020-01-01T00:00:00.000Z");
  now = new Date("2022-02-01T00:00:00.000Z");
  await app.runWorkers();
  expect(await countInvoices()).toBe(0);
  expect(await billingError(id)).toMatch(
    /^too_far_behind: 25 periods have ended, the first 2020-02/,
  );
  // The pause after which others are tried again is over.
  await app.context.db.run(sql`
    update subscriptions
       set set_aside_until = set_aside_until - interval '1 day'`);
  expect(await app.runWorkers()).toBe(0);
  const refused = await app.call("POST", `/v1/subscriptions/${id}/terminate`);
  expect([refused.status, refused.body.error.code]).toEqual([422, "too_far_behind"]);
  expect(await countInvoices()).toBe(0);
  const answer = await app.call("POST", `/v1/subscriptions/${id}/catch-up`);
  expect([answer.status, answer.body.subscription.billing_error]).toEqual([202, null]);
  await app.runWorkers();
  expect([await countInvoices(), await billingError(id)]).toEqual([25, null]);
});

test("24 at once are billed by themselves, and catching up does nothing more", async () => {
  const before = await countInvoices();
  const id = await subscribeAt("2024-01-01T00:00:00.000Z");
  now = new Date("2026-01-01T00:00:00.000Z");
  await app.post("/v1/subscriptions/ext:other/catch-up").catch(() => {});
  await app.runWorkers();
  expect(await billingError(id)).toBeNull();
  const billed = (await countInvoices()) - before;
  expect(billed).toBeGreaterThanOrEqual(24);
  const { subscription } = await app.post(`/v1/subscriptions/${id}/catch-up`);
  await app.runWorkers();
  expect(subscription.status).toBe("active");
  expect((await countInvoices()) - before).toBe(billed);
});

test("one that has ended cannot catch up", async () => {
  const id = await subscribeAt("2026-01-02T00:00:00.000Z");
  await app.post(`/v1/subscriptions/${id}/terminate`);
  const answer = await app.call("POST", `/v1/subscriptions/${id}/catch-up`);
  expect([answer.status, answer.body.error.code]).toEqual([422, "subscription_ended"]);
});
