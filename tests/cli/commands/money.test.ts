// Taxes, coupons, grants and credit notes on the command line: what is listed, what is done, and
// what people are told about it.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

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
settings: {tax_codes: [vat]}
taxes: [{code: vat, name: VAT, percent: "20", description: Standard}]
plans: [{code: pro, name: Pro, interval: monthly, amount_cents: 3100, currency: USD}]
coupons:
  - {code: welcome, name: Welcome, percent: "10", times: 3, plan_codes: [pro], max_redemptions: 500}
  - {code: ten, name: Ten off, amount_cents: 1000, currency: USD, times: null}
`,
  );
  await ok("sync", file);
  await ok("customers", "create", "--external-id", "acme", "--name", "Acme Ltd");
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

async function failed(...args: string[]): Promise<string> {
  const ran = await shell.run(args);
  expect(ran.code, ran.out).toBe(1);
  return ran.err;
}

/** An invoice over these amounts, taxed by 20 %. */
async function invoice(...amounts: number[]): Promise<string> {
  const lines = amounts.map((unit_amount_cents, i) => ({ name: `Line ${i}`, unit_amount_cents }));
  const body = { customer_id: "ext:acme", lines };
  return (await shell.app.post("/v1/invoices", body)).invoice.number;
}

test("taxes and coupons are listed and shown by their codes", async () => {
  expect(await ok("taxes", "list")).toMatch(/^CODE +NAME +PERCENT +DESCRIPTION +ID\nvat +VAT +20/);
  expect((await json("taxes", "list")).taxes).toMatchObject([{ code: "vat", percent: "20" }]);
  expect(await ok("taxes", "get", "vat")).toMatch(/^percent +20$/m);
  const coupons = await ok("coupons", "list");
  expect(coupons).toMatch(/^welcome +Welcome +10 % +3 +pro +0 of 500 /m);
  expect(coupons).toMatch(/^ten +Ten off +10\.00 USD +for ever +- +0 /m);
  expect((await json("coupons", "get", "ten")).coupon).toMatchObject({ amount_cents: 1000 });
  expect(await failed("taxes", "get", "tva")).toContain("There is no tax tva.");
  expect(await failed("coupons", "get", "x")).toContain("There is no coupon x.");
});

test("what is archived is listed when it is asked for", async () => {
  const { tax } = await shell.app.post("/v1/taxes", { code: "old", name: "Old", percent: "1" });
  await shell.app.call("DELETE", `/v1/taxes/${tax.id}`);
  expect(await ok("taxes", "list")).not.toContain("old");
  expect(await ok("taxes", "list", "--archived")).toMatch(/^old .* 2026-01-10 /m);
});

describe("grants", () => {
  test("a present is active at once, prepaid money when its invoice is paid", async () => {
    const free = await ok(
      ...["grants", "add", "--customer", "ext:acme", "--amount", "1000", "--kind", "free"],
      ...["--name", "Hello", "--expires", "2026-02-01", "--priority", "10"],
    );
    expect(free).toMatch(/^status +active$/m);
    expect(free).not.toContain("Pending");
    const add = ["grants", "add", "--customer", "acme", "--amount", "5000", "--kind", "paid"];
    const paid = await ok(...add);
    const [, number = ""] = /Pending until (INV-2026-\d{4}) is paid: 50\.00 USD/.exec(paid) ?? [];
    expect(await ok("grants", "list", "--customer", "acme", "--status", "pending")).toMatch(
      /paid +pending +50\.00 USD +0\.00 USD +50 /,
    );
    await ok("payments", "record", number);
    const { grants } = await json("grants", "list", "--customer", "ext:acme");
    expect(grants).toMatchObject([
      { kind: "paid", status: "active", remaining_cents: 5000 },
      { name: "Hello", priority: 10, expires_at: "2026-02-01T00:00:00.000Z" },
    ]);
    expect(await ok("grants", "get", grants[1].id)).toMatch(/^name +Hello$/m);
    expect((await json("grants", "list", "--currency", "EUR")).grants).toEqual([]);
    for (const { id, kind } of grants) {
      if (kind === "free") await shell.app.post(`/v1/grants/${id}/revoke`, {});
    }
    await ok("invoices", "credit", number);
  });

  test.each([
    [["--amount", "5", "--kind", "free"], "customer"],
    [["--customer", "acme", "--kind", "free"], "amount"],
    [["--customer", "acme", "--amount", "5"], "kind"],
    [["--customer", "acme", "--amount", "0", "--kind", "free"], "whole number"],
    [["--customer", "acme", "--amount", "5", "--kind", "voided"], "free, paid"],
    [["--customer", "acme", "--amount", "5", "--kind", "free", "--expires", "soon"], "date"],
    [["--customer", "acme", "--amount", "5", "--kind", "free", "--priority", "101"], "100"],
  ])("%j is a usage error", async (args, word) => {
    const ran = await shell.run(["grants", "add", ...args]);
    expect(ran.code).toBe(64);
    expect(ran.err).toContain(word);
  });

  test("what the service refuses is told in its words", async () => {
    const args = ["grants", "add", "--amount", "5", "--kind", "free"];
    expect(await failed(...args, "--customer", "nobody")).toContain("customer");
    const past = [...args, "--customer", "acme", "--expires", "2026-01-10"];
    expect(await failed(...past)).toContain("--expires must lie in the future");
  });
});

describe("credit", () => {
  test("a preview, a part, and the rest, with where the money goes", async () => {
    const number = await invoice(10_000, 5000);
    const preview = await ok("invoices", "credit", number, "--line", "2=2500", "--preview");
    expect(preview).toBe(
      `A credit note would be over 30.00 USD (25.00 USD and 5.00 USD tax) of ${number}:
  30.00 USD less to pay: 150.00 USD due
