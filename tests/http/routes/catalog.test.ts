// What is sold: catalog items, plans with their charges, add-ons, and how prices move.

import { describe, expect, test } from "vitest";
import { type Json, sharedApp } from "../../support/app.ts";
import { type Client, newProject } from "../../support/client.ts";
import {
  code,
  makeAddOn,
  makeCustomer,
  makeItem,
  makeMetric,
  makePlan,
  makeSubscription,
} from "../../support/records.ts";
import { expectError } from "../../support/shapes.ts";

const app = await sharedApp({ at: "2026-01-01T00:00:00.000Z" });

async function invoiceTotals(api: Client, subscription_id: string): Promise<number[]> {
  const path = `/v1/invoices?all=1&subscription_id=${subscription_id}`;
  return (await api.get(path)).invoices.map((one: Json) => one.total_cents).reverse();
}

describe("catalog items", () => {
  test("201 when made, 200 when changed; what is left out keeps its value", async () => {
    const body = { code: code("i"), name: "Seat", amount_cents: 100, currency: "EUR" };
    const made = await app.call("POST", "/v1/catalog", { ...body, metadata: { a: 1 } });
    const next = { code: body.code, name: "Chair", amount_cents: 200 };
    const changed = await app.call("POST", "/v1/catalog", next);
    expect([made.status, changed.status]).toEqual([201, 200]);
    expect(changed.body.catalog_item).toMatchObject({
      id: made.body.catalog_item.id,
      name: "Chair",
      amount_cents: 200,
      currency: "EUR",
      metadata: { a: 1 },
    });
  });

  test("an archived item is brought back by its code, under the same id", async () => {
    const item = await makeItem(app);
    await app.ok("DELETE", `/v1/catalog/${item.id}`);
    const { code, name, amount_cents } = item;
    const revived = await app.call("POST", "/v1/catalog", { code, name, amount_cents });
    expect(revived.status).toBe(200);
    expect(revived.body.catalog_item).toMatchObject({ id: item.id, archived_at: null });
  });

  test("archiving twice is one archiving, and archived items are listed when asked for", async () => {
    const item = await makeItem(app);
    for (let i = 0; i < 2; i++) {
      expect((await app.call("DELETE", `/v1/catalog/${item.id}`)).status).toBe(204);
    }
    const { billing_events } = await app.get(`/v1/billing-events?resource_id=${item.id}`);
    expect(billing_events.map((one: Json) => one.event_type)).toEqual([
      "catalog_item.archived",
      "catalog_item.created",
    ]);
    const { catalog_items } = await app.get("/v1/catalog?archived=1");
    expect(catalog_items.map((one: Json) => one.id)).toContain(item.id);
  });

  test("a new price counts from periods that start later", async () => {
    const api = await newProject(app, "2026-01-01T00:00:00.000Z");
    const item = await makeItem(api, { amount_cents: 1_000 });
    const charges = [{ charge_model: "flat_fee", catalog_item_code: item.code }];
    const plan = await makePlan(api, { amount_cents: 0, charges });
    const { id } = await makeSubscription(api, { plan_id: plan.id });
    await makeItem(api, { code: item.code, amount_cents: 1_500 });
    await api.post("/v1/clock/advance", { to: "2026-03-01T00:00:00.000Z" });
    expect(await invoiceTotals(api, id)).toEqual([1_000, 1_500]);
  });

  test("a metric that live charges measure by cannot be archived", async () => {
    const metric = await makeMetric(app);
    const charge = {
      charge_model: "standard",
      billable_metric_id: metric.id,
      properties: { amount: "1" },
    };
    const plan = await makePlan(app, { charges: [charge] });
    const refused = await app.call("DELETE", `/v1/metrics/${metric.id}`);
    expectError(refused, 422, "has_dependencies");
    await app.ok("PATCH", `/v1/plans/${plan.id}`, { charges: [] });
    expect((await app.call("DELETE", `/v1/metrics/${metric.id}`)).status).toBe(204);
  });

  test("an item cannot change its currency under a plan that is priced by it", async () => {
    const item = await makeItem(app);
    const charges = [{ charge_model: "flat_fee", catalog_item_code: item.code }];
    await makePlan(app, { charges });
    const body = { code: item.code, name: "S", amount_cents: 1, currency: "EUR" };
    expectError(await app.call("POST", "/v1/catalog", body), 422, "currency_mismatch");
  });

  test("live subscriptions with prices of their own are found by the item they name", async () => {
    const { code: seat } = await makeItem(app);
    const charges = [{ charge_model: "flat_fee", catalog_item_code: seat }];
    const live = await makeSubscription(app, { overrides: { charges } });
    const changed = await makeSubscription(app, { overrides: { charges } });
    const ended = await makeSubscription(app, { overrides: { charges } });
    await app.patch(`/v1/subscriptions/${changed.id}`, { overrides: null });
    await app.post(`/v1/subscriptions/${ended.id}/terminate`, {});
    const list = `/v1/subscriptions?count=1&catalog_item_code=${seat}`;
    const { subscriptions, total_count } = await app.get(list);
    expect([total_count, subscriptions[0].id]).toEqual([1, live.id]);
    expect((await app.get(`${list}-other`)).subscriptions).toEqual([]);
  });
});

