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

/** What one act puts on an invoice, also where its lines are of 0 or it has none. */
export function draftInvoice(input: {
  readonly fees: readonly FeeDraft[];
  readonly currency: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly now: Date;
  readonly net_payment_days: number;
  readonly part?: PartOfPeriod;
}): InvoiceDraft {
  const { fees, currency, period_start, period_end } = input;
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

/** Whether an invoice of these is made: a line other than 0 is on one of them. */
export function isInvoiced(drafts: readonly InvoiceDraft[]): boolean {
  return drafts.some(({ fees }) => fees.some(({ amount_cents }) => amount_cents !== 0));
}

/** One invoice of what falls due together, line behind line. They are of one currency and day. */
export function joinDrafts(first: InvoiceDraft, others: readonly InvoiceDraft[]): InvoiceDraft {
  if (others.length === 0) return first;
  const drafts = [first, ...others];
  const fees = drafts.flatMap((draft) => draft.fees);
  checkAmount(sumCents(fees.map((fee) => fee.amount_cents)));
  return {
    ...first,
    fees,
    period_start: least(drafts.map(({ period_start }) => period_start)),
    period_end: most(drafts.map(({ period_end }) => period_end)),
    part: null,
  };
}

function least(dates: readonly string[]): string {
  return dates.reduce((one, other) => (other < one ? other : one));
}

function most(dates: readonly string[]): string {
  return dates.reduce((one, other) => (other > one ? other : one));
}

/** The instant an unpaid invoice becomes overdue: the first of the day after its due date. */
export function overdueAt(due_date: string): Date {
  return startOfDay(addDays(due_date, 1));
}