Nothing was stored.
`,
    );
    expect(await ok("credit-notes", "list", "--invoice", number)).toBe("None.\n");
    const part = await ok(
      ...[
        "invoices",
        "credit",
        number,
        "--line",
        "2=2500",
        "--reason",
        "Outage",
        "--memo",
        "Sorry",
      ],
    );
    expect(part).toMatch(/^CN-2026-\d{4} is over 30\.00 USD \(25\.00 USD and 5\.00 USD tax\)/);
    await ok("payments", "record", number, "--amount", "10000");
    const rest = await ok("invoices", "credit", number, "--refund-cents", "4000");
    expect(rest.split("\n").slice(1)).toEqual([
      "  50.00 USD less to pay: 0.00 USD due",
      "  40.00 USD to pay back: send it, then record it with POST /v1/refunds",
      "  60.00 USD as credit for later invoices",
      "",
    ]);
    const list = await ok("credit-notes", "list", "--customer", "acme", "--invoice", number);
    expect(list).toMatch(/^NUMBER +INVOICE +TOTAL +OFF DUE +REFUND +CREDIT +ISSUED +REASON$/m);
    expect(list).toMatch(/ 30\.00 USD +30\.00 USD +0\.00 USD +0\.00 USD +2026-01-10 +Outage$/m);
    const { credit_notes } = await json("credit-notes", "list", "--invoice", number);
    expect(credit_notes).toHaveLength(2);
    const shown = await ok("credit-notes", "get", credit_notes[1].number);
    expect(shown).toMatch(/^memo +Sorry$/m);
    expect(shown).toMatch(/\nlines:\n/);
    expect(await failed("credit-notes", "get", "CN-2026-9999")).toContain("CN-2026-9999");
  });

  test("a fee is named by its place or by its id; several may be", async () => {
    const number = await invoice(1000, 2000);
    const { fees } = (await json("invoices", "get", number)).invoice;
    const { credit_note } = await json(
      ...["invoices", "credit", number, "--line", "1=100", "--line", `${fees[1].id}=200`],
    );
    expect(credit_note.lines).toEqual([
      { fee_id: fees[0].id, amount_cents: 100 },
      { fee_id: fees[1].id, amount_cents: 200 },
    ]);
    const { credit_note_preview } = await json("invoices", "credit", number, "--preview");
    expect(credit_note_preview).toMatchObject({ subtotal_cents: 2700, total_cents: 3240 });
    expect(await failed("invoices", "credit", number, "--line", "3=1")).toContain("has no fee 3");
    expect(await failed("invoices", "credit", "INV-2026-9999")).toContain("INV-2026-9999");
    const more = await failed("invoices", "credit", number, "--line", "1=901");
    expect(more).toMatch(/^dues: /);
  });

  test.each(["1", "1=", "=5", "1=5.5", "one=5", "1=1e3"])("--line %s is refused", async (line) => {
    const ran = await shell.run(["invoices", "credit", "INV-2026-0001", "--line", line]);
    expect(ran.code).toBe(64);
    expect(ran.err).toContain("FEE=CENTS");
  });
});

test("invoices show discount and tax where there are some, in lists and previews", async () => {
  await invoice(1000);
  const bare = await ok("invoices", "list", "--customer", "acme", "--limit", "1");
  expect(bare).toMatch(/^NUMBER +CUSTOMER +STATUS +TAX +TOTAL +DUE /);
  const { coupon } = await json("coupons", "get", "welcome");
  await shell.app.post(`/v1/coupons/${coupon.id}/apply`, { customer_id: "ext:acme" });
  await ok("subscriptions", "create", "--customer", "acme", "--plan", "pro", "--external-id", "s");
  const preview = await ok("invoices", "preview", "s", "--at", "period_end");
  expect(preview).toContain("\nWelcome, 10 %: -2.20 USD\nVAT, 20 % of 19.80 USD: 3.96 USD\nTotal");
  await ok("clock", "advance", "--to", "2026-02-01");
  const list = await ok("invoices", "list", "--customer", "acme", "--limit", "1");
  expect(list).toMatch(/^NUMBER +CUSTOMER +STATUS +DISCOUNT +TAX +TOTAL +DUE /);
  expect(list).toMatch(/ 2\.20 USD +3\.96 USD +23\.76 USD /);
});
