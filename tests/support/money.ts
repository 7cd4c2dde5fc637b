// Taxes, coupons, one-off invoices, credit notes, grants and refunds in the short writing of the
// worked examples, and invoices in a form that can be read beside them.

import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { type Answer, type App, type Body, type Json, startApp } from "./app.ts";
import { instant, type Sandbox, sandbox } from "./given.ts";
import { Books } from "./money-invariants.ts";
import { closeSound } from "./pricing.ts";

/** The rows of an invoice in the one order of amounts, with their short names. */
const ROWS: readonly (readonly [string, string])[] = [
  ["subtotal", "subtotal_cents"],
  ["discount", "discount_cents"],
  ["tax", "tax_cents"],
  ["total", "total_cents"],
  ["credit", "credit_applied_cents"],
  ["offset", "offset_cents"],
  ["paid", "amount_paid_cents"],
  ["overpaid", "overpaid_cents"],
  ["written off", "written_off_cents"],
  ["due", "amount_due_cents"],
];

/** What the log calls facts that endpoints are told, and what endpoints are told they are. */
const MARKS: readonly (readonly [string, string])[] = [
  ["invoice.created", "invoice.created"],
  ["payment.recorded", "payment.succeeded"],
  ["credit_note.created", "credit_note.created"],
  ["refund.recorded", "payment.refunded"],
];

export type Stories = {
  readonly app: () => App;
  readonly begin: (at: string) => Promise<Sandbox>;
};

/** A service for a file of stories; the books of each story are checked when its test ends. */
export function stories(): Stories {
  let app: App;
  let told: Sandbox[] = [];
  beforeAll(async () => {
    app = await startApp();
  });
  afterEach(async ({ task }) => {
    const ended = told;
    told = [];
    // A test that fell over half way has shown its fault already.
    if (task.result?.state === "fail") return;
    for (const story of ended) expect(await new Books(story).broken()).toEqual([]);
  }, 120_000);
  afterAll(() => closeSound(app));
  const begin = async (at: string) => {
    const story = await sandbox(app, at);
    told.push(story);
    return story;
  };
  return { app: () => app, begin };
}

/** "201", or "422 amount_exceeds_creditable". */
export function outcome({ status, body }: Answer): string {
  const code = body?.error?.code;
  return code === undefined ? String(status) : `${status} ${code}`;
}

export async function settings(story: Sandbox, fields: Body): Promise<Json> {
  return (await story.ok("PUT", "/v1/settings", fields)).settings;
}

export async function tax(story: Sandbox, code: string, percent: string, fields: Body = {}) {
  return (await story.post("/v1/taxes", { code, name: code.toUpperCase(), percent, ...fields }))
    .tax as Json;
}

/** The tax `vat` of this percent, from the settings. */
export async function vat(story: Sandbox, percent: string): Promise<Json> {
  const made = await tax(story, "vat", percent);
  await settings(story, { tax_codes: ["vat"] });
  return made;
}

let coupons = 0;

export async function coupon(story: Sandbox, terms: Body): Promise<Json> {
  coupons += 1;
  const currency = terms.amount_cents === undefined ? {} : { currency: "USD" };
  const named = { code: `coupon-${coupons}`, name: "Coupon", ...currency, ...terms };
  return (await story.post("/v1/coupons", named)).coupon;
}

export function applyCoupon(story: Sandbox, { id }: Json, customer: Json, fields: Body = {}) {
  return story.call("POST", `/v1/coupons/${id}/apply`, { customer_id: customer.id, ...fields });
}

/** A coupon of these terms, made and applied to the customer; the applied one. */
export async function discount(
  story: Sandbox,
  customer: Json,
  terms: Body,
  fields: Body = {},
): Promise<Json> {
  const answer = await applyCoupon(story, await coupon(story, terms), customer, fields);
  expect(outcome(answer)).toBe("201");
  return answer.body.applied_coupon;
}

export async function applied(story: Sandbox, { id }: Json): Promise<Json> {
  return (await story.get(`/v1/applied-coupons/${id}`)).applied_coupon;
}

const LINE = /^(-?\d+)(?: \[([^\]]*)\])?$/;

/** "100, 200 [a b], 300 []": the lines of a one-off invoice, with their taxes where they say so. */
export function linesOf(text: string): Body[] {
  return text.split(", ").map((part, i) => {
    const [, amount, codes] = LINE.exec(part) ?? [];
    if (amount === undefined) throw new Error(`"${part}" is no line.`);
    const tax_codes = codes?.split(" ").filter((code) => code !== "");
    const line = { name: `Line ${i + 1}`, unit_amount_cents: Number(amount) };
    return { ...line, ...(tax_codes !== undefined && { tax_codes }) };
  });
}

