// An invoice that is asked for, before its amounts are known.

import { utcDate } from "../../domain/dates.ts";
import { draftInvoice, type InvoiceDraft } from "../../domain/invoicing.ts";
import type { FeeDraft } from "../../domain/pricing.ts";
import type * as invoices from "../../store/invoices/invoices.ts";
import type { BilledSubscription } from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";

/** An invoice to be made, and why: one cause makes one invoice, whatever is tried again. */
export type InvoiceRequest = {
  readonly draft: InvoiceDraft;
  readonly cause: invoices.Cause;
  readonly period_no: number;
  readonly cause_no: number;
  readonly customer: InvoiceCustomer;
  readonly subscription: InvoiceSubscription | null;
  readonly terms?: InvoiceTerms;
};

/** What a caller says of an invoice that it makes. */
export type InvoiceTerms = {
  readonly memo?: string;
  readonly po_number?: string;
  readonly metadata?: Record<string, string>;
  readonly net_payment_days?: number;
};

export type InvoiceCustomer = {
  readonly id: string;
  readonly external_id: string;
  readonly name: string;
  readonly email: string;
};
export type InvoiceSubscription = {
  readonly id: string;
  readonly external_id: string;
  readonly plan_code: string;
};

type BilledFor = InvoiceSubscription &
  Pick<
    BilledSubscription,
    "customer_id" | "customer_external_id" | "customer_name" | "customer_email"
  >;

/** `subscription` is named with the plan of the billed period. None when nothing is to bill. */
export function requestFor(
  subscription: BilledFor,
  draft: InvoiceDraft | undefined,
  cause: InvoiceRequest["cause"],
  period_no: number,
  cause_no = 0,
): InvoiceRequest[] {
  if (draft === undefined) return [];
  const { id, external_id, plan_code } = subscription;
  const customer = {
    id: subscription.customer_id,
    external_id: subscription.customer_external_id,
    name: subscription.customer_name,
    email: subscription.customer_email,
  };
  return [
    { draft, cause, period_no, cause_no, customer, subscription: { id, external_id, plan_code } },
  ];
}

/** An invoice of no subscription: dated today, and made also when it comes to 0. */
export function requestForToday(
  { net_payment_days }: ProjectSettings,
  customer: InvoiceCustomer,
  cause: "add_on" | "one_off" | "top_up",
  { fees, currency }: { readonly fees: readonly FeeDraft[]; readonly currency: string },
  now: Date,
): InvoiceRequest {
  const today = utcDate(now);
  const draft = draftInvoice({
    fees,
    currency,
    period_start: today,
    period_end: today,
    now,
    net_payment_days,
    allow_zero: true,
  });
  if (draft === undefined) throw new Error("A draft that may be of 0 is always made.");
  // The two numbers tell apart the invoices of one subscription.
  return { draft, cause, period_no: 0, cause_no: 0, customer, subscription: null };
}
