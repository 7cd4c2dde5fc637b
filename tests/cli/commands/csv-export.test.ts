// `dues export customers`, subscriptions, invoices, payments and events: whole, in pages, for a
// spreadsheet.

import { pbkdf2 } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse } from "csv-parse/sync";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../../support/processes.ts";
import { makeMetric, makePlan } from "../../support/records.ts";
import { type Shell, sharedShell } from "../support.ts";

/** Several at once keep the threads busy on which Node opens files. */
const derive = promisify(pbkdf2);

let shell: Shell;
type Row = Record<string, string>;

beforeAll(async () => {
  shell = await sharedShell({ at: "2026-01-10T00:00:00.000Z" });
  const { app } = shell;
  const { id } = await makeMetric(app, { code: "calls", field_name: "n" });
  const charges = [{ charge_model: "standard", billable_metric_id: id, rate: "1" }];
  const plan = await makePlan(app, { amount_cents: 1000, charges });
  for (const [external_id, name] of [
    ["evil", '=HYPERLINK("http://x")'],
    ["jp", "株式会社, 東京"],
  ]) {
    const { customer } = await app.post("/v1/customers", { external_id, name });
    const made = { external_id: `${external_id}-1`, customer_id: customer.id, plan_id: plan.id };
    await app.post("/v1/subscriptions", made);
    const events = [1, 2, 3].map((n) => ({
      transaction_id: `${external_id}-${n}`,
      subscription_id: `ext:${external_id}-1`,
      code: "calls",
      timestamp: `2026-01-10T0${n}:00:00Z`,
      properties: { n },
    }));
    await app.post("/v1/events/batch", { events });
  }
  await app.travelTo("2026-03-05T00:00:00.000Z");
  const yen = {
    customer_id: "ext:jp",
    currency: "JPY",
    lines: [{ name: "x", unit_amount_cents: 500 }],
  };
  await app.post("/v1/invoices", yen);
  const { invoices } = await app.get("/v1/invoices?customer_id=ext:evil");
  for (const [i, { id: invoice_id, currency }] of invoices.entries()) {
    await app.post("/v1/payments", {
      invoice_id,
      currency,
      amount_cents: 100,
      provider: "bank",
      reference: "+1 -2",
      provider_payment_id: `p${i}`,
    });
  }
});
afterAll(() => shell.close());

async function rows(...args: string[]): Promise<Row[]> {
  const ran = await shell.run(["export", ...args]);
  expect(ran.code, ran.err).toBe(0);
  expect(ran.out.endsWith("\r\n")).toBe(true);
  return parse(ran.out, { columns: true, record_delimiter: "\r\n" }) as Row[];
}

test("invoices: amounts in both forms, names of customers, nothing that runs", async () => {
  const all = await rows("invoices", "--csv");
  const { invoices } = await shell.app.get("/v1/invoices?all=1");
  expect(all.map(({ number }) => number)).toEqual(
    invoices.map(({ number }: { number: string }) => number),
  );
  const evil = all.find((row) => row.customer_external_id === "evil");
  expect(evil).toMatchObject({ customer_name: `'=HYPERLINK("http://x")`, currency: "USD" });
  const jan = all.find(
    (row) => row.customer_external_id === "jp" && row.issuing_date === "2026-02-01",
  );
  expect(jan).toMatchObject({
    customer_name: "株式会社, 東京",
    total_cents: "1310",
    total: "13.10",
  });
  const yen = all.find(({ currency }) => currency === "JPY");
  expect(yen).toMatchObject({ total_cents: "500", total: "500", invoice_type: "one_off" });
});

test("days are the first and the last that count, and a customer narrows it", async () => {
  const february = ["--from", "2026-02-01", "--to", "2026-02-28"];
  expect(await rows("invoices", ...february)).toHaveLength(2);
  expect(await rows("invoices", "--from", "2026-03-05")).toHaveLength(1);
  expect(await rows("invoices", ...february, "--customer", "jp")).toHaveLength(1);
  expect(await rows("events", "--from", "2026-01-11")).toEqual([]);
  expect(await rows("events", "--to", "2026-01-10")).toHaveLength(6);
});

test("an invoice is exported by its day of issue", async () => {
  const project = await shell.project("set-back");
  const headers = { "x-project-id": project };
  const { app } = shell;
  const travelTo = (at: string) =>
    app.ok("POST", "/v1/clock", { frozen_at: `${at}T00:00:00.000Z` }, headers);
  await app.ok("POST", "/v1/customers", { external_id: "a", name: "A" }, headers);
  const lines = [{ name: "x", unit_amount_cents: 500 }];
  const bill = async () =>
    (await app.ok("POST", "/v1/invoices", { customer_id: "ext:a", lines }, headers)).invoice;
  await travelTo("2026-01-01");
  const early = await bill();
  await travelTo("2026-03-01");
  const late = await bill();
  const exported = await rows("invoices", "--project", project, "--from", "2026-03-01");
  expect(exported.map(({ number }) => number)).toEqual([late.number]);
  const before = await rows("invoices", "--project", project, "--to", "2026-01-01");
  expect(before.map(({ number }) => number)).toEqual([early.number]);
});

