// The tools show what pricing added to plans, subscriptions and fees.

import { beforeAll, expect, test } from "vitest";
import { type App, type Body, type Json, sharedApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

async function call(project: Sandbox, name: string, args: Body): Promise<Json> {
  const params = { name, arguments: args };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return (await project.post("/v1/mcp", message)).result;
}

test("what pricing added is in the answers and in the schemas of the tools", async () => {
  const project = await sandbox(app, "2026-01-17T14:00");
  const metric = await project.metric();
  const tiers = [
    { up_to: "100", amount: "0.10", flat_amount: "5" },
    { up_to: null, amount: "1" },
  ];
  const graduated = { ...perUnit(metric, "1"), charge_model: "graduated", properties: { tiers } };
  const terms = { minimum_cents: 500, base_timing: "advance", trial_days: 14 };
  const charges = [{ ...graduated, name: "Calls" }];
  const plan = await project.plan({ code: "scale", ...terms, charges });
  const run = { billing_time: "anniversary", ends_at: "2026-06-01", external_id: "acme" };
  const subscription = await project.subscribe({ plan, ...run });
  await project.travelTo("2026-02-01");
  await project.use(subscription, metric, "120");
  await project.travelTo("2026-02-28");
  const shown = (await call(project, "get_plan", { code: "scale" })).structuredContent.plan;
  expect(shown).toMatchObject({ ...terms, charges: [{ name: "Calls", properties: { tiers } }] });
  const found = await call(project, "get_subscription", { external_id: "acme" });
  expect(found.structuredContent.subscription).toMatchObject({
    anchor_date: "2026-01-31",
    trial_ends_at: "2026-01-31T00:00:00.000Z",
    ends_at: "2026-06-01T00:00:00.000Z",
    scheduled_plan_id: null,
    overrides: null,
  });
  const [invoice] = await project.invoices();
  const billed = await call(project, "get_invoice", { id: invoice?.id });
  const [fee] = billed.structuredContent.invoice.fees;
  expect(fee.properties).toMatchObject({ name: "Calls", charge_model: "graduated" });
  expect(fee.properties.tiers.map((tier: Json) => tier.precise_amount)).toEqual(["1500", "2000"]);
  const pending = await call(project, "list_subscriptions", { status: "pending" });
  expect(pending.structuredContent.subscriptions).toEqual([]);
});
