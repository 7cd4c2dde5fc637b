// A customer's record, money and portal, a subscription's properties, one event: by command.

import { afterEach, beforeEach, expect, test } from "vitest";
import { makeMetric, makePlan, makeSubscription } from "../../support/records.ts";
import { type Shell, sharedShell } from "../support.ts";

let shell: Shell;
beforeEach(async () => {
  shell = await sharedShell();
});
afterEach(() => shell.close());

async function ok(...args: string[]): Promise<string> {
  const ran = await shell.run(args);
  expect(ran.code, `${args.join(" ")}\n${ran.err}`).toBe(0);
  return ran.out;
}

const customer = async () => (await shell.app.get("/v1/customers/ext:acme")).customer;

async function makeAcme(): Promise<string> {
  return (await shell.app.post("/v1/customers", { external_id: "acme", name: "Acme" })).customer.id;
}

test("a customer is made and changed field by field", async () => {
  await shell.app.post("/v1/taxes", { code: "vat", name: "VAT", percent: "19" });
  await ok(
    ...["customers", "create", "--external-id", "acme", "--name", "Acme"],
    ...["--country", "DE", "--tax-id", "DE136695976", "--tax-exemption", "reverse_charge"],
  );
  expect(await customer()).toMatchObject({ country: "DE", tax_exemption: "reverse_charge" });
  await ok(
    ...["customers", "update", "acme", "--email", "b@acme.test", "--tax-exemption", "none"],
    ...["--tax-codes", "vat", "--net-payment-days", "45", "--metadata", "tier=1"],
  );
  expect(await customer()).toMatchObject({
    name: "Acme",
    email: "b@acme.test",
    country: "DE",
    tax_exemption: null,
    tax_codes: ["vat"],
    net_payment_days: 45,
    metadata: { tier: "1" },
  });
  const nothing = await shell.run(["customers", "update", "acme"]);
  expect([nothing.code, nothing.err]).toEqual([64, expect.stringContaining("What should change?")]);
});

test("a customer's money is shown by currency", async () => {
  await shell.app.post("/v1/customers", { external_id: "saver", name: "Saver" });
  expect(await ok("credits", "saver")).toBe("None.\n");
  await ok("grants", "add", "--customer", "saver", "--amount", "1500", "--kind", "free");
  expect(await ok("credits", "saver")).toMatch(/^CURRENCY +BALANCE[\s\S]*USD +15\.00 USD/);
});

test("the portal's link is plain where it is open and signed where it must be", async () => {
  const id = await makeAcme();
  const plain = `${shell.url}/portal/${id}\n`;
  expect(await ok("portal", "acme")).toBe(plain);
  expect(await ok("portal", "acme", "--signed")).toMatch(/\/portal\/\S+\?access=\S+\n$/);
  await ok("settings", "set", "portal_access=signed");
  const link = JSON.parse(await ok("portal", "ext:acme", "--days", "2", "--json"));
  expect(link.url).toContain("?access=");
  const days = (Date.parse(link.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(1.9);
  expect(days).toBeLessThanOrEqual(2);
  await ok("settings", "set", "portal_access=open");
  expect(await ok("portal", "acme")).toBe(plain);
  const nobody = await shell.run(["portal", "nobody"]);
  expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining("no customer nobody")]);
});

test("a subscription's properties and end are changed, and an event is sent to it", async () => {
  const { id: metric } = await makeMetric(shell.app, { code: "calls" });
  const charges = [{ charge_model: "standard", billable_metric_id: metric, rate: "0.5" }];
  const plan = await makePlan(shell.app, { charges });
  const customer_id = await makeAcme();
  const made = { plan_id: plan.id, customer_id, external_id: "acme-1", properties: { seats: 1 } };
  await makeSubscription(shell.app, made);
  const on = ["subscriptions", "update", "acme-1"];
  await ok(...on, "--property", "seats=8", "--property", "team=x", "--ends-at", "2099-01-01");
  const read = async () => (await shell.app.get("/v1/subscriptions/ext:acme-1")).subscription;
  expect(JSON.parse((await read()).properties)).toEqual({ seats: 8, team: "x" });
  expect((await read()).ends_at).toBe("2099-01-01T00:00:00.000Z");
  await ok(...on, "--ends-at", "never");
  expect((await read()).ends_at).toBe(null);
  expect((await shell.run(on)).code).toBe(64);

  const send = ["events", "send", "--subscription", "acme-1", "--code", "calls"];
  const amount = ["--property", "value=3", "--value", "3"];
  expect(await ok(...send, ...amount, "--transaction-id", "t1")).toBe("t1 is stored.\n");
  expect(await ok(...send, ...amount, "--transaction-id", "t1")).toBe("t1 was known before.\n");
  const { transaction_id } = JSON.parse(await ok(...send, ...amount, "--json"));
  expect(await ok("events", "get", transaction_id)).toContain("billable");
  const late = await shell.run([...send, ...amount, "--timestamp", "2020-01-01"]);
  expect([late.code, late.err]).toEqual([0, expect.stringContaining("before_start")]);
  const other = await shell.run([...send, "--property", "value=4", "--transaction-id", "t1"]);
  expect([other.code, other.out]).toEqual([0, "t1 was known before.\n"]);
  expect(other.err).toMatch(/^It was sent before with other content, and that counts\./);
  const rounded = await shell.run([...send, "--property", "order:=9007199254740993"]);
  expect([rounded.code, rounded.err]).toEqual([64, expect.stringContaining("cannot be kept")]);
});

test("the figures are shown by currency, and a project is made", async () => {
  await makeSubscription(shell.app, { plan_id: (await makePlan(shell.app)).id });
  expect(await ok("analytics")).toMatch(/^1 active subscription, 0 invoices not paid yet\.\n/);
  expect(JSON.parse(await ok("analytics", "--json")).active_subscriptions).toBe(1);
  const words = await ok("projects", "create", "trial", "--sandbox", "--currency", "EUR");
  expect(words).toBe("main/trial is there (sandbox). Use it with --project main/trial\n");
  expect(await ok("projects", "list")).toMatch(/main\/trial +trial +sandbox +EUR/);
  expect(await ok("customers", "list", "--project", "main/trial")).toBe("None.\n");
});