test("each row of invoices adds up to what is due, also after overpayment and credit notes", async () => {
  const project = await shell.project("adds-up");
  const headers = { "x-project-id": project };
  const post = (path: string, body: object) => shell.app.ok("POST", path, body, headers);
  await post("/v1/customers", { external_id: "a", name: "A" });
  const lines = [{ name: "x", unit_amount_cents: 12_000 }];
  const { invoice } = await post("/v1/invoices", { customer_id: "ext:a", lines });
  const { id: invoice_id, currency } = invoice;
  await post("/v1/payments", {
    invoice_id,
    currency,
    amount_cents: 13_000,
    allow_overpayment: true,
    provider: "bank",
    provider_payment_id: "1",
  });
  await post("/v1/credit-notes", {
    invoice_id,
    lines: [{ fee_id: invoice.fees[0].id, amount_cents: 6_000 }],
  });
  await post("/v1/invoices", { customer_id: "ext:a", lines });
  const exported = await rows("invoices", "--project", project);
  expect(exported).toHaveLength(2);
  expect(exported[1]).toMatchObject({ overpaid_cents: "1000", overpaid: "10.00", offset: "0.00" });
  for (const row of exported) expect(leftOf(row), row.number).toBe(0);
});

/** What the amounts of a row leave over. */
function leftOf(row: Row): number {
  const cents = (name: string) => Number(row[`${name}_cents`]);
  const taken = ["credit_applied", "offset", "amount_paid", "written_off", "amount_due"];
  const given = cents("total") + cents("overpaid");
  return taken.reduce((left, name) => left - cents(name), given);
}

test("a customer or subscription that nobody is ends the export before a line is written", async () => {
  for (const what of ["invoices", "payments"]) {
    const ran = await shell.run(["export", what, "--customer", "ext:nobody"]);
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.err).toContain("There is no customer ext:nobody.");
  }
  const ran = await shell.run(["export", "events", "--subscription", "nobody"]);
  expect([ran.code, ran.out]).toEqual([1, ""]);
});

test("payments with the number of their invoice, events with their subscription", async () => {
  const payments = await rows("payments", "--csv");
  expect(payments.length).toBe(2);
  expect(payments[0]).toMatchObject({
    invoice_number: expect.stringMatching(/^INV-/),
    amount_cents: "100",
    amount: "1.00",
    reference: "'+1 -2",
  });
  const events = await rows("events", "--subscription", "evil-1");
  expect(events.map((row) => row.transaction_id)).toEqual(["evil-3", "evil-2", "evil-1"]);
  expect(events[0]).toMatchObject({ subscription_external_id: "evil-1", properties: '{"n":3}' });
  expect(await rows("events")).toHaveLength(6);
});

test("customers and subscriptions, with the names that callers know", async () => {
  const customers = await rows("customers");
  expect(customers.map((row) => [row.external_id, row.name])).toEqual([
    ["jp", "株式会社, 東京"],
    ["evil", `'=HYPERLINK("http://x")`],
  ]);
  const subscriptions = await rows("subscriptions", "--csv");
  expect(subscriptions.map((row) => [row.external_id, row.customer_external_id])).toEqual([
    ["jp-1", "jp"],
    ["evil-1", "evil"],
  ]);
  expect(await rows("subscriptions", "--customer", "jp")).toEqual([subscriptions[0]]);
  const ran = await shell.run(["export", "customers", "--from", "2026-01-01"]);
  expect([ran.code, ran.out]).toEqual([64, ""]);
});

test("a file is written whole or not at all, and not overwritten unasked", async () => {
  const file = join(shell.folder, "invoices.csv");
  const args = ["export", "invoices", "--csv", "--output", file];
  const first = await shell.run([...args, "--bom"]);
  expect([first.code, first.out]).toEqual([0, ""]);
  expect(first.err).toBe(`5 invoices in ${file}.\n`);
  expect(readFileSync(file, "utf8").startsWith("\ufeffnumber,status,")).toBe(true);
  const again = await shell.run(args);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining("--force")]);
  expect((await shell.run([...args, "--force"])).code).toBe(0);
  const cut = join(shell.folder, "cut.csv");
  const ran = await shell.run(["export", "payments", "--output", cut], {
    env: { DUES_TOKEN: "dues_wrong" },
  });
  expect(ran.code).toBe(77);
  expect(readdirSync(shell.folder).filter((name) => name.startsWith("cut."))).toEqual([]);
  const nowhere = await shell.run(["export", "payments", "--output", `${shell.folder}/no/x.csv`]);
  expect([nowhere.code, nowhere.err]).toEqual([1, expect.stringContaining("was not written")]);
});

/** What this process has asked the system for and has no answer to yet. */
const openRequests = () => process.getActiveResourcesInfo();

test("a refused export leaves no draft, however long the file takes to open", async () => {
  const file = join(shell.folder, "late.csv");
  const busy = Array.from({ length: 8 }, () => derive("dues", "salt", 400_000, 64, "sha512"));
  const ran = await shell.run(["export", "payments", "--output", file], {
    env: { DUES_TOKEN: "dues_wrong" },
  });
  await Promise.all(busy);
  await until(() => !openRequests().some((kind) => kind.startsWith("FSReq")));
  expect(ran.code).toBe(77);
  expect(readdirSync(shell.folder).filter((name) => name.startsWith("late."))).toEqual([]);
});

test("the file of the project is exported as before", async () => {
  const ran = await shell.run(["export"]);
  expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('version: "1"')]);
});
