// A day with the tool: people's names for things go in, tables and JSON come out.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Shell, startShell } from "./support.ts";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
  const file = shell.file(
    "service.yaml",
    `version: "1"
org: acme
workspace: main
project: test
catalog: [{code: seat, name: Seat, amount_cents: 1000}]
metrics: [{code: calls, name: Calls, aggregation_type: sum, field_name: n}]
addons: [{code: setup, name: Setup, amount_cents: 5000}]
plans:
  - code: pro
    name: Pro
    interval: monthly
    amount_cents: 3100
    currency: USD
    charges:
      - {type: standard, metric_ref: calls, rate: "0.25"}
      - {type: flat_fee, catalog_ref: seat, quantity_from: subscription_property.seats}
`,
  );
  await ok("sync", file);
});
afterAll(() => shell.close());

async function ok(...args: string[]): Promise<string> {
  const ran = await shell.run(args);
  expect(ran.code, `${args.join(" ")}\n${ran.err}`).toBe(0);
  return ran.out;
}

async function json(...args: string[]) {
  return JSON.parse(await ok(...args, "--json"));
}

test("a customer, from the first day to a paid bill", async () => {
  await ok("customers", "create", "--external-id", "acme", "--name", "Acme Ltd");
  const { subscription } = await json(
    ...["subscriptions", "create", "--customer", "ext:acme", "--plan", "pro"],
    ...["--external-id", "acme-pro", "--property", "seats=5"],
  );
  expect(subscription).toMatchObject({ status: "active", properties: '{"seats":5}' });
  await shell.app.post("/v1/events", {
    transaction_id: "t1",
    subscription_id: "ext:acme-pro",
    code: "calls",
    properties: { n: 400 },
  });
  const sent = await ok("events", "get", "t1");
  expect(sent).toMatch(/transaction_id +t1\n[\s\S]*code +calls\n[\s\S]*state +billable\n/);
  expect((await json("events", "get", "t1")).event).toMatchObject({ properties: { n: 400 } });
  const unknown = await shell.run(["events", "get", "a/b"]);
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining("transaction_id")]);
  expect(await ok("usage", "ext:acme-pro")).toContain("calls: 400 at 0.25 = 100.00 USD");
  const { invoice_preview } = await json("invoices", "preview", "acme-pro", "--at", "period_end");
  expect(invoice_preview.total_cents).toBe(2200 + 10_000 + 5000);

  const report = await ok("clock", "advance", "--to", "2026-02-01");
  expect(report).toContain("It is 2026-02-01T00:00:00.000Z now: 1 period closed, 1 invoice");
  expect(await ok("clock")).toContain("2026-02-01T00:00:00.000Z (frozen)");
  const list = await ok("invoices", "list", "--customer", "ext:acme");
  expect(list).toMatch(/INV-2026-0001 +outstanding +172\.00 USD/);
  expect(await ok("invoices", "get", "INV-2026-0001")).toMatch(
    /number +INV-2026-0001[\s\S]*fees:\n/,
  );

  const part = await json(
    "payments",
    "record",
    "INV-2026-0001",
    "--amount",
    "200",
    "--reference",
    "cheque",
  );
  expect(part.payment).toMatchObject({
    amount_cents: 200,
    provider: "manual",
    reference: "cheque",
  });
  const rest = await json("payments", "record", "INV-2026-0001");
  expect(rest.payment.amount_cents).toBe(17_000);
  const again = await shell.run(["payments", "record", "INV-2026-0001"]);
  expect(again).toMatchObject({ code: 1 });
  expect(again.err).toContain("Nothing is due on INV-2026-0001");
  expect((await json("payments", "list", "--invoice", "INV-2026-0001")).payments).toHaveLength(2);
});

test("an add-on by its code", async () => {
  await ok("customers", "create", "--external-id", "buyer", "--name", "Buyer");
  const { applied_add_on } = await json("addons", "apply", "setup", "--customer", "buyer");
  expect(applied_add_on).toMatchObject({ amount_cents: 5000 });
  const { invoices } = await json("invoices", "list", "--customer", "buyer");
  await ok("invoices", "void", invoices[0].number);
  expect((await json("invoices", "get", invoices[0].number)).invoice.status).toBe("voided");
});

