// Plays the worked examples of a page: applies the prices with the command line's own sync, makes
// the calls at their instants in a sandbox, and compares every invoice with the page.

import { expect } from "vitest";
import type { Shell } from "../cli/support.ts";
import type { Json } from "../support/app.ts";
import { instant, Sandbox } from "../support/given.ts";
import { withDefaults, withIds } from "./fill-calls.ts";
import type { Call, Example, InvoiceTable, Story, UsageTable } from "./read-examples.ts";

const HEAD = 'version: "1"\norg: default\nworkspace: default\nproject: default\n';
/** Where tables of usage are played: one full month. */
const MONTH = { from: "2026-01-01", to: "2026-02-01" };

const STATUS = /^\d{3}$/;
const FIELD = /^([a-z_\d.]+)=(.*)$/;

let projects = 0;

/** A project of its own with the example's prices, its clock frozen. */
async function priced(shell: Shell, yaml: string, at: string): Promise<Sandbox> {
  projects += 1;
  const slug = `example-${projects}`;
  const story = new Sandbox(shell.app, await shell.project(slug));
  await story.post("/v1/clock", { frozen_at: instant(at) });
  const text = (yaml.startsWith("version:") ? yaml : `${HEAD}${yaml}`)
    .replace(/^org: .*$/m, "org: acme")
    .replace(/^workspace: .*$/m, "workspace: main")
    .replace(/^project: .*$/m, `project: ${slug}`);
  const file = shell.file(`${slug}.yaml`, text);
  const ran = await shell.run(["sync", file]);
  expect(ran.code, `${ran.err}\n${ran.out}`).toBe(0);
  expect((await shell.run(["sync", file])).out).toContain("Nothing to do.");
  return story;
}

export async function playStory(shell: Shell, { yaml }: Example, told: Story): Promise<void> {
  const [first] = told.calls;
  const last = told.invoices.at(-1)?.issued;
  if (first === undefined) throw new Error("A story has calls.");
  const story = await priced(shell, yaml, first.at);
  await story.post("/v1/customers", { external_id: "acme", name: "Acme" });
  for (const [i, call] of told.calls.entries()) {
    await travel(story, call.at);
    await make(story, call, i);
  }
  if (last !== undefined) await travel(story, last);
  const { metrics } = await story.get("/v1/metrics?all=1");
  const billed = (await story.invoices()).map((invoice, i) =>
    written(invoice, told.invoices[i], metrics),
  );
  expect(billed).toEqual(told.invoices);
}

/** The clock goes forward only; what is due on the way happens at its own instant. */
async function travel(story: Sandbox, to: string): Promise<void> {
  if ((await story.now()) < instant(to)) await story.travelTo(to);
}

async function make(story: Sandbox, call: Call, i: number): Promise<void> {
  const path = await withIds(story, call.path);
  const sent = call.body && (await withIds(story, withDefaults(call, i)));
  const { status, body } = await story.call(call.method, path, sent);
  const shown = `${call.at} ${call.method} ${call.path}: ${status} ${textOf(body)}`;
  if (!call.expected.some((word) => STATUS.test(word))) expect(status, shown).toBeLessThan(300);
  for (const word of call.expected) {
    const [, field, value] = FIELD.exec(word) ?? [];
    if (STATUS.test(word)) expect(String(status), shown).toBe(word);
    else if (field === undefined) expect(shown).toContain(word);
    else expect(`${field}=${valueAt(body, field)}`, shown).toBe(`${field}=${value}`);
  }
}

function textOf(body: Json): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** Of the record that the answer holds: `taxes.0.tax_cents` is that of its first tax. */
function valueAt(body: Json, field: string): string {
  const [record] = Object.values(body);
  const found = field.split(".").reduce<Json>((at, step) => at?.[step], record);
  return typeof found === "object" ? JSON.stringify(found) : String(found);
}

/** An invoice in the form of the page's table. */
function written(invoice: Json, told: InvoiceTable | undefined, metrics: Json[]): InvoiceTable {
  return {
    issued: invoice.issuing_date,
    lines: invoice.fees.map((fee: Json) => [nameOf(fee, metrics), String(fee.amount_cents)]),
    between: [
      ...invoice.coupons.map((coupon: Json) => [coupon.name, String(-coupon.amount_cents)]),
      ...invoice.taxes.map((tax: Json) => [
        `${tax.name} ${tax.percent} % of ${tax.taxable_cents}`,
        String(tax.tax_cents),
      ]),
    ],
    total: String(invoice.total_cents),
    sums: (told?.sums ?? []).map(([name]) => [name, sumOf(invoice, name)]),
  };
}

/** With the sign that it has on the way from the lines to what is due. */
function sumOf(invoice: Json, name: string): string {
  const sums: Readonly<Record<string, number>> = {
    Subtotal: invoice.subtotal_cents,
    Credit: 0 - invoice.credit_applied_cents,
    "Credit notes": 0 - invoice.offset_cents,
    Paid: 0 - invoice.amount_paid_cents,
    Overpaid: invoice.overpaid_cents,
    "Written off": 0 - invoice.written_off_cents,
    Due: invoice.amount_due_cents,
  };
  return String(sums[name] ?? "unknown");
}

/** "Tokens, model large (adjustment)": the name, the combination, and what is no plain fee. */
function nameOf(fee: Json, metrics: Json[]): string {
  const { fee_type, billable_metric_code, properties } = fee;
  const metric = metrics.find(({ code }) => code === billable_metric_code);
  const names: string[] = properties.dimensions === undefined ? [] : metric.dimensions;
  const values = names.map((name) => `${name} ${properties.dimensions[name] ?? "–"}`);
  const isPlain = fee_type === "charge" || fee_type === "subscription";
  return `${[properties.name, ...values].join(", ")}${isPlain ? "" : ` (${fee_type})`}`;
}

/** Every row is a customer of its own on the example's first plan. */
export async function playUsage(shell: Shell, { yaml }: Example, table: UsageTable): Promise<void> {
  const story = await priced(shell, yaml, MONTH.from);
  const { plans } = await story.get("/v1/plans?all=1");
  const { metrics } = await story.get("/v1/metrics?all=1");
  const metric = metrics.find(({ name }: Json) => name === table.metric);
  expect(metric, `a metric called ${table.metric}`).toBeDefined();
  const subscriptions: Json[] = [];
  for (const { values } of table.rows) {
    const subscription = await story.subscribe({ plan: plans.at(-1) });
    subscriptions.push(subscription);
    for (const value of values) {
      if (value !== "no event") await story.use(subscription, metric, value);
    }
  }
  await story.travelTo(MONTH.to);
  const invoices = await story.invoices();
  const billed = subscriptions.map(({ id }, i) => {
    const own = invoices.find(({ subscription_id }) => subscription_id === id);
    return [table.rows[i]?.values, own === undefined ? "none" : String(own.total_cents)];
  });
  expect(billed).toEqual(table.rows.map(({ values, cents }) => [values, cents]));
}