describe("plans and charges", () => {
  test("a catalog item of another currency than the plan is refused", async () => {
    const item = await makeItem(app, { currency: "EUR" });
    const charge = { charge_model: "flat_fee", catalog_item_code: item.code };
    const body = { code: code("p"), name: "P", interval: "monthly", amount_currency: "USD" };
    const refused = await app.call("POST", "/v1/plans", { ...body, charges: [charge] });
    expectError(refused, 422, "currency_mismatch");
    const plan = await makePlan(app);
    const added = await app.call("POST", `/v1/plans/${plan.id}/charges`, charge);
    expectError(added, 422, "currency_mismatch");
  });

  test("an archived item or metric cannot be charged for", async () => {
    const item = await makeItem(app);
    await app.ok("DELETE", `/v1/catalog/${item.id}`);
    const metric = await makeMetric(app);
    await app.ok("DELETE", `/v1/metrics/${metric.id}`);
    const plan = await makePlan(app);
    const path = `/v1/plans/${plan.id}/charges`;
    const flat = { charge_model: "flat_fee", catalog_item_code: item.code };
    expectError(await app.call("POST", path, flat), 404, "not_found");
    const standard = {
      charge_model: "standard",
      billable_metric_id: metric.id,
      properties: { amount: "1" },
    };
    expectError(await app.call("POST", path, standard), 404, "not_found");
  });

  test("the file's words mean the same: type, metric_ref, rate, catalog_ref", async () => {
    const [metric, item] = [await makeMetric(app), await makeItem(app)];
    const plan = await makePlan(app, {
      charges: [
        { type: "standard", metric_ref: metric.code, rate: "0.05" },
        { type: "flat_fee", catalog_ref: item.code },
        {
          charge_model: "standard",
          billable_metric_code: metric.code,
          properties: { amount: "0.10" },
        },
      ],
    });
    expect(plan.charges).toMatchObject([
      {
        charge_model: "standard",
        billable_metric_id: metric.id,
        billable_metric_code: metric.code,
        properties: { amount: "0.05" },
        catalog_item_code: null,
      },
      { charge_model: "flat_fee", catalog_item_code: item.code, billable_metric_id: null },
      { billable_metric_id: metric.id, properties: { amount: "0.10" } },
    ]);
  });

  test.each([
    ["a flat fee without a price", { charge_model: "flat_fee" }, "catalog_item_code"],
    ["no model", { catalog_item_code: "x" }, "charge_model"],
    ["usage paid at once", { type: "standard", invoice_timing: "immediate" }, "invoice_timing"],
    ["usage without a metric", { type: "standard", rate: "1" }, "billable_metric_id"],
    ["a rate on a flat fee", { type: "flat_fee", rate: "1", catalog_ref: "x" }, "rate"],
    [
      "an override on usage",
      { type: "standard", amount_override_cents: 1 },
      "amount_override_cents",
    ],
  ])("%s is refused, and the field is named", async (_name, charge, field) => {
    const body = { code: code("p"), name: "P", interval: "monthly", amount_currency: "USD" };
    const refused = await app.call("POST", "/v1/plans", { ...body, charges: [charge] });
    expectError(refused, 422, "validation_error");
    expect(refused.body.error.details[0].field).toBe(`charges[0].${field}`);
  });

  test("PATCH charges is the whole wanted set: unchanged ones keep their id", async () => {
    const metric = await makeMetric(app);
    const usage = (amount: string) => ({
      charge_model: "standard",
      billable_metric_id: metric.id,
      properties: { amount },
    });
    const flat = { charge_model: "flat_fee", amount_override_cents: 500 };
    const plan = await makePlan(app, { charges: [usage("0.10"), flat] });
    const path = `/v1/plans/${plan.id}`;
    const patched = await app.patch(path, { charges: [flat, usage("0.1"), usage("0.20")] });
    const ids = patched.plan.charges.map((one: Json) => one.id);
    expect(ids.slice(0, 2)).toEqual([plan.charges[1].id, plan.charges[0].id]);
    expect(plan.charges.map((one: Json) => one.id)).not.toContain(ids[2]);
    const fewer = await app.patch(path, { charges: [usage("0.20")] });
    expect(fewer.plan.charges.map((one: Json) => one.id)).toEqual([ids[2]]);
  });

  test("a refused PATCH changes nothing at all", async () => {
    const plan = await makePlan(app, { charges: [{ type: "flat_fee", amount_override_cents: 1 }] });
    const change = { name: "Half done", charges: [{ type: "flat_fee", catalog_ref: "unheard" }] };
    const refused = await app.call("PATCH", `/v1/plans/${plan.id}`, change);
    expectError(refused, 404, "not_found");
    expect((await app.get(`/v1/plans/${plan.id}`)).plan).toEqual(plan);
  });

  test("a new base fee counts from periods that start later, and at once for new subscriptions", async () => {
    const api = await newProject(app, "2026-01-01T00:00:00.000Z");
    const plan = await makePlan(api, { amount_cents: 3_100 });
    const old = await makeSubscription(api, { plan_id: plan.id });
    await api.ok("PATCH", `/v1/plans/${plan.id}`, { amount_cents: 6_200 });
    const fresh = await makeSubscription(api, { plan_id: plan.id });
    await api.post("/v1/clock/advance", { to: "2026-03-01T00:00:00.000Z" });
    expect(await invoiceTotals(api, old.id)).toEqual([3_100, 6_200]);
    expect(await invoiceTotals(api, fresh.id)).toEqual([6_200, 6_200]);
  });

  test("an archived plan takes no new charge and keeps its prices, but may be renamed", async () => {
    const plan = await makePlan(app);
    await app.ok("DELETE", `/v1/plans/${plan.id}`);
    const path = `/v1/plans/${plan.id}`;
    const charge = { type: "flat_fee", amount_override_cents: 1 };
    expectError(await app.call("POST", `${path}/charges`, charge), 422, "plan_archived");
    expectError(await app.call("PATCH", path, { amount_cents: 1 }), 422, "plan_archived");
    expect((await app.patch(path, { name: "Old" })).plan.name).toBe("Old");
  });

  test("by code: the live plan, else the newest archived one", async () => {
    const first = await makePlan(app);
    await app.ok("DELETE", `/v1/plans/${first.id}`);
    const second = await makePlan(app, { code: first.code });
    expect((await app.get(`/v1/plans?code=${first.code}`)).plan.id).toBe(second.id);
    await app.ok("DELETE", `/v1/plans/${second.id}`);
    expect((await app.get(`/v1/plans?code=${first.code}`)).plan.id).toBe(second.id);
  });
});

