// Settings, taxes and coupons of a file, applied: what is sent in which order, what a second run
// does, and what is exported.

import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
});
afterAll(() => shell.close());

const head = (slug: string) => `version: "1"\norg: acme\nworkspace: main\nproject: ${slug}\n`;
const MONEY = `settings: {country: FR, tax_id: FR00111222333, tax_codes: [vat]}
taxes: [{code: vat, name: VAT, percent: "20"}, {code: vat-low, name: VAT, percent: "5.5"}]
metrics: [{code: calls, name: Calls, aggregation_type: count}]
addons: [{code: setup, name: Setup, amount_cents: 100, tax_codes: []}]
plans:
  - code: pro
    name: Pro
    interval: monthly
    currency: EUR
    tax_codes: [vat]
    charges:
      - {type: standard, metric_ref: calls, rate: "1", tax_codes: [vat-low]}
coupons: [{code: welcome, name: Welcome, percent: "10", times: 3, plan_codes: [pro], metric_codes: [calls], max_redemptions: 500}]
`;

async function run(slug: string, text: string) {
  const ran = await shell.run(["sync", shell.file(`${slug}.yaml`, head(slug) + text), "--yes"]);
  expect(ran.code, ran.err).toBe(0);
  return ran.out;
}

async function exported(project: string) {
  const ran = await shell.run(["export", "--project", project]);
  expect(ran.code, ran.err).toBe(0);
  return ran.out;
}

test("one run declares all of it, the next changes nothing, and the export says the same", async () => {
  const project = await shell.project("money");
  shell.takeWrites();
  await run("money", MONEY);
  expect(shell.takeWrites()).toEqual([
    "POST /v1/taxes",
    "POST /v1/taxes",
    "PUT /v1/settings",
    "POST /v1/metrics",
    "POST /v1/addons",
    "POST /v1/plans",
    "POST /v1/coupons",
  ]);
  expect(await run("money", MONEY)).toContain("Nothing to do.");
  expect(shell.takeWrites()).toEqual([]);
  const text = await exported(project);
  expect(text).toContain('percent: "20"');
  const wanted = parse(head("money") + MONEY);
  const { settings, taxes, coupons, addons, plans } = parse(text);
  expect(settings).toEqual(wanted.settings);
  expect(taxes).toEqual(wanted.taxes);
  expect(coupons).toEqual(wanted.coupons);
  expect(addons[0].tax_codes).toEqual([]);
  expect(plans[0]).toMatchObject({ tax_codes: ["vat"], charges: [{ tax_codes: ["vat-low"] }] });
  const again = await shell.run(["sync", shell.file("again.yaml", text)]);
  expect(again.out, again.err).toContain("Nothing to do.");
});

test("what changes is shown line by line and sent alone; what is absent is left alone", async () => {
  const project = await shell.project("moved");
  await run("moved", MONEY);
  shell.takeWrites();
  const out = await run(
    "moved",
    `settings: {city: Paris}
taxes: [{code: vat, name: TVA, percent: "19.6"}]
coupons: [{code: welcome, name: Welcome, amount_cents: 500, currency: EUR}]
`,
  );
  expect(out).toContain("~ taxes     vat\n    name: VAT → TVA\n    percent: 20 → 19.6\n");
  expect(out).toContain("! taxes     vat-low  not in the file: left alone\n");
  expect(out).toContain('~ settings  project\n    city: "" → Paris\n');
  expect(out).toContain(
    "    times: 3 → 1\n    plan_codes: pro → all\n    metric_codes: calls → all\n",
  );
  expect(shell.takeWrites()).toEqual(["POST /v1/taxes", "PUT /v1/settings", "POST /v1/coupons"]);
  const { settings, taxes } = parse(await exported(project));
  expect(settings).toMatchObject({ city: "Paris", country: "FR", tax_codes: ["vat"] });
  expect(taxes.map(({ code }: { code: string }) => code)).toEqual(["vat", "vat-low"]);
});

test("a tax's description stays where it is left out, and goes where it is null", async () => {
  const project = await shell.project("words");
  const tax = (more: string) => `taxes: [{code: vat, name: VAT, percent: "20"${more}}]\n`;
  const described = async () => parse(await exported(project)).taxes[0].description;
  await run("words", tax(", description: Standard"));
  await run("words", tax("").replace("VAT", "TVA"));
  expect(await described()).toBe("Standard");
  await run("words", tax(", description: null"));
  expect(await described()).toBeUndefined();
  expect(await run("words", tax(", description: null"))).toContain("Nothing to do.");
});

test("a project that uses none of it exports none of it", async () => {
  const project = await shell.project("plain");
  const text = await exported(project);
  expect(text).not.toMatch(/settings|taxes|coupons|tax_codes/);
});

test("a tax that nobody has stops all of it before anything is sent", async () => {
  await shell.project("wrong");
  shell.takeWrites();
  const text = `${head("wrong")}settings: {city: Paris, tax_codes: [vta]}\ntaxes: [{code: vat, name: V, percent: "1"}]\n`;
  const ran = await shell.run(["sync", shell.file("wrong.yaml", text)]);
  expect(ran.code).toBe(65);
  expect(ran.err).toContain("wrong.yaml:5:37  settings.tax_codes[0]: There is no tax vta");
  expect(ran.err).toContain("Did you mean vat?");
  expect(shell.takeWrites()).toEqual([]);
});

test.each([
  ["invoice_prefix: CN", "settings.invoice_prefix: invoice_prefix CN is that of credit notes"],
  ["credit_note_prefix: INV", "credit_note_prefix INV is that of invoices"],
  ["invoice_prefix: CN, credit_note_prefix: INV", "invoice_prefix CN is that of credit notes"],
])(
  "a prefix that the other documents have is told before anything is sent: %s",
  async (prefix, why) => {
    const slug = `prefix-${prefix.toLowerCase().replace(/[^a-z]+/g, "-")}`;
    await shell.project(slug);
    shell.takeWrites();
    const text = `${head(slug)}taxes: [{code: vat, name: V, percent: "1"}]\nsettings: {${prefix}}\n`;
    for (const more of [[], ["--dry-run"]]) {
      const ran = await shell.run(["sync", shell.file(`${slug}.yaml`, text), ...more]);
      expect([ran.code, ran.err]).toEqual([65, expect.stringContaining(why)]);
    }
    expect(shell.takeWrites()).toEqual([]);
  },
);

test("new taxes of a plan in use are asked about, as a new price is", async () => {
  const project = await shell.project("live");
  await run("live", MONEY);
  const of = { "x-project-id": project };
  const call = async (path: string, body: object) =>
    (await shell.app.call("POST", path, body, of)).body;
  const { customer } = await call("/v1/customers", { external_id: "a", name: "A" });
  const { plan } = (await shell.app.call("GET", "/v1/plans?code=pro", undefined, of)).body;
  await call("/v1/subscriptions", { customer_id: customer.id, plan_id: plan.id });
  const text = head("live") + MONEY.replace("tax_codes: [vat]\n    charges", "charges");
  const ran = await shell.run(["sync", shell.file("live.yaml", text)]);
  expect(ran.code).toBe(1);
  expect(ran.out).toContain("    tax_codes: vat → not said\n");
  expect(ran.out).toContain("The new price of pro (1 live subscription) counts from the period");
  expect(ran.err).toContain("--yes");
});
