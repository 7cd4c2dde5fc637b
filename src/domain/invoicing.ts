// An invoice as a whole: its sums, dates, number and status. The lines come from pricing.
import { addDays, startOfDay, utcDate } from "./dates.ts";
import { checkAmount, sumCents } from "./money.ts";
import type { FeeDraft } from "./pricing.ts";

export type InvoiceDraft = {
  readonly fees: readonly FeeDraft[];
  readonly currency: string;
  /** The sum of the fees; below zero when corrections outweigh the rest. */
  readonly subtotal_cents: number;
  /** Never below zero. */
  readonly total_cents: number;
  /** What a sum below zero gives back to the customer. */
  readonly credit_cents: number;
  readonly period_start: string;
  readonly period_end: string;
  readonly issuing_date: string;
  readonly due_date: string;
};

export type InvoiceStatus = "outstanding" | "overdue" | "succeeded" | "voided";
export type PaymentStatus = "pending" | "partially_paid" | "succeeded";

const SEQUENCE_DIGITS_MIN = 4;

/** Undefined when there is nothing to bill: lines of 0 alone make no invoice, unless allowed. */
export function draftInvoice(input: {
  readonly fees: readonly FeeDraft[];
  readonly currency: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly now: Date;
  readonly net_payment_days: number;
  /** An add-on is invoiced at any price; a preview is shown at any price. */
  readonly allow_zero?: boolean;
}): InvoiceDraft | undefined {
  const { fees, currency, period_start, period_end } = input;
  const isAllZero = fees.every((fee) => fee.amount_cents === 0);
  if (isAllZero && input.allow_zero !== true) return undefined;
  const subtotal_cents = checkAmount(sumCents(fees.map((fee) => fee.amount_cents)));
  const issuing_date = utcDate(input.now);
  return {
    fees,
    currency,
    subtotal_cents,
    total_cents: Math.max(0, subtotal_cents),
    credit_cents: Math.max(0, -subtotal_cents),
    period_start,
    period_end,
    issuing_date,
    due_date: addDays(issuing_date, input.net_payment_days),
  };
}

/** How much of a customer's credit an invoice uses up, and what stays to be paid. */
export function applyCredit(
  total_cents: number,
  balance_cents: number,
): { credit_applied_cents: number; amount_due_cents: number } {
  const credit_applied_cents = Math.max(0, Math.min(total_cents, balance_cents));
  return { credit_applied_cents, amount_due_cents: total_cents - credit_applied_cents };
}

/** `succeeded` exactly when nothing is due. Credit is not a payment: it alone leaves `pending`. */
export function invoiceStatus(invoice: {
  readonly total_cents: number;
  readonly paid_cents: number;
  readonly credit_cents: number;
  readonly overdue: boolean;
  readonly voided: boolean;
}): { status: InvoiceStatus; payment_status: PaymentStatus } {
  const { total_cents, paid_cents, credit_cents, overdue, voided } = invoice;
  const unpaid = paid_cents > 0 ? "partially_paid" : "pending";
  if (voided) return { status: "voided", payment_status: unpaid };
  if (total_cents - paid_cents - credit_cents <= 0) {
    return { status: "succeeded", payment_status: "succeeded" };
  }
  return { status: overdue ? "overdue" : "outstanding", payment_status: unpaid };
}

/** The instant an unpaid invoice becomes overdue: the first of the day after its due date. */
export function overdueAt(due_date: string): Date {
  return startOfDay(addDays(due_date, 1));
}

/** Without gaps per project and year; the year is that of the issuing date. */
export function invoiceNumber(year: number, sequence: number): string {
  return `INV-${year}-${String(sequence).padStart(SEQUENCE_DIGITS_MIN, "0")}`;
}
