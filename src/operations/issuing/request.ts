// An invoice that is asked for, before its amounts are known, and the acts that it is made of.

import { utcDate } from "../../domain/dates.ts";
import { draftInvoice, type InvoiceDraft, joinDrafts } from "../../domain/invoicing.ts";
import type { FeeDraft } from "../../domain/pricing.ts";
import type * as invoices from "../../store/invoices/invoices.ts";
import type { BilledSubscription } from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";

/** An invoice to be made. */
export type InvoiceRequest = {
  /** All lines, part after part. */
  readonly draft: InvoiceDraft;
  readonly parts: readonly Part[];
  readonly customer: InvoiceCustomer;
  /** The one that all parts are of, with the plan of the last; null for none, or several. */
  readonly subscription: InvoiceSubscription | null;
  readonly terms?: InvoiceTerms;
};

/** What one act puts on an invoice. An act makes one part, whatever is tried again. */
export type Part = {
  readonly draft: InvoiceDraft;
  readonly subscription: InvoiceSubscription | null;
  readonly period_no: number;
  readonly reason: invoices.Reason;
  /** Tells apart the supplements of one period. */
  readonly cause_no: number;
  /** When the act fell due, whenever it is done. */
  readonly due_at: Date;
  /** Whether it could not be billed when it fell due. */
  readonly set_aside: boolean;
};

/** A part of a subscription, with the customer whose invoice it will stand on. */
export type Act = Part & {
  readonly customer: InvoiceCustomer;
  readonly subscription: InvoiceSubscription;
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

/** Whom an act is billed to, and for what. */
export type BilledFor = InvoiceSubscription &
  Pick<
    BilledSubscription,
    "customer_id" | "customer_external_id" | "customer_name" | "customer_email" | "left_behind"
  >;

export type Why = Pick<Part, "period_no" | "reason" | "due_at"> & { readonly cause_no?: number };

/** `subscription` is named with the plan of the billed period. An act without lines is none. */
export function actsOf(subscription: BilledFor, draft: InvoiceDraft | undefined, why: Why): Act[] {
  if (draft === undefined || draft.fees.length === 0) return [];
  return [actOf(subscription, draft, why)];
}

export function actOf(subscription: BilledFor, draft: InvoiceDraft, why: Why): Act {
  const { id, external_id, plan_code, left_behind } = subscription;
  const customer = {
    id: subscription.customer_id,
    external_id: subscription.customer_external_id,
    name: subscription.customer_name,
    email: subscription.customer_email,
  };
  const of = { customer, subscription: { id, external_id, plan_code }, set_aside: left_behind };
  return { draft, cause_no: 0, ...why, ...of };
}

/** One invoice for these acts, also where its lines are all of 0. */
export function joined(first: Act, others: readonly Act[]): InvoiceRequest {
  const parts = [first, ...others];
  const drafts = others.map(({ draft }) => draft);
  const last = parts.at(-1) ?? first;
  const isOfOne = parts.every(({ subscription }) => subscription.id === first.subscription.id);
  return {
    draft: joinDrafts(first.draft, drafts),
    parts,
    customer: first.customer,
    subscription: isOfOne ? last.subscription : null,
  };
}

/** The lines of an invoice in their order, each with the part that it is of. */
export function linesOf({ parts }: Pick<InvoiceRequest, "parts">) {
  return parts.flatMap((part, part_no) => part.draft.fees.map((fee) => ({ fee, part, part_no })));
}

/** An invoice of no subscription: dated today, and made also when it comes to 0. */
export function requestForToday(
  { net_payment_days }: ProjectSettings,
  customer: InvoiceCustomer,
  reason: "add_on" | "one_off" | "top_up",
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
  });
  const numbers = { period_no: 0, cause_no: 0 };
  const part = { draft, reason, ...numbers, due_at: now, set_aside: false, subscription: null };
  return { draft, parts: [part], customer, subscription: null };
}
