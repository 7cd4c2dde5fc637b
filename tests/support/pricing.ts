// Charges of every model in the short writing of the worked examples, and invoices in a form that
// can be read beside them.

import { expect } from "vitest";
import type { Answer, App, Body, Json } from "./app.ts";
import type { Sandbox } from "./given.ts";
import { checkInvariants } from "./invariants.ts";

const TIER = /^(?:<=(\S+)|rest) @(\S+)(?: \+ (\S+))?$/;

/** "<=100 @0.10 + 5, rest @0.05": the last sign is a flat amount. */
export function tiers(text: string): Body[] {
  return text.split(", ").map((part) => {
    const [, up_to = null, amount, flat_amount] = TIER.exec(part) ?? [];
    if (amount === undefined) throw new Error(`"${part}" is no tier.`);
    return { up_to, amount, ...(flat_amount !== undefined && { flat_amount }) };
  });
}

function usageCharge(charge_model: string, metric: Json, properties: Body): Body {
  return { charge_model, billable_metric_id: metric.id, properties };
}

export function graduated(metric: Json, text: string, more: Body = {}): Body {
  return usageCharge("graduated", metric, { tiers: tiers(text), ...more });
}

export function volume(metric: Json, text: string, more: Body = {}): Body {
  return usageCharge("volume", metric, { tiers: tiers(text), ...more });
}

export function packages(metric: Json, size: string, amount: string, more: Body = {}): Body {
  return usageCharge("package", metric, { package_size: size, amount, ...more });
}

export function percentage(metric: Json, percent: string, more: Body = {}): Body {
  return usageCharge("percentage", metric, { percent, ...more });
}

/** Sends usage with properties, as metrics with dimensions ask for. */
export function useOf(
  story: Sandbox,
  subscription: Json,
  metric: Json,
  use: { readonly value: string; readonly of: Body; readonly at?: string },
): Promise<Json> {
  const event = story.usage(subscription, metric, use.value, use.at);
  return story.post("/v1/events", { ...event, properties: use.of });
}

/** The amounts of an invoice's lines in order, without those of 0. */
export function lines(invoice: Json): number[] {
  const amounts: number[] = invoice.fees.map((fee: Json) => fee.amount_cents);
  return amounts.filter((amount) => amount !== 0);
}

/** "2026-02-01: 3000 200": the day of issue and the lines, without those of 0. */
export function written(invoice: Json): string {
  return `${invoice.issuing_date}: ${lines(invoice).join(" ")}`;
}

/** Every invoice of the project, or of one subscription, in the order of issue. */
export async function issued(story: Sandbox, subscription?: Json): Promise<string[]> {
  return (await invoicesOf(story, subscription)).map(written);
}

export async function invoicesOf(story: Sandbox, subscription?: Json): Promise<Json[]> {
  const invoices = await story.invoices();
  return invoices.filter(
    ({ subscription_id }) => subscription === undefined || subscription_id === subscription.id,
  );
}

/** "2026-01-31 to 2026-02-27: 3000": the days that an invoice is for, and its lines. */
export function spanned(invoice: Json): string {
  const { period_start, period_end } = invoice;
  return `${period_start} to ${period_end}: ${lines(invoice).join(" ")}`;
}

/** What a customer has as credit in US dollars. */
export async function creditOf(story: Sandbox, customer: Json): Promise<number> {
  const { credits } = await story.get(`/v1/customers/${customer.id}/credits`);
  return credits.find(({ currency }: Json) => currency === "USD")?.balance_cents ?? 0;
}

/** 422 validation_error that names the field; a pattern where more than one name is right. */
export function expectFault(answer: Answer, field: string | RegExp, code?: string): void {
  const shown = JSON.stringify(answer.body);
  expect([answer.status, answer.body?.error?.code], shown).toEqual([422, "validation_error"]);
  const named = answer.body.error.details.filter((detail: Json) =>
    typeof field === "string" ? detail.field === field : field.test(detail.field),
  );
  expect(named.length, `${field} in ${shown}`).toBeGreaterThan(0);
  if (code !== undefined) expect(named.map((detail: Json) => detail.code)).toContain(code);
}

let proposed = 0;

/** A plan with these charges, as a call that may be refused. */
export function proposePlan(story: Sandbox, charges: readonly Body[]): Promise<Answer> {
  proposed += 1;
  const terms = { name: "Pro", interval: "monthly", amount_currency: "USD", charges };
  return story.call("POST", "/v1/plans", { code: `proposed-${proposed}`, ...terms });
}

/** Refused by that field, and no plan is made. */
export async function expectPlanRefused(
  story: Sandbox,
  charge: Body,
  field: string | RegExp,
  code?: string,
): Promise<void> {
  const { plans } = await story.get("/v1/plans");
  expectFault(await proposePlan(story, [charge]), field, code);
  expect((await story.get("/v1/plans")).plans).toEqual(plans);
}

/** Ends a file of stories: whatever was played, the books are sound. */
export async function closeSound(app: App): Promise<void> {
  const broken = await checkInvariants(app.context.db);
  await app.close();
  expect(broken).toEqual([]);
}
