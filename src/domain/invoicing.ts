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
  readonly issuing_date: string;
  readonly due_date: string;
  /** The billing period that it is of; null: the invoice is a use of its own. */
  readonly part: PartOfPeriod | null;
};

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
    issuing_date,
    due_date: addDays(issuing_date, input.net_payment_days),
    part: input.part ?? null,
  };
}

/** The instant an unpaid invoice becomes overdue: the first of the day after its due date. */
export function overdueAt(due_date: string): Date {
  return startOfDay(addDays(due_date, 1));
}
