// Paging while the list grows: every row that was there is seen once, and cursors stay honest.

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sql } from "../../../src/store/db/sql.ts";
import { type Json, sharedApp } from "../../support/app.ts";
import { type Client, newProject } from "../../support/client.ts";
import {
  code,
  makeAddOn,
  makeCustomer,
  makeMetric,
  makePlan,
  makeSubscription,
  paymentOf,
} from "../../support/records.ts";
import { expectError } from "../../support/shapes.ts";

const app = await sharedApp();

type List = {
  readonly path: string;
  readonly key: string;
  /** Makes one more row of the list. */
  readonly add: (api: Client) => Promise<unknown>;
};

async function applyAddOn(api: Client): Promise<Json> {
  const { add_ons } = await api.get("/v1/addons");
  const { customers } = await api.get("/v1/customers?limit=1");
  const customer_id = customers[0].id;
  return (await api.post(`/v1/addons/${add_ons[0].id}/apply`, { customer_id })).applied_add_on;
}

async function pay(api: Client): Promise<unknown> {
  const { invoice_id, amount_cents, currency } = await applyAddOn(api);
  const invoice = { id: invoice_id, total_cents: amount_cents, currency };
  return api.post("/v1/payments", paymentOf(invoice));
}

const LISTS: List[] = [
  { path: "/v1/invoices?", key: "invoices", add: applyAddOn },
  { path: "/v1/payments?", key: "payments", add: pay },
  {
    path: "/v1/billing-events?event_type=customer.created&",
    key: "billing_events",
    add: makeCustomer,
  },
  { path: "/v1/customers?", key: "customers", add: makeCustomer },
  { path: "/v1/customers?search=acme&", key: "customers", add: makeCustomer },
  { path: "/v1/subscriptions?", key: "subscriptions", add: makeSubscription },
  { path: "/v1/plans?", key: "plans", add: makePlan },
];

async function projectWith(list: List, rows: number): Promise<Client> {
  const api = await newProject(app);
  await makeAddOn(api);
  await makeCustomer(api);
  for (let i = 0; i < rows; i++) await list.add(api);
  return api;
}

async function idsOf(api: Client, list: List, query = "all=1"): Promise<string[]> {
  const page = await api.get(`${list.path}${query}`);
  return page[list.key].map((row: Json) => row.id);
}

describe.each(LISTS)("$path by cursor", (list) => {
  test("every row that was there is seen once, in order, however many come in meanwhile", async () => {
    const api = await projectWith(list, 7);
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.boolean(), { minLength: 9, maxLength: 9 }),
      async (limit, grow) => {
        const before = await idsOf(api, list);
        const seen: string[] = [];
        let cursor: string | null = null;
        let pages = 0;
        do {
          const from: string = cursor === null ? "" : `&cursor=${cursor}`;
          const page: Json = await api.get(`${list.path}limit=${limit}${from}`);
          seen.push(...page[list.key].map((row: Json) => row.id));
          expect(page.has_more).toBe(page.cursor !== null);
          cursor = page.cursor;
          if (grow[pages++]) await list.add(api);
        } while (cursor !== null);
        expect(seen).toEqual(before);
      },
    );
    await fc.assert(property, { numRuns: 4, seed: 7 });
  });
});

describe.each(LISTS)("$path by offset", (list) => {
  test("no row is missed; one that slides to the next page is the only kind seen twice", async () => {
    const api = await projectWith(list, 6);
    const before = await idsOf(api, list);
    const seen: string[] = [];
    for (let offset = 0; offset < before.length + 3; offset += 2) {
      seen.push(...(await idsOf(api, list, `limit=2&offset=${offset}`)));
      if (offset === 2) await list.add(api);
    }
    expect(seen).toEqual(expect.arrayContaining(before));
    expect(seen.length - new Set(seen).size).toBeLessThanOrEqual(1);
  });

  test("without growth every row is seen exactly once", async () => {
    const api = await projectWith(list, 5);
    const before = await idsOf(api, list);
    const seen: string[] = [];
    for (let offset = 0; offset <= before.length; offset += 2) {
      seen.push(...(await idsOf(api, list, `limit=2&offset=${offset}`)));
    }
    expect(seen).toEqual(before);
  });

  test("count=1 adds the number of all rows, and only then is it there", async () => {
    const api = await projectWith(list, 3);
    const all = await idsOf(api, list);
    const counted = await api.get(`${list.path}limit=1&count=1`);
    expect(counted.total_count).toBe(all.length);
    expect(await api.get(`${list.path}limit=1`)).not.toHaveProperty("total_count");
  });
});

