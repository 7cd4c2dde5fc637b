// PORTAL_AUTO_INVALIDATE=1: every change of a customer's data drops the customer's view.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";
import { startService, until } from "../support/processes.ts";
import { makeCustomer, makePlan, makeSubscription } from "../support/records.ts";

let app: App;
let project: Sandbox;
beforeAll(async () => {
  app = await startApp({ env: { PORTAL_AUTO_INVALIDATE: "1" } });
  project = await sandbox(app, "2025-01-10");
});
afterAll(() => app.close());

async function cacheOf(id: string): Promise<unknown> {
  return (await app.call("GET", `/v1/portal/${id}`)).headers["x-portal-cache"];
}

test("subscriptions, usage, invoices and payments drop it; others' changes do not", async () => {
  const metric = await project.metric("sum");
  const plan = await project.plan({ amount_cents: 100, charges: [perUnit(metric, "1")] });
  const customer = await project.customer();
  const bystander = await project.customer();
  await cacheOf(bystander.id);
  const drops = async (what: string, change: () => Promise<unknown>) => {
    await cacheOf(customer.id);
    expect([what, await cacheOf(customer.id)]).toEqual([what, "hit"]);
    await change();
    expect([what, await cacheOf(customer.id)]).toEqual([what, "miss"]);
  };

  const subscription = await project.subscribe({ plan, customer });
  await drops("a second subscription", () => project.subscribe({ plan, customer }));
  await drops("usage", () => project.use(subscription, metric, "3"));
  await drops("a suspension", () => project.suspend(subscription));
  const addOn = await project.addOn({ amount_cents: 500, currency: "USD" });
  await drops("an invoice", () => project.apply(addOn, customer));
  const [invoice] = await project.invoices();
  await drops("a payment", () => project.pay(invoice, 500));
  await drops("the name", () => project.patch(`/v1/customers/${customer.id}`, { name: "B" }));
  expect(await cacheOf(bystander.id)).toBe("hit");
  await drops("a plan's name", () => project.patch(`/v1/plans/${plan.id}`, { name: "New" }));
  await drops("the end of a period", () => project.travelTo("2025-02-01"));
});

test("the workers' own thread drops it as well", async () => {
  const live = await startApp({ mode: "live" });
  const customer = await makeCustomer(live);
  const plan = await makePlan(live, { amount_cents: 100 });
  await makeSubscription(live, { customer_id: customer.id, plan_id: plan.id });
  const view = async () => (await live.call("GET", `/v1/portal/${customer.id}`)).headers;
  await view();
  expect((await view())["x-portal-cache"]).toBe("hit");
  const service = await startService({
    connection: live.connection,
    role: "all",
    ahead_ms: 32 * 24 * 3_600_000,
    env: { PORTAL_AUTO_INVALIDATE: "1" },
  });
  try {
    await until(async () => (await live.ok("GET", "/v1/invoices")).invoices.length > 0);
    expect((await view())["x-portal-cache"]).toBe("miss");
  } finally {
    await service.signal("SIGTERM");
    await live.close();
  }
});
