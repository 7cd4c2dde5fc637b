// Callers who come at the same time: one wins, the others get the documented refusal, and no
// record is left that could not have come about one after the other.

import { afterAll, expect, test } from "vitest";
import type { Context } from "../../src/context.ts";
import { apiServer } from "../../src/service/api-server.ts";
import { Pool } from "../../src/store/db/db.ts";
import { type Answer, App, startApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { jittery } from "../support/jittery.ts";
import {
  code,
  makeCustomer,
  makeInvoice,
  makeItem,
  makePlan,
  makeSubscription,
  paymentOf,
} from "../support/records.ts";
import { expectError } from "../support/shapes.ts";

const PAIRS = 100;
const AT_ONCE = 10;
const JITTER_MS_MAX = 3;

const app = await startApp();
const pool = new Pool(app.connection, {
  max: 40,
  // Two hundred wait for one row here, and a busy machine may take half a minute for them.
  statement_timeout_ms: 90_000,
  lock_timeout_ms: 60_000,
  application_name: "races",
});
const own = { token: app.profile.token, project: app.profile.project_id };
/** With every statement a little late, and without. */
const api = new Client(appWith({ db: jittery(pool, JITTER_MS_MAX) }), own);
const prompt = new Client(appWith({ db: pool }), own);
afterAll(async () => {
  await pool.end();
  await app.close();
});

/** Another process of the same service, on the same database. */
function appWith(change: Partial<Context>): App {
  const context = { ...app.context, ...change };
  const server = apiServer(context, { draining: false, schema_version: 0, warnings: [] });
  const { connection, profile } = app;
  return new App({ server, context, connection, profile, close: async () => {} });
}

async function count(answers: readonly Answer[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status < 300 ? String(status) : `${status} ${body.error.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Runs the pairs a few at a time; both halves of a pair start together. */
async function race(pair: () => Promise<[Answer, Answer]>): Promise<[Answer, Answer][]> {
  const results: [Answer, Answer][] = [];
  for (let done = 0; done < PAIRS; done += AT_ONCE) {
    results.push(...(await Promise.all(Array.from({ length: AT_ONCE }, pair))));
  }
  return results;
}

test("200 customers of one external_id at once: one 201 and 199 times 409", async () => {
  const body = { external_id: code("same"), name: "Same" };
  const create = () => prompt.call("POST", "/v1/customers", body);
  const answers = await Promise.all(Array.from({ length: 200 }, create));
  expect(await count(answers)).toEqual({ "201": 1, "409 already_exists": 199 });
  const winner = answers.find(({ status }) => status === 201);
  for (const answer of answers.filter(({ status }) => status === 409)) {
    expect(answer.body.error.details[0].existing_id).toBe(winner?.body.customer.id);
  }
});

test.each([
  ["/v1/metrics", { name: "M", aggregation_type: "count" }],
  ["/v1/plans", { name: "P", interval: "monthly", amount_currency: "USD" }],
])("30 times one code at once on %s: one 201, the rest 409", async (path, fields) => {
  const body = { code: code("same"), ...fields };
  const create = () => api.call("POST", path, body);
  const answers = await Promise.all(Array.from({ length: 30 }, create));
  expect(await count(answers)).toEqual({ "201": 1, "409 already_exists": 29 });
});

test.each(["/v1/catalog", "/v1/addons"])(
  "30 upserts of one code at once on %s: one 201, the rest 200, one record",
  async (path) => {
    const body = { code: code("same"), name: "S", amount_cents: 1 };
    const upsert = () => api.call("POST", path, body);
    const answers = await Promise.all(Array.from({ length: 30 }, upsert));
    expect(await count(answers)).toEqual({ "201": 1, "200": 29 });
  },
);

test("30 subscriptions of one external_id at once: one 201, the rest 409", async () => {
  const [customer, plan] = [await makeCustomer(api), await makePlan(api)];
  const body = { external_id: code("same"), customer_id: customer.id, plan_id: plan.id };
  const create = () => api.call("POST", "/v1/subscriptions", body);
  const answers = await Promise.all(Array.from({ length: 30 }, create));
  expect(await count(answers)).toEqual({ "201": 1, "409 already_exists": 29 });
});

test("archiving an item against making a plan with it: never a live charge on an archived item", async () => {
  const results = await race(async () => {
    const item = await makeItem(api);
    const charges = [{ charge_model: "flat_fee", catalog_item_code: item.code }];
    const terms = { code: code("p"), name: "P", interval: "monthly", amount_currency: "USD" };
    return Promise.all([
      api.call("DELETE", `/v1/catalog/${item.id}`),
      api.call("POST", "/v1/plans", { ...terms, charges }),
    ]);
  });
  for (const [archived, made] of results) {
    if (archived.status === 204) expectError(made, 404, "not_found");
    else {
      expectError(archived, 422, "has_dependencies");
      expect(made.status).toBe(201);
    }
  }
});

test("archiving an item against declaring an add-on with it: never a live price on an archived item", async () => {
  const results = await race(async () => {
    const item = await makeItem(api);
    const body = { code: code("a"), name: "A", catalog_item_code: item.code };
    return Promise.all([
      api.call("DELETE", `/v1/catalog/${item.id}`),
      api.call("POST", "/v1/addons", body),
    ]);
  });
  for (const [archived, made] of results) {
    if (archived.status === 204) expectError(made, 404, "not_found");
    else {
      expectError(archived, 422, "has_dependencies");
      expect(made.status).toBe(201);
    }
  }
});

test("archiving a plan against subscribing to it: never an active subscription on an archived plan", async () => {
  const customer = await makeCustomer(api);
  const results = await race(async () => {
    const plan = await makePlan(api);
    return Promise.all([
      api.call("DELETE", `/v1/plans/${plan.id}`),
      api.call("POST", "/v1/subscriptions", { customer_id: customer.id, plan_id: plan.id }),
    ]);
  });
  for (const [archived, made] of results) {
    if (archived.status === 204) expectError(made, 422, "plan_archived");
    else {
      expectError(archived, 422, "has_active_subscriptions");
      expect(made.status).toBe(201);
    }
  }
});

test("200 PATCHes of properties at once, one new key each: all of them are there", async () => {
  const { id } = await makeSubscription(api);
  const keys = Array.from({ length: 200 }, (_, i) => `key_${i}`);
  const patch = (key: string) =>
    prompt.call("PATCH", `/v1/subscriptions/${id}`, { properties: { [key]: 1 } });
  const answers = await Promise.all(keys.map(patch));
  expect(await count(answers)).toEqual({ "200": 200 });
  const { subscription } = await api.get(`/v1/subscriptions/${id}`);
  expect(Object.keys(JSON.parse(subscription.properties)).sort()).toEqual([...keys].sort());
});

test("a price change against making a plan: the plan is billed at the price it shows", async () => {
  for (let i = 0; i < 10; i++) {
    const item = await makeItem(api, { amount_cents: 100 });
    const charge = {
      charge_model: "flat_fee",
      catalog_item_code: item.code,
      invoice_timing: "immediate",
    };
    const [plan] = await Promise.all([
      makePlan(api, { charges: [charge] }),
      makeItem(api, { code: item.code, amount_cents: 250 }),
    ]);
    const { id } = await makeSubscription(api, { plan_id: plan.id });
    const { invoices } = await api.get(`/v1/invoices?subscription_id=${id}`);
    expect(invoices[0].total_cents).toBe(250);
  }
});

test("ten reports of one payment at once: one 201, the rest 200 with the same payment", async () => {
  const invoice = await makeInvoice(api);
  const body = paymentOf(invoice);
  const pay = () => api.call("POST", "/v1/payments", body);
  const answers = await Promise.all(Array.from({ length: 10 }, pay));
  expect(await count(answers)).toEqual({ "201": 1, "200": 9 });
  expect(new Set(answers.map((answer) => answer.body.payment.id)).size).toBe(1);
});

test("ten part payments at once never pay more than is due", async () => {
  const invoice = await makeInvoice(api, { amount_cents: 1_000 });
  const pay = () => api.call("POST", "/v1/payments", paymentOf(invoice, { amount_cents: 300 }));
  const answers = await Promise.all(Array.from({ length: 10 }, pay));
  expect(await count(answers)).toEqual({ "201": 3, "422 amount_exceeds_due": 7 });
  const now = (await api.get(`/v1/invoices/${invoice.id}`)).invoice;
  expect(now).toMatchObject({ amount_paid_cents: 900, payment_status: "partially_paid" });
});

test("terminating, suspending and canceling at once ends in one of them, billed at most once", async () => {
  for (let i = 0; i < 10; i++) {
    const { id } = await makeSubscription(api);
    const path = `/v1/subscriptions/${id}`;
    const answers = await Promise.all([
      api.call("POST", `${path}/terminate`),
      api.call("POST", `${path}/terminate`),
      api.call("POST", `${path}/suspend`),
      api.call("PATCH", path, { status: "canceled" }),
    ]);
    expect(await count(answers)).toEqual({ "200": 4 });
    const { invoices } = await api.get(`/v1/invoices?subscription_id=${id}`);
    expect(invoices.length).toBeLessThanOrEqual(2);
    const numbers = invoices.map((one: { number: string }) => one.number);
    expect(new Set(numbers).size).toBe(numbers.length);
  }
});

test("a process whose clock is behind ends nothing before it began", async () => {
  const clock = { now: () => new Date(app.context.clock.now().getTime() - 60_000) };
  const late = new Client(appWith({ clock }), own);
  for (const status of ["terminated", "canceled", "suspended"]) {
    const { id, started_at } = await makeSubscription(prompt);
    const answer = await late.call("PATCH", `/v1/subscriptions/${id}`, { status });
    expect([answer.status, answer.body.subscription.status]).toEqual([200, status]);
    const { terminated_at } = answer.body.subscription;
    if (terminated_at !== null) expect(terminated_at).toBe(started_at);
    const back = await late.call("PATCH", `/v1/subscriptions/${id}`, { status: "active" });
    expect(back.body.subscription.current_period_start >= started_at).toBe(true);
  }
});