test("usage events are paged by cursor too", async () => {
  const api = await newProject(app);
  const metric = await makeMetric(api, { aggregation_type: "count", field_name: null });
  const { id } = await makeSubscription(api);
  const event = () => ({ transaction_id: code("t"), subscription_id: id, code: metric.code });
  await api.post("/v1/events/batch", { events: Array.from({ length: 7 }, event) });
  const list = { path: `/v1/events?subscription_id=${id}&`, key: "events", add: makeCustomer };
  const rows = (await api.get(`${list.path}all=1`)).events.map((row: Json) => row.transaction_id);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const from: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page: Json = await api.get(`${list.path}limit=3${from}`);
    seen.push(...page.events.map((row: Json) => row.transaction_id));
    cursor = page.cursor;
  } while (cursor !== null);
  expect(seen).toEqual(rows);
  expect(new Set(seen).size).toBe(7);
});

test("events of all subscriptions come by subscription, each newest first, and each once", async () => {
  const api = await newProject(app);
  const counted = { aggregation_type: "count", field_name: null };
  const metrics = [await makeMetric(api, counted), await makeMetric(api, counted)];
  const seconds = (n: number) => new Date(Date.parse("2026-01-01T00:00:00Z") + n * 1_000);
  const sent: Json[] = [];
  // Nobody uses the second one; events of one instant are in it too.
  for (const [i, each] of [5, 0, 3, 1].entries()) {
    const { id } = await makeSubscription(api);
    for (let n = 0; n < each; n++) {
      const metric = metrics[n % 2] as Json;
      const timestamp = seconds(Math.floor(n / 2) + i).toISOString();
      const event = { transaction_id: randomUUID(), subscription_id: id, code: metric.code };
      sent.push({ ...event, timestamp });
    }
  }
  await api.post("/v1/events/batch", { events: sent });
  const place = ({ subscription_id, timestamp, transaction_id }: Json) =>
    [subscription_id, 9e15 - Date.parse(timestamp), ...descending(transaction_id)].join(" ");
  const inOrder = (events: Json[]) =>
    events.toSorted((a, b) => (place(a) < place(b) ? -1 : 1)).map((one) => one.transaction_id);
  for (const limit of [1, 2, 3, 4, 100]) {
    expect([limit, await walk(api, `limit=${limit}`)]).toEqual([limit, inOrder(sent)]);
  }
  const code = metrics[1]?.code;
  const ofCode = sent.filter((event) => event.code === code);
  expect(await walk(api, `limit=1&code=${code}`)).toEqual(inOrder(ofCode));
  const from = seconds(3).toISOString();
  const late = sent.filter((event) => event.timestamp >= from);
  expect(await walk(api, `limit=2&from=${from}`)).toEqual(inOrder(late));
  for (const query of ["offset=1", "count=1"]) {
    expectError(await api.call("GET", `/v1/events?${query}`), 422, "validation_error");
  }
});

/** Turns the order of a UUID's text around. */
function descending(uuid: string): string[] {
  return [...uuid].map((digit) =>
    digit === "-" ? digit : (15 - Number.parseInt(digit, 16)).toString(16),
  );
}

async function walk(api: Client, query: string): Promise<string[]> {
  const seen: string[] = [];
  let cursor = "";
  for (;;) {
    const page: Json = await api.get(`/v1/events?${query}${cursor}`);
    seen.push(...page.events.map((row: Json) => row.transaction_id));
    if (!page.has_more) return seen;
    cursor = `&cursor=${page.cursor}`;
  }
}

