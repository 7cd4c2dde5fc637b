// An invoice to be made: its lines, which come from pricing, and its dates.

import { addDays, startOfDay, utcDate } from "./dates.ts";
import type { PartOfPeriod } from "./full-periods.ts";
import { checkAmount, sumCents } from "./money.ts";
import type { FeeDraft } from "./pricing.ts";

export type InvoiceDraft = {
  readonly fees: readonly FeeDraft[];
  readonly currency: string;
  readonly period_start: string;
  readonly period_end: string;
  /** When it is issued: it can use the grants that have not expired by then. */
  readonly issued_at: Date;
  readonly issuing_date: string;
  readonly due_date: string;
  /** The period it bills, by which coupons count uses; null: the invoice is a use of its own. */
  readonly part: PartOfPeriod | null;
};

/** The invoice, or undefined when lines are all of 0 and that is not allowed. */
export function draftInvoice(input: {
  readonly fees: readonly FeeDraft[];
  readonly currency: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly now: Date;
  readonly net_payment_days: number;
  /** Set for an add-on, invoiced at any price, and for a preview, shown at any price. */
  readonly allow_zero?: boolean;
  readonly part?: PartOfPeriod;
}): InvoiceDraft | undefined {
  const { fees, currency, period_start, period_end } = input;
  const isAllZero = fees.every((fee) => fee.amount_cents === 0);
  if (isAllZero && input.allow_zero !== true) return undefined;
  checkAmount(sumCents(fees.map((fee) => fee.amount_cents)));
  const issuing_date = utcDate(input.now);
  return {
    fees,
    currency,
    period_start,
    period_end,
    issued_at: input.now,
    issuing_date,
    due_date: addDays(issuing_date, input.net_payment_days),
    part: input.part ?? null,
  };
}

/** The instant an unpaid invoice becomes overdue: the first of the day after its due date. */
export function overdueAt(due_date: string): Date {
  return startOfDay(addDays(due_date, 1));
}