/** The same line so many times. */
export function repeated(line: string, count: number): string {
  return Array.from({ length: count }, () => line).join(", ");
}

export function proposeOneOff(
  story: Sandbox,
  customer: Json,
  lines: string | readonly Body[],
  fields: Body = {},
): Promise<Answer> {
  const written = typeof lines === "string" ? linesOf(lines) : lines;
  const sent = { customer_id: customer.id, lines: written, ...fields };
  return story.call("POST", "/v1/invoices", sent);
}

/** A one-off invoice, as the single invoice is answered. */
export async function oneOff(
  story: Sandbox,
  customer: Json,
  lines: string | readonly Body[],
  fields: Body = {},
): Promise<Json> {
  const answer = await proposeOneOff(story, customer, lines, fields);
  if (answer.status !== 201) throw new Error(`one-off: ${JSON.stringify(answer.body)}`);
  return story.invoice(answer.body.invoice.id);
}

/** "subtotal 100, tax 20, total 120, due 120": its rows in their one order, without those of 0. */
export function figures(invoice: Json): string {
  const rows = ROWS.map(([name, field]) => [name, invoice[field]] as const);
  const shown = rows.filter(([, amount]) => amount !== 0);
  return shown.map(([name, amount]) => `${name} ${amount}`).join(", ");
}

/** The same of the invoice as it is now, with its state: "outstanding, pending". */
export async function standing(story: Sandbox, { id }: Json): Promise<string[]> {
  const invoice = await story.invoice(id);
  return [figures(invoice), `${invoice.status}, ${invoice.payment_status}`];
}

export function discountsOf({ fees }: Json): number[] {
  return fees.map((fee: Json) => fee.discount_cents);
}

/** "vat 20 of 3514: 703" for each tax line. */
export function taxesOf({ taxes }: Json): string[] {
  return taxes.map((line: Json) => {
    const { code, percent, taxable_cents, tax_cents } = line;
    return `${code} ${percent} of ${taxable_cents}: ${tax_cents}`;
  });
}

/** What each coupon took, in their order. */
export function takenOf(invoice: Json): number[] {
  return invoice.coupons.map((one: Json) => one.amount_cents);
}

/** What each grant gave, in their order. */
export function creditsOf({ credits }: Json): number[] {
  return credits.map((credit: Json) => credit.amount_cents);
}

/** A note over amounts by the place of their line, or over all that is left; it may be refused. */
export function credit(
  story: Sandbox,
  invoice: Json,
  amounts?: Readonly<Record<number, unknown>>,
  fields: Body = {},
): Promise<Answer> {
  const lines = Object.entries(amounts ?? {}).map(([i, amount_cents]) => ({
    fee_id: invoice.fees[Number(i)].id,
    amount_cents,
  }));
  const chosen = amounts === undefined ? {} : { lines };
  return story.call("POST", "/v1/credit-notes", { invoice_id: invoice.id, ...chosen, ...fields });
}

export async function note(
  story: Sandbox,
  invoice: Json,
  amounts?: Readonly<Record<number, number>>,
  fields: Body = {},
): Promise<Json> {
  const answer = await credit(story, invoice, amounts, fields);
  if (answer.status !== 201) throw new Error(`credit note: ${JSON.stringify(answer.body)}`);
  return answer.body.credit_note;
}

/** "1080 + 59 = 1139: offset 1139", without what is 0 after the colon. */
export function noted(made: Json): string {
  const { subtotal_cents, tax_cents, total_cents } = made;
  const ways = ["offset", "refund", "credit"].map((way) => [way, made[`${way}_cents`]] as const);
  const taken = ways.filter(([, amount]) => amount !== 0).map(([way, cents]) => `${way} ${cents}`);
  return `${subtotal_cents} + ${tax_cents} = ${total_cents}: ${taken.join(", ")}`;
}

/** Instants may be short. */
export function proposeGrant(
  story: Sandbox,
  customer: Json,
  amount_cents: unknown,
  { expires_at, ...fields }: Body & { expires_at?: string } = {},
): Promise<Answer> {
  const expiry = expires_at === undefined ? {} : { expires_at: instant(expires_at) };
  const sent = { customer_id: customer.id, amount_cents, kind: "free", ...expiry, ...fields };
  return story.call("POST", "/v1/grants", sent);
}