test("events of a name are those of the subscription that had it when the list began", async () => {
  const api = await newProject(app);
  const metric = await makeMetric(api, { aggregation_type: "count", field_name: null });
  const plan = await makePlan(api);
  const customer_id = (await makeCustomer(api)).id;
  const named = { external_id: "s", customer_id, plan_id: plan.id };
  const { id } = await makeSubscription(api, named);
  const events = Array.from({ length: 5 }, () => {
    return { transaction_id: code("t"), subscription_id: id, code: metric.code };
  });
  await api.post("/v1/events/batch", { events });
  const path = "/v1/events?subscription_id=ext:s&limit=2";
  const first = await api.get(path);
  await api.ok("POST", `/v1/subscriptions/${id}/terminate`);
  await makeSubscription(api, named);
  const second = await api.get(`${path}&cursor=${first.cursor}`);
  const third = await api.get(`${path}&cursor=${second.cursor}`);
  const rows = [first, second, third].flatMap((page: Json) => page.events);
  expect(new Set(rows.map((row: Json) => row.transaction_id)).size).toBe(5);
  expect((await api.get(path)).events).toEqual([]);
});

test("a cursor goes on from where it was made, with any page size", async () => {
  const list = LISTS[0] as List;
  const api = await projectWith(list, 6);
  const all = await idsOf(api, list);
  const { cursor } = await api.get("/v1/invoices?limit=2");
  expect(await idsOf(api, list, `cursor=${cursor}`)).toEqual(all.slice(2));
  expect(await idsOf(api, list, `cursor=${cursor}&all=1`)).toEqual(all.slice(2));
});

test("a cursor is bound to its filters, and refuses an offset beside it", async () => {
  const list = LISTS[0] as List;
  const api = await projectWith(list, 3);
  const { cursor } = await api.get("/v1/invoices?limit=1&status=outstanding");
  const follow = (query: string) => api.call("GET", `/v1/invoices?cursor=${cursor}&${query}`);
  expect((await follow("status=outstanding")).status).toBe(200);
  for (const query of ["status=overdue", "", "status=outstanding&offset=0"]) {
    expectError(await follow(query), 422, "validation_error");
  }
});

test("the largest page is 1000, however it is asked for", async () => {
  const api = await newProject(app);
  const metric = await makeMetric(api, { aggregation_type: "count", field_name: null });
  const plan = await makePlan(api);
  const { id } = await makeSubscription(api, { plan_id: plan.id });
  const events = Array.from({ length: 1_005 }, () => ({
    transaction_id: code("t"),
    subscription_id: id,
    code: metric.code,
  }));
  await api.post("/v1/events/batch", { events });
  for (const query of ["all=1", "limit=1000", "limit=1001", "limit=999999999", "all=1&limit=5"]) {
    const page = await api.get(`/v1/events?subscription_id=${id}&${query}`);
    expect([query, page.events.length, page.has_more]).toEqual([query, 1_000, true]);
  }
  const rest = await api.get(`/v1/events?subscription_id=${id}&all=1&offset=1000`);
  expect(rest.events).toHaveLength(5);
});

test("an offset beyond a million is refused rather than counted through", async () => {
  const answer = await app.call("GET", "/v1/customers?offset=1000001");
  expectError(answer, 422, "validation_error");
  expect((await app.call("GET", "/v1/customers?offset=1000000")).status).toBe(200);
});

test("count=1 is exact up to 100,000; of more it says that there are at least so many", async () => {
  const api = await newProject(app);
  const counted = async () => {
    const page = await api.get("/v1/billing-events?event_type=many&limit=1&count=1");
    const { total_count, total_at_least } = page;
    return { total_count, total_at_least };
  };
  const addEntries = (from: number, to: number) =>
    app.context.db.run(sql`
      insert into billing_events (project_id, position, id, resource_type, resource_id, event_type,
                                  payload, created_at, reached)
      select ${api.project}, 1000 + n, gen_random_uuid(), 'many', gen_random_uuid(), 'many', '{}',
             now(), now()
        from generate_series(${from}::integer, ${to}::integer) n`);
  await addEntries(1, 100_000);
  expect(await counted()).toEqual({ total_count: 100_000, total_at_least: undefined });
  await addEntries(100_001, 100_001);
  expect(await counted()).toEqual({ total_count: null, total_at_least: 100_000 });
});