test("a subscription is suspended, resumed, canceled and terminated by its own name", async () => {
  await ok("customers", "create", "--external-id", "mover", "--name", "Mover");
  const start = [
    "subscriptions",
    "create",
    "--customer",
    "mover",
    "--plan",
    "pro",
    "--property",
    "seats=1",
  ];
  await ok(...start, "--external-id", "s1");
  const status = async () => (await json("subscriptions", "get", "s1")).subscription.status;
  for (const [act, wanted] of [
    ["suspend", "suspended"],
    ["resume", "active"],
    ["cancel", "canceled"],
  ] as const) {
    await ok("subscriptions", act, "ext:s1");
    expect(await status()).toBe(wanted);
  }
  await ok(...start, "--external-id", "s2");
  await ok("subscriptions", "terminate", "s2", "--no-invoice");
  expect((await json("invoices", "list", "--subscription", "s2")).invoices).toEqual([]);
  const listed = await json(
    "subscriptions",
    "list",
    "--customer",
    "mover",
    "--status",
    "terminated",
  );
  expect(listed.subscriptions).toMatchObject([{ external_id: "s2" }]);
});

test.each([
  ["plans", "pro", "plan"],
  ["metrics", "calls", "metric"],
  ["catalog", "seat", "catalog_item"],
  ["addons", "setup", "add_on"],
])("%s are listed and got by code", async (name, code, one) => {
  expect(await ok(name, "list")).toContain(code);
  const answer = await json(name, "get", code);
  expect(answer[one].code).toBe(code);
  const ran = await shell.run([name, "get", "nope"]);
  expect(ran).toMatchObject({ code: 1 });
  expect(ran.err).toMatch(/There is no .* nope\./);
});

test("lists page as far as asked: --limit, --all, and a word when there are more", async () => {
  const id = await shell.project("paging");
  for (let i = 0; i < 12; i++) {
    const body = { external_id: `c${i}`, name: `C ${i}` };
    await shell.app.ok("POST", "/v1/customers", body, { "x-project-id": id });
  }
  const few = await shell.run(["customers", "list", "--limit", "3", "--project", id]);
  expect(few.out.trim().split("\n")).toHaveLength(4);
  expect(few.err).toContain("There are more");
  const { customers, has_more } = await json(
    "customers",
    "list",
    "--all",
    "--project",
    "main/paging",
  );
  expect(has_more).toBe(false);
  expect(new Set(customers.map((each: { id: string }) => each.id)).size).toBe(12);
});

test("what a record holds cannot move the cursor", async () => {
  await ok("customers", "create", "--external-id", "evil", "--name", "a\u001b[2Jb");
  expect(await ok("customers", "get", "evil")).toContain("a\\x1b[2Jb");
});

describe("tokens and profiles", () => {
  test("a token is made, listed and revoked by its prefix", async () => {
    const made = await json("keys", "create", "--name", "reports", "--scopes", "read");
    expect(made).toMatchObject({ scopes: ["read"], token: expect.stringMatching(/^dues_/) });
    expect(await ok("keys", "list")).toContain(made.key_prefix);
    await ok("keys", "revoke", made.key_prefix);
    expect(await ok("keys", "list")).not.toContain(made.key_prefix);
  });

  const bare = { DUES_URL: "", DUES_TOKEN: "", DUES_PROJECT: "" };

  test("login keeps a profile for its owner alone, and the token comes from the input", async () => {
    const none = await shell.run(["whoami"], { env: bare });
    expect(none.code).toBe(77);
    expect(none.err).toContain("dues login");
    const args = ["login", "--url", `${shell.url}/`, "--project", "main/test"];
    const login = await shell.run(args, { env: bare, input: `${shell.app.profile.token}\n` });
    expect(login.code, login.err).toBe(0);
    const file = join(shell.folder, "config", "dues", "profile.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ base_url: shell.url });
    expect((await shell.run(["whoami"], { env: bare })).out).toContain(
      shell.app.profile.project_id,
    );
    expect((await shell.run(["logout"], { env: bare })).code).toBe(0);
    expect((await shell.run(["whoami"], { env: bare })).code).toBe(77);
  });

  test("a kept token is not sent to another address", async () => {
    await shell.run(["login", "--url", shell.url], { env: bare, input: shell.app.profile.token });
    shell.requests.splice(0);
    const ran = await shell.run(["whoami", "--url", "http://127.0.0.1:9"], { env: bare });
    expect(ran.code).toBe(77);
    expect(shell.requests).toEqual([]);
    await shell.run(["logout"], { env: bare });
  });

  test("the trial's own profile works with no flags at all", async () => {
    shell.file("dev.json", JSON.stringify({ ...shell.app.profile, base_url: shell.url }));
    const env = { ...bare, DUES_DATA: shell.folder };
    const ran = await shell.process(["plans", "list"], { env });
    expect(ran.code, ran.err).toBe(0);
    expect(ran.out).toContain("pro");
    expect((await shell.run(["open", "--print"], { env })).out).toBe(`${shell.url}/docs\n`);
  });

  test("a token may stand in a file", async () => {
    const file = shell.file("token.txt", `${shell.app.profile.token}\n`);
    const ran = await shell.run(["whoami", "--token-file", file, "--url", shell.url], {
      env: bare,
    });
    expect(ran.code, ran.err).toBe(0);
  });
});
