// Invoices in the notation of the worked examples of grouping, so that each example stands in its
// test as it stands in the list: parts, discounts by line, taxes, totals, uses, balance.

import { expect } from "vitest";
import type { Body, Json } from "./app.ts";
import type { Sandbox, SubscriptionFields } from "./given.ts";
import { applied, balanceOf, noted } from "./money.ts";

/** So many parts are written out; of more the first and the last. */
const PARTS_SHOWN = 9;

/** Sentences of an example begin with a day, a customer and a day, or one of these words. */
const SENTENCE = /\. (?=(?:\w+ )?\d\d-\d\d: |Uses |Balance |Note |Dunning: )/;

const STEPS: Readonly<Record<string, string>> = {
  "invoice.payment_overdue_reminder_1": "reminder 1",
  "invoice.payment_overdue_reminder_2": "reminder 2",
  "subscription.suspend_requested": "suspend",
  "subscription.terminate_requested": "terminate",
};

export type Mode = "separate" | "subscription" | "customer";

/** A story about one customer, c, in a project of this mode. */
export type Together = {
  readonly story: Sandbox;
  readonly c: Json;
  /** Charged by `@` in the examples; its code is "calls". */
  readonly calls: Json;
};

export async function together(story: Sandbox, mode: Mode): Promise<Together> {
  await setMode(story, mode);
  const calls = await story.metric("sum", { code: "calls" });
  return { story, c: await story.customer({ external_id: "c" }), calls };
}

export async function setMode(story: Sandbox, invoice_grouping: Mode): Promise<void> {
  const { settings } = await story.ok("PUT", "/v1/settings", { invoice_grouping });
  expect(settings.invoice_grouping).toBe(invoice_grouping);
}

/** A subscription that is called so; of customer c unless it says whose. */
export function subscribe(
  { story, c }: Together,
  external_id: string,
  fields: SubscriptionFields = {},
): Promise<Json> {
  return story.subscribe({ customer: c, external_id, ...fields });
}

/** What was issued, in the words of the example. */
export type Told = {
  readonly coupons?: readonly Json[];
  readonly notes?: readonly Json[];
  /** Customers by their letter, where there are several. */
  readonly customers?: readonly Json[];
  readonly dunning?: boolean;
};

/** Holds what was played against the sentences of the example. */
export async function expectTold(
  { story, c }: Together,
  example: string,
  also: Told = {},
): Promise<void> {
  const wanted = example.split(SENTENCE).map((sentence) => sentence.replace(/\.$/, ""));
  const found = await issuedAs(story, also.customers);
  if (also.coupons !== undefined) found.push(await usesOf(story, also.coupons));
  for (const note of also.notes ?? []) found.push(`Note ${noted(note).replace(":", ",")}`);
  if (also.dunning === true) found.push(await dunningOf(story));
  if (/\bBalance \d/.test(example)) found.push(`Balance ${(await balanceOf(story, c)) ?? 0}`);
  expect(found).toEqual(wanted);
}

/** Every invoice in the order of issue; with several customers those of each together. */
async function issuedAs(story: Sandbox, customers?: readonly Json[]): Promise<string[]> {
  const invoices = await story.invoices();
  if (customers === undefined) return invoices.map(invoiceAs);
  return customers.flatMap(({ id, external_id }) =>
    invoices
      .filter(({ customer_id }) => customer_id === id)
      .map((invoice) => `${external_id} ${invoiceAs(invoice)}`),
  );
}

/** "02-01: a period 3000 + a advance 2000; total 5000", also of a preview. */
export function invoiceAs(invoice: Json): string {
  const { subtotal_cents, discount_cents, tax_cents, total_cents, credit_applied_cents } = invoice;
  const sum = subtotal_cents - discount_cents + tax_cents;
  const lines: number[] = invoice.fees.map((fee: Json) => fee.discount_cents);
  const isTaken = lines.some((cents) => cents !== 0);
  const due = total_cents - credit_applied_cents;
  const totals = [
    `total ${total_cents}`,
    ...(sum < 0 ? [`credit ${-sum}`] : []),
    ...(credit_applied_cents > 0 ? [`credit applied ${credit_applied_cents}`, `due ${due}`] : []),
  ];
  const clauses = [
    `${invoice.issuing_date.slice(5)}: ${partsAs(invoice)}`,
    ...(isTaken ? [`discount ${discount_cents} (${lines.join(", ")})`] : []),
    ...(invoice.taxes.length > 0 ? [invoice.taxes.map(taxAs).join(", ")] : []),
    totals.join(", "),
  ];
  return clauses.join("; ");
}