describe("add-ons", () => {
  test("201 when declared, 200 when declared again, under the same id", async () => {
    const body = { code: code("a"), name: "A", amount_cents: 100 };
    const made = await app.call("POST", "/v1/addons", body);
    const again = await app.call("POST", "/v1/addons", { ...body, amount_cents: 200 });
    expect([made.status, again.status]).toEqual([201, 200]);
    expect(again.body.add_on).toMatchObject({ id: made.body.add_on.id, amount_cents: 200 });
  });

  test("a price may move from its own amount to a catalog item and back", async () => {
    const item = await makeItem(app, { amount_cents: 700, currency: "EUR" });
    const addOn = await makeAddOn(app, { amount_cents: 100 });
    const { code, name } = addOn;
    const priced = await app.post("/v1/addons", { code, name, catalog_ref: item.code });
    expect(priced.add_on).toMatchObject({
      catalog_item_code: item.code,
      amount_cents: 700,
      currency: "EUR",
    });
    const back = await app.post("/v1/addons", { code, name, amount_cents: 300 });
    expect(back.add_on).toMatchObject({
      catalog_item_code: null,
      amount_cents: 300,
      currency: "USD",
    });
  });

  test("an archived add-on cannot be applied, and comes back by its code", async () => {
    const [addOn, customer] = [await makeAddOn(app), await makeCustomer(app)];
    await app.ok("DELETE", `/v1/addons/${addOn.id}`);
    const apply = () =>
      app.call("POST", `/v1/addons/${addOn.id}/apply`, { customer_id: customer.id });
    expectError(await apply(), 404, "not_found");
    await makeAddOn(app, { code: addOn.code });
    expect((await apply()).status).toBe(201);
  });

  test("an add-on of nothing gives an invoice that is paid already", async () => {
    const [addOn, customer] = [await makeAddOn(app, { amount_cents: 0 }), await makeCustomer(app)];
    const path = `/v1/addons/${addOn.id}/apply`;
    const { applied_add_on } = await app.post(path, { customer_id: customer.id });
    const { invoice } = await app.get(`/v1/invoices/${applied_add_on.invoice_id}`);
    expect(invoice).toMatchObject({
      total_cents: 0,
      status: "succeeded",
      payment_status: "succeeded",
    });
  });
});
