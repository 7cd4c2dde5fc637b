// The arguments of tools: described one by one, and refused with a hint where there is no such one.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { perUnit, sandbox } from "../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

async function ask(method: string, params: object = {}): Promise<Json> {
  return (await app.post("/v1/mcp", { jsonrpc: "2.0", id: 1, method, params })).result;
}

test("every argument has a description, and no tool takes others", async () => {
  const { tools } = await ask("tools/list");
  const undescribed = tools.flatMap((tool: Json) =>
    Object.entries<Json>(tool.inputSchema.properties)
      .filter(([, shape]) => shape.description === undefined)
      .map(([name]) => `${tool.name} ${name}`),
  );
  expect(undescribed).toEqual([]);
  expect(tools.every((tool: Json) => tool.inputSchema.additionalProperties === false)).toBe(true);
});

test.each([
  ["list_customers", { name: "Acme" }, /^There is no argument name\. There are .*search/],
  ["list_invoices", { staus: "overdue" }, /^There is no argument staus\. Did you mean status\?$/],
  ["list_payments", { limit: 5000 }, /^limit must be a whole number from 1 to 1000\.$/],
  ["get_customer", { id: "x", emial: 1 }, /^There is no argument emial\./],
  ["record_payment", { dry_run: true, amount: 5 }, /^There is no argument amount\./],
])("%s %j is refused with a hint", async (name, given, message) => {
  const { isError, content } = await ask("tools/call", { name, arguments: given });
  const { error } = JSON.parse(content[0].text);
  expect([isError, error.code]).toEqual([true, "validation_error"]);
  expect(error.message).toMatch(message);
});

test("usage and preview are those of HTTP", async () => {
  const project = await sandbox(app, "2026-01-01");
  const metric = await project.metric();
  const plan = await project.plan({ amount_cents: 900, charges: [perUnit(metric, "0.5")] });
  const subscription = await project.subscribe({ plan, external_id: "acme-pro" });
  const run = async (name: string, given: object) => {
    const params = { name, arguments: given };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    return (await project.ok("POST", "/v1/mcp", message)).result;
  };
  const used = await run("get_usage", { subscription_id: "ext:acme-pro" });
  const url = `/v1/subscriptions/${subscription.id}/usage`;
  expect(used.structuredContent).toEqual(await project.get(url));
  const body = { subscription_id: "ext:acme-pro", at: "period_end" };
  const previewed = await run("preview_invoice", body);
  expect(previewed.structuredContent).toEqual(
    await project.ok("POST", "/v1/invoices/preview", body),
  );
  expect(previewed.structuredContent.invoice_preview.total_cents).toBe(900);
  expect((await run("get_usage", {})).isError).toBe(true);
});

test("GET has a configuration for agents, with both headers", async () => {
  const { body } = await app.call("GET", "/v1/mcp");
  const { type, url, headers } = body.client_config.mcpServers.dues;
  expect([type, url]).toEqual(["http", body.endpoint]);
  const { project_id } = app.profile;
  expect(headers).toEqual({ Authorization: "Bearer <API_KEY>", "X-Project-Id": project_id });
});
