// Updates in the log: the changed fields, and no entry where nothing has changed.

import { beforeAll, expect, test } from "vitest";
import { type App, type Body, type Json, sharedApp } from "../support/app.ts";
import { type Sandbox, sandbox } from "../support/given.ts";

let app: App;
let project: Sandbox;
beforeAll(async () => {
  app = await sharedApp();
  project = await sandbox(app, "2026-01-10");
});

type Update = {
  readonly type: string;
  readonly call: readonly [method: string, path: string];
  readonly first: Body;
  /** What is sent next; `changed` alone is not as before. */
  readonly second: Body;
  readonly changed: Body;
};

async function updates(): Promise<Update[]> {
  const customer = await project.customer({ external_id: "a", name: "A" });
  const plan = await project.plan({ code: "pro", name: "Pro", amount_cents: 100 });
  const metric = await project.metric("sum", { name: "Calls" });
  const { id } = await project.subscribe({ plan, customer, properties: { seats: "1" } });
  const trial = await project.subscribe({ plan, customer, trial_days: 30 });
  const lines = [{ name: "Setup", unit_amount_cents: 500 }];
  const { invoice } = await project.post("/v1/invoices", { customer_id: customer.id, lines });
  const charge = { charge_model: "flat_fee", amount_override_cents: 100 };
  const step = { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" };
  const hook = { url: "https://hooks.example.com/a", events: ["invoice.created"] };
  const { webhook_endpoint } = await project.ok("POST", "/v1/webhooks", hook);
  const tax = { code: "vat", name: "VAT", percent: "20" };
  const item = { code: "seat", name: "Seat", amount_cents: 100 };
  const addOn = { code: "start", name: "Start", amount_cents: 100 };
  const coupon = { code: "ten", name: "Ten", percent: "10" };
  const ends_at = "2026-06-01T00:00:00.000Z";
  const update = (
    type: string,
    [method, path]: readonly [string, string],
    first: Body,
    changed: Body,
    more: Body = {},
  ): Update => {
    const second = { ...first, ...changed };
    const { trial_days: _, ...told } = changed;
    return { type, call: [method, path], first, second, changed: { ...more, ...told } };
  };
  return [
    update(
      "customer.updated",
      ["PATCH", `/v1/customers/${customer.id}`],
      { name: "A" },
      { email: "a@b.test" },
    ),
    update(
      "settings.updated",
      ["PUT", "/v1/settings"],
      { name: "Us", footer: "Thanks" },
      { footer: "Bye" },
    ),
    update(
      "plan.updated",
      ["PATCH", `/v1/plans/${plan.id}`],
      { name: "Pro", charges: [charge] },
      { amount_cents: 200 },
    ),
    update(
      "metric.updated",
      ["PATCH", `/v1/metrics/${metric.id}`],
      { name: "Calls" },
      { name: "API calls" },
    ),
    update(
      "subscription.updated",
      ["PATCH", `/v1/subscriptions/${id}`],
      { properties: { seats: "1" }, ends_at },
      { properties: { seats: "2" } },
    ),
    update(
      "subscription.updated",
      ["PATCH", `/v1/subscriptions/${id}`],
      { metadata: { a: "1" } },
      { metadata: { a: "2" } },
    ),
    update(
      "subscription.updated",
      ["PATCH", `/v1/subscriptions/${id}`],
      { overrides: { amount_cents: 300 } },
      { overrides: { amount_cents: 400 } },
    ),
    update(
      "subscription.updated",
      ["PATCH", `/v1/subscriptions/${trial.id}`],
      { trial_days: 20 },
      { trial_days: 25 },
      { trial_ends_at: "2026-02-04T00:00:00.000Z" },
    ),
    update(
      "invoice.updated",
      ["PATCH", `/v1/invoices/${invoice.id}`],
      { memo: "M" },
      { payment_url: "https://pay.example.test/1" },
    ),
    update(
      "dunning.updated",
      ["PUT", "/v1/dunning"],
      { enabled: true, steps: [step] },
      { enabled: false },
    ),
    update(
      "webhook_endpoint.updated",
      ["PATCH", `/v1/webhooks/${webhook_endpoint.id}`],
      { events: hook.events },
      { events: ["payment.succeeded"] },
    ),
    update(
      "wallet.updated",
      ["PUT", `/v1/customers/${customer.id}/wallets/USD`],
      { low_balance_cents: 5 },
      { low_balance_cents: 6 },
      { currency: "USD" },
    ),
    update("tax.updated", ["POST", "/v1/taxes"], tax, { percent: "21" }, { code: "vat" }),
    update(
      "catalog_item.updated",
      ["POST", "/v1/catalog"],
      item,
      { amount_cents: 200 },
      { code: "seat" },
    ),
    update(
      "add_on.updated",
      ["POST", "/v1/addons"],
      addOn,
      { amount_cents: 200 },
      { code: "start" },
    ),
    update("coupon.updated", ["POST", "/v1/coupons"], coupon, { percent: "11" }, { code: "ten" }),
  ];
}

test("every update logs what it changed, and one that changes nothing logs nothing", async () => {
  for (const { type, call, first, second, changed } of await updates()) {
    const [method, path] = call;
    await project.ok(method, path, first);
    const before = (await project.log(type)).length;
    await project.ok(method, path, first);
    expect([type, (await project.log(type)).length]).toEqual([type, before]);
    await project.ok(method, path, second);
    const entries: Json[] = (await project.log(type)).slice(before);
    expect([type, entries.map(({ payload }) => payload)]).toEqual([type, [changed]]);
  }
});

test("a PATCH of a customer that changes nothing drops the kept view all the same", async () => {
  const customer = await project.customer({ name: "Same" });
  const cache = async () =>
    (await app.call("GET", `/v1/portal/${customer.id}`)).headers["x-portal-cache"];
  await cache();
  expect(await cache()).toBe("hit");
  await project.patch(`/v1/customers/${customer.id}`, { name: "Same" });
  expect(await cache()).toBe("miss");
});