/** Free unless it says otherwise. */
export async function grant(
  story: Sandbox,
  customer: Json,
  amount_cents: number,
  fields: Body & { expires_at?: string } = {},
): Promise<Json> {
  const answer = await proposeGrant(story, customer, amount_cents, fields);
  if (answer.status !== 201) throw new Error(`grant: ${JSON.stringify(answer.body)}`);
  return answer.body.grant;
}

/** A paid grant and the invoice that is to be paid for it. */
export async function topUp(story: Sandbox, customer: Json, cents: number, fields: Body = {}) {
  const made = await grant(story, customer, cents, { kind: "paid", ...fields });
  return { grant: made, invoice: await story.invoice(made.invoice_id) };
}

export async function grantNow(story: Sandbox, { id }: Json): Promise<Json> {
  return (await story.get(`/v1/grants/${id}`)).grant;
}

/** "active 300 of 1000". */
export async function grantState(story: Sandbox, made: Json): Promise<string> {
  const { status, remaining_cents, amount_cents } = await grantNow(story, made);
  return `${status} ${remaining_cents} of ${amount_cents}`;
}

export async function grantsOf(story: Sandbox, customer: Json, query = ""): Promise<Json[]> {
  const url = `/v1/grants?all=1&customer_id=${customer.id}${query}`;
  return (await story.get(url)).grants.reverse();
}

export async function walletOf(story: Sandbox, customer: Json, currency = "USD"): Promise<Json> {
  const { wallets } = await story.get(`/v1/customers/${customer.id}/wallets`);
  return wallets.find((wallet: Json) => wallet.currency === currency);
}

export async function balanceOf(story: Sandbox, customer: Json, currency?: string) {
  return (await walletOf(story, customer, currency))?.balance_cents as number | undefined;
}

export async function watch(story: Sandbox, customer: Json, fields: Body, currency = "USD") {
  const url = `/v1/customers/${customer.id}/wallets/${currency}`;
  return (await story.ok("PUT", url, fields)).wallet as Json;
}

/** "free 5000 → 5000": the entries of a wallet and the balance after each, oldest first. */
export async function ledgerOf(story: Sandbox, customer: Json, currency = "USD") {
  const url = `/v1/customers/${customer.id}/ledger?all=1&currency=${currency}`;
  const { entries }: Json = await story.get(url);
  return entries
    .reverse()
    .map((entry: Json) => `${entry.reason} ${entry.amount_cents} → ${entry.balance_cents}`);
}

/** A payment that must be taken; `allow_overpayment` where it is more than is due. */
export async function paid(story: Sandbox, invoice: Json, cents: number, fields: Body = {}) {
  const answer = await story.pay(invoice, cents, fields);
  if (answer.status !== 201) throw new Error(`payment: ${JSON.stringify(answer.body)}`);
  return answer.body.payment as Json;
}

let refunds = 0;

export function refund(story: Sandbox, payment: Json, amount_cents: unknown, fields: Body = {}) {
  refunds += 1;
  const provider_refund_id = `refund-${refunds}`;
  const sent = { payment_id: payment.id, amount_cents, provider_refund_id, ...fields };
  return story.call("POST", "/v1/refunds", sent);
}

export function voidInvoice(story: Sandbox, { id }: Json): Promise<Answer> {
  return story.call("POST", `/v1/invoices/${id}/void`);
}

/** In the order of issue: what each of a customer's or subscription's invoices comes to. */
export async function inOrder(story: Sandbox, whose?: Json): Promise<Json[]> {
  const all = await story.invoices();
  return all.filter(
    ({ subscription_id, customer_id }) =>
      whose === undefined || [subscription_id, customer_id].includes(whose.id),
  );
}

/**
 * The data of what endpoints were told under one event code, oldest first. The feed is in the order
 * of commits and may lag, so it is read once all that the log promises has come.
 */
export async function told(story: Sandbox, event: string): Promise<Json[]> {
  const logged = await Promise.all(MARKS.map(([type]) => story.log(type)));
  return vi.waitFor(
    async () => {
      const { webhook_messages } = await story.get("/v1/webhook-messages?all=1");
      for (const [i, [, code]] of MARKS.entries()) {
        const come = webhook_messages.filter((message: Json) => message.event === code);
        expect([code, come.length]).toEqual([code, logged[i]?.length]);
      }
      const wanted = webhook_messages.filter((message: Json) => message.event === event);
      return wanted.map((message: Json) => JSON.parse(message.body).data);
    },
    { timeout: 10_000, interval: 20 },
  );
}
