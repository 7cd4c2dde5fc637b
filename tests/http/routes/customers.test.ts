// Customers are found by the beginnings of words of their name, email and external_id.

import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../../src/store/db/sql.ts";
import { type App, startApp } from "../../support/app.ts";
import { countOnNodes, onClient } from "../../support/database.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";
import { until } from "../../support/processes.ts";
import { expectError } from "../../support/shapes.ts";

let app: App;
let project: Sandbox;
let short_id: string;
beforeAll(async () => {
  app = await startApp();
  project = await sandbox(app, "2026-01-01");
  const customers = [
    { external_id: "ORG-17", name: "Acme Ltd", email: "Billing@Acme.test" },
    { external_id: "cust_zzzz", name: "Söhne & Müller", email: "" },
    { external_id: "org_18", name: "Globex (Acme group)", email: "pay@globex.test" },
  ];
  for (const customer of customers) await project.post("/v1/customers", customer);
  ({ short_id } = (await project.get("/v1/customers/ext:ORG-17")).customer);
  const other = await sandbox(app, "2026-01-01");
  await other.post("/v1/customers", { external_id: "x", name: "Acme elsewhere" });
});
afterAll(() => app.close());

async function found(search: string, more = ""): Promise<string[]> {
  const answer = await project.get(`/v1/customers?search=${encodeURIComponent(search)}${more}`);
  return answer.customers.map((customer: { external_id: string }) => customer.external_id);
}

test.each([
  ["acme", ["org_18", "ORG-17"]],
  ["ACM", ["org_18", "ORG-17"]],
  ["lt ac", ["ORG-17"]],
  ["billing@acme.test", ["ORG-17"]],
  ["org-1", ["org_18", "ORG-17"]],
  ["org_18", ["org_18"]],
  ["müll", ["cust_zzzz"]],
  ["cust_zzzz", ["cust_zzzz"]],
  ["cme", []],
  ["acme globex initech", []],
  ["%", []],
  [" - ", []],
])("%j finds %j", async (search, expected) => {
  expect(await found(search)).toEqual(expected);
});

test("a short_id is found, in any case", async () => {
  expect(await found(short_id)).toContain("ORG-17");
  expect(await found(` ${short_id.toUpperCase()} `)).toContain("ORG-17");
});

test("a search pages and counts as the list does", async () => {
  const first = await project.get("/v1/customers?search=acme&limit=1&count=1");
  expect(first).toMatchObject({ has_more: true, total_count: 2 });
  expect(await found("acme", "&limit=1&offset=1")).toEqual(["ORG-17"]);
});

test("a customer is found by its new name and no more by its old one", async () => {
  await project.post("/v1/customers", { external_id: "renamed", name: "Before Same" });
  await project.ok("PATCH", "/v1/customers/ext:renamed", { name: "After Same" });
  expect(await found("before")).toEqual([]);
  expect(await found("after")).toEqual(["renamed"]);
  expect(await found("same ren")).toEqual(["renamed"]);
});

test("a search without text, too long, or of too many words is refused", async () => {
  for (const search of ["", "x".repeat(101), "a b c d e f g h i j k"]) {
    const { status, body } = await project.call("GET", `/v1/customers?search=${search}`);
    expect([status, body.error.details[0].field]).toEqual([422, "search"]);
  }
});

test("with an external_id the search is asked of that customer too", async () => {
  const one = (search: string) =>
    project.call("GET", `/v1/customers?external_id=ORG-17&search=${search}`);
  expect((await one("acme")).body.customer.external_id).toBe("ORG-17");
  expect((await one("globex")).status).toBe(404);
});

test("a tax number that is taken away meanwhile is missed, and no bug", async () => {
  const tax = { tax_id: "DE123456789" };
  const { id } = (await app.post("/v1/customers", { external_id: "meanwhile", name: "M", ...tax }))
    .customer;
  const url = `/v1/customers/${id}`;
  const answer = await onClient(app.connection, async (client) => {
    await client.query("begin");
    await client.query("update customers set tax_id = '' where id = $1", [id]);
    const patching = app.call("PATCH", url, { tax_exemption: "reverse_charge" });
    const waiting = sql`
      select count(*) as count
        from pg_stat_activity
       where wait_event_type = 'Lock' and query like '%from customers%'`;
    await until(async () => (await countOnNodes(app.connection, waiting)) > 0, 5_000);
    await client.query("commit");
    return patching;
  });
  expectError(answer, 422, "validation_error");
  expect(answer.body.error.details[0].field).toBe("tax_id");
});
