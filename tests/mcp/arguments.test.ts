// The arguments of tools: described one by one, held to their schemas, and refused with a hint
// where there is no such one.

import { Ajv } from "ajv";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../support/app.ts";
import { perUnit, sandbox } from "../support/given.ts";
import { sample } from "../support/samples.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

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

test("every list tool takes the paging of lists", async () => {
  const { tools } = await ask("tools/list");
  const lists = tools.filter(({ name }: Json) => name.startsWith("list_"));
  expect(lists).toHaveLength(6);
  for (const { name, inputSchema } of lists) {
    const paging = ["limit", "offset", "all", "count", "cursor"];
    expect([name, ...Object.keys(inputSchema.properties)]).toEqual(expect.arrayContaining(paging));
  }
});

test.each([
  ["list_customers", { name: "Acme" }, /^There is no argument name\. There are .*search/],
  ["list_invoices", { staus: "overdue" }, /^There is no argument staus\. Did you mean status\?$/],
  ["get_customer", { id: "x", emial: 1 }, /^There is no argument emial\./],
  ["record_payment", { dry_run: true, amount: 5 }, /^There is no argument amount\./],
])("%s %j is refused with a hint", async (name, given, message) => {
  const { isError, content } = await ask("tools/call", { name, arguments: given });
  const { error } = JSON.parse(content[0].text);
  expect([isError, error.code]).toEqual([true, "validation_error"]);
  expect(error.message).toMatch(message);
});

/** What language models write where something else is asked for, and whatever else there is. */
const anyValue = fc.oneof(
  fc.constantFrom("true", "false", "yes", "1", 1, 0, -1, 1.5, null, true, "", [], {}),
  fc.constantFrom("null", "undefined", "0197a2b4", "2026-13-01", "EURO", [1], { id: "x" }),
  ...[fc.string(), fc.integer(), fc.array(fc.string()), fc.dictionary(fc.string(), fc.integer())],
);

/** A reader of JSON Schema that is not ours to begin with: it knows what was promised. */
const reader = new Ajv({ strict: false, allErrors: true, formats: { uuid: true, date: true } });
reader.addFormat("date-time", true);

test("no tool takes what its input schema does not allow", async () => {
  const { tools } = await ask("tools/list");
  for (const { name, inputSchema } of tools) {
    const fits = reader.compile(inputSchema);
    const currency = inputSchema.required?.includes("currency") ? { currency: "USD" } : {};
    const good = { ...(sample(inputSchema) as Json), ...currency };
    expect(fits(good), name).toBe(true);
    const fields = Object.keys(inputSchema.properties);
    const wrong = fc
      .tuple(fc.constantFrom(...fields), anyValue)
      .filter(([field, value]) => !fits({ ...good, [field]: value }));
    const property = fc.asyncProperty(wrong, async ([field, value]) => {
      const given = { ...good, [field]: value };
      const { isError, content } = await ask("tools/call", { name, arguments: given });
      const { error } = JSON.parse(content[0].text);
      expect([isError, error.code], `${name} ${JSON.stringify(given)}`).toEqual([
        true,
        "validation_error",
      ]);
      const named = error.details.map((detail: Json) => detail.field.split(/[.[]/)[0]);
      expect(named, JSON.stringify(error)).toContain(field);
    });
    await fc.assert(property, { numRuns: 30 });
  }
});

test("a dry run that is not clearly asked for records nothing, and says so", async () => {
  const project = await sandbox(app, "2026-01-01");
  await project.customer({ external_id: "payer" });
  const lines = [{ name: "Setup", unit_amount_cents: 1000 }];
  const made = { customer_id: "ext:payer", currency: "USD", lines };
  const { invoice } = await project.ok("POST", "/v1/invoices", made);
  const payment = {
    invoice_id: invoice.id,
    amount_cents: 100,
    currency: "USD",
    provider: "bank",
  };
  for (const [i, dry_run] of ["true", "false", "yes", "", 1, 0, null, {}, [true]].entries()) {
    const given = { ...payment, provider_payment_id: `p${i}`, dry_run };
    const params = { name: "record_payment", arguments: given };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const { result } = await project.ok("POST", "/v1/mcp", message);
    const { error } = JSON.parse(result.content[0].text);
    expect([result.isError, error.message]).toEqual([true, "dry_run must be a boolean."]);
  }
  expect((await project.get("/v1/payments?count=1")).total_count).toBe(0);
  expect((await project.invoice(invoice.id)).amount_due_cents).toBe(1000);
});

test("null is no way to leave a filter out, and a page has no more than 1000 rows", async () => {
  const given = { customer_id: null };
  const refused = await ask("tools/call", { name: "list_invoices", arguments: given });
  expect(refused.isError).toBe(true);
  const page = await ask("tools/call", { name: "list_payments", arguments: { limit: 5000 } });
  expect(page.isError).toBe(false);
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
