// The arguments of tools become parts of paths and queries of routes: whatever stands in them, it
// is a name that nobody has, and never the way to another route or another record.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { type App, type Body, type Json, sharedApp } from "../support/app.ts";
import { type Sandbox, sandbox } from "../support/given.ts";

const HOSTILE = [
  ...["..", ".", "../keys", "../../v1/keys", "%2e%2e/keys?x=1#", "..%2fkeys", "a/b", "/v1/keys"],
  ...["keys", "?all=1", "#", "x?all=1&limit=1000", "ext:", "ext:../keys", "//evil.test/", "%00"],
  ...["\\..\\keys", ":id", "*", "%", "' or '1'='1", "__proto__", "constructor", "toString"],
];

let app: App;
let project: Sandbox;
beforeAll(async () => {
  app = await sharedApp();
  project = await sandbox(app, "2026-01-10");
  await project.subscribe({ plan: await project.plan({ amount_cents: 900 }) });
});

async function call(name: string, args: Body): Promise<Json> {
  const params = { name, arguments: args };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const { status, body } = await project.call("POST", "/v1/mcp", message);
  expect(status).toBe(200);
  return body.result;
}

/** The refusal without the number of the request. */
async function refusalOf(name: string, args: Body): Promise<Json> {
  const { isError, content } = await call(name, args);
  expect([name, args, isError]).toEqual([name, args, true]);
  const { request_id: _, ...refusal } = JSON.parse(content[0].text).error;
  return refusal;
}

const WHOLE_NAMES: [string, string][] = [
  ["get_customer", "id"],
  ["get_customer", "external_id"],
  ["get_subscription", "id"],
  ["get_subscription", "external_id"],
  ["get_invoice", "id"],
  ["get_invoice", "number"],
  ["get_credit_note", "id"],
  ["get_credit_note", "number"],
  ["get_plan", "id"],
  ["get_plan", "code"],
  ["get_wallet", "customer_id"],
  ["get_usage", "subscription_id"],
  ["preview_invoice", "subscription_id"],
];

test.each(WHOLE_NAMES)("%s: a path as %s is as unknown as an id nobody has", async (name, key) => {
  const unknown = await refusalOf(name, { [key]: key === "number" ? "INV-0" : randomUUID() });
  expect(unknown.code).toBe("not_found");
  for (const value of HOSTILE) expect(await refusalOf(name, { [key]: value })).toEqual(unknown);
});

test.each([
  ["list_subscriptions", "customer_id"],
  ["list_subscriptions", "plan_id"],
  ["list_invoices", "customer_id"],
  ["list_invoices", "subscription_id"],
  ["list_payments", "invoice_id"],
  ["list_credit_notes", "invoice_id"],
])("%s: a query as %s adds no other filter and opens no other list", async (name, key) => {
  for (const value of HOSTILE) {
    const over = `/v1/${name.slice("list_".length).replaceAll("_", "-")}`;
    const query = `${key}=${encodeURIComponent(value)}`;
    const { status, body } = await project.call("GET", `${over}?${query}`);
    if (status === 200) {
      expect(Object.values(body)[0]).toEqual([]);
      expect((await call(name, { [key]: value })).structuredContent).toEqual(body);
    } else {
      const { request_id: _, ...refusal } = body.error;
      expect(await refusalOf(name, { [key]: value })).toEqual(refusal);
    }
  }
});

test("a name that looks like a path is found as the name it is", async () => {
  for (const external_id of ["..", "../keys", "%2e%2e/keys?x=1#", "a/b"]) {
    const customer = await project.customer({ external_id });
    const found = await call("get_customer", { external_id });
    expect(found.structuredContent.customer.id).toBe(customer.id);
    const wallet = await call("get_wallet", { customer_id: `ext:${external_id}` });
    expect(wallet.structuredContent).toMatchObject({ wallets: [] });
  }
});
