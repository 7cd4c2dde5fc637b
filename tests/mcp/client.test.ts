// The official MCP client over Streamable HTTP, against a server on a real port.

import type { AddressInfo } from "node:net";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";

let app: App;
let project: Sandbox;
let client: Client;

beforeAll(async () => {
  app = await startApp();
  project = await sandbox(app, "2025-01-10");
  await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.fastify.server.address() as AddressInfo;
  const headers = {
    authorization: `Bearer ${app.profile.token}`,
    "x-project-id": project.project_id,
  };
  const url = new URL(`http://127.0.0.1:${port}/v1/mcp`);
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  client = new Client({ name: "tests", version: "1" });
  // The SDK's own types do not agree with one another under exactOptionalPropertyTypes.
  await client.connect(transport as unknown as Parameters<Client["connect"]>[0]);
});
afterAll(async () => {
  await client.close();
  await app.close();
});

test("it connects, lists tools, calls them, and finds every result as its schema says", async () => {
  expect(client.getServerVersion()).toMatchObject({ name: "dues" });
  expect(client.getInstructions()).toContain("_cents");
  await client.ping();
  const { tools } = await client.listTools();
  expect(tools).toHaveLength(15);

  const metric = await project.metric();
  const plan = await project.plan({ amount_cents: 900, charges: [perUnit(metric, "0.5")] });
  const customer = await project.customer();
  const subscription = await project.subscribe({ plan, customer });
  await project.travelTo("2025-02-01");
  const [invoice] = await project.invoices();
  const calls: [string, Record<string, unknown>][] = [
    ["list_customers", { limit: 5 }],
    ["list_subscriptions", { all: true }],
    ["list_invoices", {}],
    ["list_plans", {}],
    ["get_customer", { id: customer.id }],
    ["get_subscription", { id: subscription.id }],
    ["get_invoice", { number: invoice.number }],
    ["get_plan", { code: plan.code }],
    ["list_credit_notes", { customer_id: customer.id }],
    ["get_wallet", { customer_id: customer.id }],
  ];
  for (const dry_run of [true, false]) {
    const { id: invoice_id, currency, amount_due_cents: amount_cents } = invoice;
    const reference = { provider: "bank", provider_payment_id: "one" };
    calls.push(["record_payment", { invoice_id, currency, amount_cents, ...reference, dry_run }]);
  }
  calls.push(["list_payments", {}]);
  for (const [name, args] of calls) {
    // The client itself checks structuredContent against the tool's output schema.
    const result = await client.callTool({ name, arguments: args });
    expect([name, result.isError]).toEqual([name, false]);
  }
  expect((await project.invoice(invoice.id)).status).toBe("succeeded");
});

test("a failing tool is a result, an unknown one an error", async () => {
  const missing = { name: "get_customer", arguments: { external_id: "nobody" } };
  expect((await client.callTool(missing)).isError).toBe(true);
  await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toThrow(/-32602/);
});
