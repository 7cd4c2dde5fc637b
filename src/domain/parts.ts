// What an invoice is made of: a part for each thing that is billed, with the sums of its lines.

import type { InvoicePart, InvoiceWithFees } from "../schema/invoices.ts";
import { sumCents } from "./money.ts";

/** A part without its sums, which its lines say. */
export type PlainPart = Omit<
  InvoicePart,
  "part" | "subtotal_cents" | "discount_cents" | "net_cents"
>;

type Line = {
  readonly part: number;
  readonly amount_cents: number;
  readonly discount_cents: number;
};

/** Parts in their order, with the sums of their lines. */
export function partsWithSums(parts: readonly PlainPart[], lines: readonly Line[]): InvoicePart[] {
  const own = parts.map((): Line[] => []);
  for (const line of lines) own[line.part]?.push(line);
  return parts.map((plain, part) => {
    const subtotal_cents = sumCents((own[part] ?? []).map((line) => line.amount_cents));
    const discount_cents = sumCents((own[part] ?? []).map((line) => line.discount_cents));
    const net_cents = subtotal_cents - discount_cents;
    return { part, ...plain, subtotal_cents, discount_cents, net_cents };
  });
}

const REASONS = { addon: "add_on", one_off: "one_off", top_up: "top_up" } as const;

type Alone = Pick<InvoiceWithFees, "invoice_type" | "period_start" | "period_end" | "created_at">;

/** The one part of an invoice that is of no subscription, which the invoice itself says. */
export function partOfNone(invoice: Alone): PlainPart {
  const { invoice_type, period_start, period_end, created_at } = invoice;
  if (invoice_type === "subscription") throw new Error("A part of a subscription is kept.");
  return {
    subscription_id: null,
    subscription_external_id: null,
    plan_code: null,
    reason: REASONS[invoice_type],
    period_start,
    period_end,
    due_at: created_at,
    set_aside: false,
  };
}

/** How many subscriptions the parts are of. */
export function subscriptionCount(parts: readonly Pick<InvoicePart, "subscription_id">[]): number {
  const ids = parts.flatMap(({ subscription_id }) => subscription_id ?? []);
  return new Set(ids).size;
}

/** What a subscription owes on an invoice, before taxes, in the order of the lines. */
export function netBySubscription(parts: readonly InvoicePart[]): Map<string, number> {
  const net = new Map<string, number>();
  for (const { subscription_id, net_cents } of parts) {
    if (subscription_id === null) continue;
    net.set(subscription_id, (net.get(subscription_id) ?? 0) + net_cents);
  }
  return net;
}
