// Walks the lists of the table of routes: every one has a cursor, which alone leads through all of
// it, and takes the same words for its part and its length.

import type { TSchema } from "typebox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import type { Route } from "../../src/http/route.ts";
import { routeTable } from "../../src/http/table.ts";
import { type Json, startApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { makeEveryRecord } from "../support/every-record.ts";
import { code, makeInvoice, paymentOf } from "../support/records.ts";
import { expectError } from "../support/shapes.ts";

const app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
afterAll(() => app.close());

const table = routeTable(
  app.context,
  { draining: false, schema_version: 0, warnings: [] },
  new Bounds(),
);
const own = new Client(app, { token: app.profile.token, project: app.profile.project_id });

type Shape = { readonly properties?: Readonly<Record<string, TSchema>> } | undefined;

const fieldsOf = (schema: unknown) => Object.keys((schema as Shape)?.properties ?? {});
const lists = table.filter(({ method, reply }) => {
  return method === "GET" && fieldsOf(reply[1]).includes("has_more");
});
const named = lists.map((route) => [`GET ${route.path}`, route] as const);

let records: Readonly<Record<string, string>>;
beforeAll(async () => {
  for (let i = 0; i < 3; i++) records = await makeEveryRecord(own);
  const customer_id = records.customers;
  for (const currency of ["EUR", "JPY", "USD"]) {
    await own.post("/v1/grants", { customer_id, currency, amount_cents: 500, kind: "free" });
  }
  const { event } = await own.get(`/v1/events/${records.events}`);
  const { subscription_id, code: metric } = event;
  const events = [1, 2, 3].map(() => {
    return { transaction_id: code("t"), subscription_id, code: metric, properties: { calls: 1 } };
  });
  await own.post("/v1/events/batch", { events });
  const { payment } = await own.ok("POST", "/v1/payments", paymentOf(await makeInvoice(own)));
  for (const provider_refund_id of ["r1", "r2", "r3"]) {
    await own.post("/v1/refunds", { payment_id: payment.id, amount_cents: 1, provider_refund_id });
  }
  const { organization_id } = app.profile;
  for (const slug of ["one", "two"]) {
    await own.post("/v1/keys", { name: slug, organization_id });
    await own.post("/v1/workspaces", { slug });
    await own.post("/v1/projects", { workspace: slug, slug });
  }
}, 60_000);

/** The list's address, open for more parameters. */
function addressOf({ path }: Route): string {
  const address = path.replace(":id", records.customers ?? "");
  return path === "/v1/events"
    ? `${address}?state=billable&subscription_id=${owner}&`
    : `${address}?`;
}
let owner: string;
beforeAll(async () => {
  owner = (await own.get(`/v1/events/${records.events}`)).event.subscription_id;
});

type Page = { readonly rows: string[]; readonly body: Json };

async function pageOf(route: Route, query: string): Promise<Page> {
  const body = await own.get(`${addressOf(route)}${query}`);
  const list = Object.values<Json>(body).find((value) => Array.isArray(value)) as Json[];
  // When a token was last used changes as the test goes on.
  const rows = list.map(({ last_used_at: _, ...row }: Json) => JSON.stringify(row));
  return { rows, body };
}

test("every list has a cursor, in its parameters and in its answer", () => {
  expect(lists.length).toBeGreaterThan(20);
  for (const { path, query, reply } of lists) {
    const paging = ["limit", "offset", "all", "count", "cursor"];
    expect([path, ...fieldsOf(query)]).toEqual(expect.arrayContaining(paging));
    expect([path, ...fieldsOf(reply[1])]).toEqual(
      expect.arrayContaining(["cursor", "has_more", "total_count"]),
    );
  }
});

test("what answers with a list of records says whether there are more", () => {
  const silent = table.filter(({ id, method, hidden, reply }) => {
    const isList = method === "GET" && id.startsWith("list") && hidden !== true;
    return isList && !fieldsOf(reply[1]).includes("has_more");
  });
  expect(silent.map(({ id }) => id)).toEqual([]);
});

describe.each(named)("%s", (_name, route) => {
  test("pages by cursor, and pages by offset, are the whole list, row by row", async () => {
    const all = await pageOf(route, "all=1&count=1");
    expect(all.rows.length).toBeGreaterThan(1);
    expect([all.body.total_count, all.body.has_more]).toEqual([all.rows.length, false]);
    expect(new Set(all.rows).size).toBe(all.rows.length);
    const seen: string[] = [];
    let cursor = "";
    for (;;) {
      const { rows, body } = await pageOf(route, `limit=1${cursor}`);
      expect(body).not.toHaveProperty("total_count");
      seen.push(...rows);
      if (!body.has_more) break;
      cursor = `&cursor=${body.cursor}`;
    }
    expect(seen).toEqual(all.rows);
    const skipped: string[] = [];
    for (let offset = 0; offset < all.rows.length; offset += 2) {
      const { rows, body } = await pageOf(route, `limit=2&offset=${offset}`);
      expect(body.has_more).toBe(offset + 2 < all.rows.length);
      skipped.push(...rows);
    }
    expect(skipped).toEqual(all.rows);
  });

  test("what is no part of it is refused", async () => {
    const { body } = await pageOf(route, "limit=1");
    const wrong = ["limit=0", "limit=abc", "limit=-1", "limit=1.5", "offset=x", "count=yes"];
    for (const query of [...wrong, "cursor=abc", `cursor=${body.cursor}&offset=1`]) {
      const answer = await own.call("GET", `${addressOf(route)}${query}`);
      expectError(answer, 422, "validation_error");
    }
    expect((await pageOf(route, "limit=5000")).body.has_more).toBe(false);
  });
});

test("lists of what is declared are whole without a limit, others have 10 rows", async () => {
  for (let i = 0; i < 11; i++)
    await own.post("/v1/taxes", { code: `t${i}`, name: "T", percent: "1" });
  expect((await own.get("/v1/taxes")).taxes.length).toBeGreaterThan(10);
  expect((await own.get("/v1/billing-events")).billing_events).toHaveLength(10);
});
