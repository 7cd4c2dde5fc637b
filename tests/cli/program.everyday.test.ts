// A day with the tool: people's names for things go in, tables and JSON come out.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Shell, startShell } from "./support.ts";

let server: Shell;
/** Each test has a project of its own: a server for each would take four times as long. */
let shell: Shell;
let slug: string;
let tests = 0;

beforeAll(async () => {
  server = await startShell();
});
afterAll(() => server.close());

beforeEach(async () => {
  tests += 1;
  slug = `day-${tests}`;
  shell = await server.inNewProject(slug, "2026-01-10T00:00:00.000Z");
  const file = shell.file(
    "service.yaml",
    `version: "1"
org: acme
workspace: main
project: ${slug}
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
afterEach(() => shell.close());

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
  expect(await ok("usage", "ext:acme-pro")).toContain("Calls: 400 at 0.25 = 100.00 USD");
  const { invoice_preview } = await json("invoices", "preview", "acme-pro", "--at", "period_end");
  expect(invoice_preview.total_cents).toBe(2200 + 10_000 + 5000);

  const report = await ok("clock", "advance", "--to", "2026-02-01");
  expect(report).toContain("It is 2026-02-01T00:00:00.000Z now: 1 period closed, 1 invoice");
  expect(await ok("clock")).toContain("2026-02-01T00:00:00.000Z (frozen)");
  const list = await ok("invoices", "list", "--customer", "ext:acme");
  expect(list).toMatch(/INV-2026-0001 +acme +outstanding +172\.00 USD/);
  expect(await ok("invoices", "get", "INV-2026-0001")).toMatch(
    /INV-2026-0001 +outstanding\nAcme Ltd \(acme\)\n[\s\S]*\nSeat +5 +\$10\.00 +\$50\.00\n/,
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

test("a subscription that starts later, with a trial, an anchor and an end", async () => {
  await ok("customers", "create", "--external-id", "later", "--name", "Later");
  const made = await ok(
    ...["subscriptions", "create", "--customer", "ext:later", "--plan", "pro"],
    ...["--external-id", "later-pro", "--property", "seats=1", "--trial-days", "5"],
    ...["--billing-time", "anniversary", "--anchor-date", "2027-01-31"],
    ...["--starts-at", "2027-01-10", "--ends-at", "2027-06-01"],
  );
  expect(made).toMatch(/status +pending\n[\s\S]*anchor_date +2027-01-31\n/);
  expect(made).toMatch(/trial_ends_at +2027-01-15T[\s\S]*\nends_at +2027-06-01T/);
  const list = await ok("subscriptions", "list", "--status", "pending");
  expect(list).toMatch(
    /^EXTERNAL ID +CUSTOMER +PLAN +STATUS +PERIOD +TRIAL ENDS +ENDS +PROPERTIES +ID\n/,
  );
  expect(list).toMatch(/later-pro +later +pro +pending +\S+ to \S+ +2027-01-15 +2027-06-01 /);
  expect(await ok("subscriptions", "list", "--status", "active")).not.toContain("TRIAL ENDS");
  for (const flags of [
    ["--anchor-date", "2027-02-30"],
    ["--anchor-date", "2027-02-01T00:00:00Z"],
    ["--trial-days", "731"],
    ["--billing-time", "lunar"],
    ["--starts-at", "soon"],
  ]) {
    const args = ["subscriptions", "create", "--customer", "later", "--plan", "pro", ...flags];
    expect((await shell.run(args)).code, flags.join(" ")).toBe(64);
  }
});

test("a change of plan: looked at, scheduled, taken back, made", async () => {
  await ok("clock", "advance", "--to", "2026-02-01");
  const tiers = [
    { up_to: "10", amount: "1" },
    { up_to: null, amount: "0.5" },
  ];
  await shell.app.post("/v1/metrics", {
    code: "tokens",
    name: "Tokens",
    aggregation_type: "sum",
    field_name: "n",
    dimensions: ["model"],
  });
  const prices = [{ match: { model: "large" }, tiers: [{ up_to: null, amount: "2" }] }];
  const basic = { name: "Basic", interval: "monthly", amount_currency: "USD" };
  await shell.app.post("/v1/plans", {
    ...basic,
    code: "basic",
    amount_cents: 3100,
    charges: [
      {
        charge_model: "graduated",
        billable_metric_code: "tokens",
        name: "AI tokens",
        properties: { tiers, prices },
      },
    ],
  });
  await shell.app.post("/v1/plans", {
    ...basic,
    code: "upfront",
    name: "Upfront",
    amount_cents: 6200,
    base_timing: "advance",
    trial_days: 14,
  });
  expect(await ok("plans", "list")).toMatch(/BASE +TRIAL +CHARGES[\s\S]*62\.00 USD +14 days +0 /);
  expect(await ok("metrics", "list")).toMatch(/DIMENSIONS +ID\n[\s\S]*tokens.* sum +n +model /);
  await ok("customers", "create", "--external-id", "riser", "--name", "Riser");
  const on = ["--customer", "ext:riser", "--external-id", "riser-1"];
  // Of the 31 days from 22 January on, ten are over.
  const since = ["--billing-time", "anniversary", "--starts-at", "2026-01-22"];
  await ok("subscriptions", "create", ...on, "--plan", "basic", ...since);
  await shell.app.post("/v1/events", {
    transaction_id: "r1",
    subscription_id: "ext:riser-1",
    code: "tokens",
    timestamp: "2026-01-25T00:00:00Z",
    properties: { n: 12, model: "large" },
  });
  expect(await ok("usage", "riser-1")).toContain(
    "tokens, model large: 12 (graduated) = 24.00 USD\n",
  );

  const to = ["riser-1", "--plan", "upfront"];
  const preview = await ok("invoices", "preview", ...to);
  const [close = "", start = "", end = "", ...more] = preview.split("\n\n");
  expect(more).toEqual([]);
  expect(close.split("\n")).toEqual([
    "Period 2026-01-22 to 2026-01-31, issued 2026-02-01, due 2026-02-15",
    "FEE           NAME                    UNITS     AMOUNT",
    "subscription  Basic                       1  10.00 USD",
    "charge        AI tokens, model large     12  24.00 USD",
    "Total 34.00 USD: 34.00 USD due",
  ]);
  expect(start.split("\n").slice(0, 3)).toEqual([
    "Then 2026-02-01 to 2026-02-21, issued 2026-02-01, due 2026-02-15",
    "FEE           NAME     UNITS     AMOUNT",
    "subscription  Upfront      1  42.00 USD",
  ]);
  expect(end).toMatch(/^Then 2026-02-01 to 2026-02-21, issued 2026-02-22.*\nNothing is billed\.\n/);
  const answer = await json("invoices", "preview", ...to, "--at", "period_end");
  expect(answer.next_invoice_previews).toHaveLength(2);

  await ok("subscriptions", "change", ...to, "--at", "period_end");
  const scheduled = await ok("subscriptions", "list", "--customer", "riser");
  expect(scheduled).toContain("NEXT PLAN");
  await ok("subscriptions", "change", "riser-1", "--plan", "basic");
  expect(await ok("subscriptions", "list", "--customer", "riser")).not.toContain("NEXT PLAN");
  const { subscription } = await json("subscriptions", "change", ...to);
  const { plan } = await shell.app.get("/v1/plans?code=upfront");
  expect(subscription).toMatchObject({ plan_id: plan.id, scheduled_plan_id: null });
  const missing = await shell.run(["subscriptions", "change", "riser-1", "--plan", "none"]);
  expect([missing.code, missing.err]).toEqual([1, "dues: There is no plan none.\n"]);
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

test("whoami names the project as --project takes it", async () => {
  expect(await ok("whoami")).toMatch(new RegExp(`^project +main/${slug} \\(sandbox\\)$`, "m"));
  expect((await json("whoami")).project).toMatchObject({ slug, mode: "sandbox" });
});

test.each(["subscriptions", "invoices", "payments", "grants", "credit-notes"])(
  "a filter of %s by a customer that there is not is an error",
  async (name) => {
    for (const ref of ["ext:nobody", "nobody", "00000000-0000-7000-8000-000000000000"]) {
      const ran = await shell.run([name, "list", "--customer", ref]);
      expect(ran, ref).toMatchObject({ code: 1, out: "" });
      expect(ran.err).toContain(`There is no customer ${ref}.`);
    }
  },
);

test("a customer is found by the short id that lists and pages show", async () => {
  await ok("customers", "create", "--external-id", "shorty", "--name", "Shorty");
  const { customer } = await json("customers", "get", "shorty");
  const found = await json("customers", "get", customer.short_id);
  expect(found.customer.id).toBe(customer.id);
  // What looks like a short id can be somebody's own name for a customer.
  await ok("customers", "create", "--external-id", "cust_zzzz", "--name", "Zed");
  expect((await json("customers", "get", "ext:cust_zzzz")).customer.name).toBe("Zed");
});

test("more than is due is told with its currency, and taken with --allow-overpayment", async () => {
  await ok("customers", "create", "--external-id", "over", "--name", "Over");
  const applied = await json("addons", "apply", "setup", "--customer", "over");
  const { invoice } = await json("invoices", "get", applied.applied_add_on.invoice_id);
  const much = ["payments", "record", invoice.number, "--amount", "6000"];
  const ran = await shell.run(much);
  expect(ran.code).toBe(1);
  expect(ran.err).toContain(`60.00 USD is more than is due on ${invoice.number}: 50.00 USD.`);
  expect(ran.err).toContain("--allow-overpayment");
  const { payment } = await json(...much, "--allow-overpayment");
  expect(payment.amount_cents).toBe(6000);
});

test("refusals name flags, not fields of the API", async () => {
  await ok("customers", "create", "--external-id", "seatless", "--name", "Seatless");
  const create = ["subscriptions", "create", "--customer", "seatless", "--plan", "pro"];
  const { err } = await shell.run(create);
  expect(err).toContain('The property "seats" must be a decimal of 0 or more; it is missing.');
  expect(err).toContain("For example: --property seats=5");
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
