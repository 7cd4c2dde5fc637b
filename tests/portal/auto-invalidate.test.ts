// PORTAL_AUTO_INVALIDATE=1: every change of a customer's data drops the customer's view.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../support/given.ts";
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

test("a view that time alone changes is kept for ten minutes of the project's clock", async () => {
  const story = await sandbox(app, "2025-01-01");
  const metric = await story.metric("weighted_sum", { weighted_by: "hour" });
  const plan = await story.plan({ charges: [perUnit(metric, "0.01")] });
  const customer = await story.customer();
  const subscription = await story.subscribe({ plan, customer });
  const still = await story.customer();
  await story.subscribe({ amount_cents: 100, customer: still });
  await story.use(subscription, metric, "10");
  const view = async (id: string) => {
    const { headers, body } = await app.call("GET", `/v1/portal/${id}`);
    return [headers["x-portal-cache"], body.subscriptions[0].usage[0]?.units];
  };
  await story.travelTo("2025-01-02T00:00");
  await view(still.id);
  expect(await view(customer.id)).toEqual(["miss", "240"]);
  await story.travelTo("2025-01-02T00:09");
  expect(await view(customer.id)).toEqual(["hit", "240"]);
  await story.travelTo("2025-01-12T00:00");
  expect(await view(customer.id)).toEqual(["miss", "2640"]);
  expect(await view(still.id)).toEqual(["hit", undefined]);
});

test("a call that changes a customer's things and bills it holds its view only at the end", async () => {
  const charges = [flatFee({ amount_override_cents: 100, seats: true })];
  const plan = await project.plan({ charges });
  const customer = await project.customer();
  const properties = { seats: 1 };
  const subscription = await project.subscribe({ plan, customer, properties });
  await cacheOf(customer.id);
  const line = { name: "Work", unit_amount_cents: 10 };
  const answers = await Promise.all([
    project.call("PATCH", `/v1/subscriptions/${subscription.id}`, {
      properties: { seats: 2 },
      status: "terminated",
    }),
    project.call("POST", "/v1/invoices", { customer_id: customer.id, lines: [line] }),
    project.call("PATCH", `/v1/plans/${plan.id}`, { name: "Other" }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 201, 200]);
  expect(await cacheOf(customer.id)).toBe("miss");
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