function partsAs({ parts, invoice_type }: Json): string {
  const shown: string[] = parts.map((part: Json) => partAs(part, invoice_type));
  if (shown.length <= PARTS_SHOWN) return shown.join(" + ");
  return `${shown[0]} … ${shown.at(-1)} (${shown.length} parts)`;
}

function partAs(part: Json, invoice_type: string): string {
  const { subscription_external_id: name, reason, set_aside, subtotal_cents } = part;
  const what = set_aside ? `${reason} (set aside)` : reason;
  return name === null ? `${invoice_type} ${subtotal_cents}` : `${name} ${what} ${subtotal_cents}`;
}

function taxAs({ code, percent, taxable_cents, tax_cents }: Json): string {
  return `${code} ${percent} % of ${taxable_cents} → ${tax_cents}`;
}

async function usesOf(story: Sandbox, coupons: readonly Json[]): Promise<string> {
  const uses: number[] = [];
  for (const coupon of coupons) uses.push((await applied(story, coupon)).uses);
  return `Uses ${uses.join(", ")}`;
}

/** "03-01 suspend 0001 a": the messages in the order in which they were made. */
async function dunningOf(story: Sandbox): Promise<string> {
  const told = (await story.messages()).filter(({ event }) => STEPS[event] !== undefined);
  const names = new Map<string, string>();
  for (const row of (await story.get("/v1/subscriptions?all=1")).subscriptions) {
    names.set(row.id, row.external_id);
  }
  const steps = told.map(({ event, created_at, body }) => {
    const { data } = JSON.parse(body);
    const { number } = data.invoice ?? data.overdue_invoice;
    const whose = data.subscription === undefined ? [] : [names.get(data.subscription.id)];
    return [created_at.slice(5, 10), STEPS[event], number.slice(-4), ...whose].join(" ");
  });
  return `Dunning: ${steps.join(", ")}`;
}

/** Whatever the mode: the parts of an invoice fit it, and its lines fit the parts. */
export function partFaults(invoice: Json): string[] {
  const { number, parts, part_count, fees } = invoice;
  const faults: string[] = [];
  const hold = (holds: boolean, what: string) => {
    if (!holds) faults.push(`${number}: ${what}`);
  };
  hold(parts.length === part_count, "part_count is not the number of its parts");
  hold(
    parts.every(({ part }: Json, i: number) => part === i),
    "parts are not in order",
  );
  const owners = new Set(parts.map(({ subscription_id }: Json) => subscription_id));
  const owner = owners.size === 1 ? [...owners][0] : null;
  hold(invoice.subscription_id === owner, "subscription_id is not that of all its parts");
  hold(invoice.subscription_count === (owners.has(null) ? 0 : owners.size), "subscription_count");
  const first = parts.map(({ period_start }: Json) => period_start).sort()[0];
  const last = parts
    .map(({ period_end }: Json) => period_end)
    .sort()
    .at(-1);
  hold(invoice.period_start === first && invoice.period_end === last, "its period");
  const order = fees.map(({ part }: Json) => part);
  hold(
    order.every((part: number, i: number) => i === 0 || part >= order[i - 1]),
    "its lines are not part after part",
  );
  for (const part of parts) {
    const own = fees.filter((fee: Json) => fee.part === part.part);
    const sum = (field: string) => own.reduce((cents: number, fee: Json) => cents + fee[field], 0);
    hold(own.length > 0, `part ${part.part} has no line`);
    hold(part.subtotal_cents === sum("amount_cents"), `part ${part.part} subtotal_cents`);
    hold(part.discount_cents === sum("discount_cents"), `part ${part.part} discount_cents`);
    hold(part.net_cents === sum("taxable_cents"), `part ${part.part} net_cents`);
    hold(
      own.every((fee: Json) => fee.subscription_id === part.subscription_id),
      `part ${part.part} and its lines are of different subscriptions`,
    );
  }
  return faults;
}

/** A body with no field but those that say whose acts a preview is of. */
export function nextOf({ id }: Json, fields: Body = {}): Body {
  return { customer_id: id, at: "next", ...fields };
}
