// The end of a period, decided: what it is billed. Pure: the close, the final invoice and the
// preview all come through here. opening.ts decides the period that follows.

import { type BaseInvoice, daysBack } from "./corrections.ts";
import { startOfDay, utcDate } from "./dates.ts";
import type { PartOfPeriod } from "./full-periods.ts";
import { draftInvoice, type InvoiceDraft } from "./invoicing.ts";
import {
  type CorrectedPeriod,
  correctLate,
  type LatePeriod,
  levelsAfterLate,
  type PricedPeriod,
} from "./late-periods.ts";
import { levelsBehind } from "./levels.ts";
import { type NameBook, namesOf } from "./names.ts";
import { arrearsFees, type Billed, noFees, type PeriodFees } from "./period-fees.ts";
import { billedDates, periodAt, periodDays, periodMs, type Suspension } from "./periods.ts";
import { listOf, type PriceLists } from "./price-lists.ts";
import type { Advance, BilledDays, PlanVersion } from "./pricing.ts";
import type { Quantities } from "./quantities.ts";
import type { Levels, MetricUsage } from "./usage-fees.ts";

export type ClosingSubscription = PricedPeriod & {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly current_period_start: Date;
  readonly current_period_next: Date;
  readonly in_trial: boolean;
  readonly ends_at: Date | null;
  readonly scheduled_plan_id: string | null;
  readonly advance: Advance | null;
};

export type Closing = {
  readonly subscription: ClosingSubscription & { readonly period_no: number };
  /** The end of the billed period: the next one's start, or the instant of termination. */
  readonly end: Date;
  /** The plan it is changed to at this instant, the day of which is then billed by that plan. */
  readonly change_to?: string;
  /** Properties of the period that follows, where they change with it. */
  readonly next_properties?: Readonly<Record<string, unknown>>;
  readonly lists: PriceLists;
  readonly names: NameBook;
  readonly usage: readonly MetricUsage[];
  readonly suspensions: readonly Suspension[];
  readonly quantities: Quantities;
  readonly late: readonly LatePeriod[];
  /** The invoice that billed the base fee of the period in advance. */
  readonly base_invoice: BaseInvoice | null;
  readonly net_payment_days: number;
  /** Drops what is due at the start of the period that follows, as it cannot be billed. */
  readonly drops_start_fees?: boolean;
  readonly now: Date;
};

export type Closed = {
  readonly list: PlanVersion;
  /** Undefined where the period is never billed. */
  readonly draft: InvoiceDraft | undefined;
  readonly billed: Billed;
  readonly corrected: readonly CorrectedPeriod[];
  /** Levels at the start of the period and at its end, late usage included. */
  readonly levels: { readonly start: Levels | null; readonly end: Levels | null };
};

export function closePeriod(closing: Closing): Closed {
  const { subscription, end, lists, base_invoice } = closing;
  const list = listOf(lists, subscription);
  const corrections = correctLate(closing);
  const start = levelsAtStart(closing);
  const { fees, base_correction, billed } = ownFees(closing, list, start ?? {});
  const dates = billedDates(subscription.current_period_start, end);
  const part = partOf(subscription, list);
  const period = { period_no: subscription.period_no, part, ended_at: end, dates };
  const days_back = base_correction && daysBack(base_correction, base_invoice, period);
  const draft = draftInvoice({
    fees: [...fees, ...corrections.fees, ...(days_back === undefined ? [] : [days_back])],
    currency: list.currency,
    ...dates,
    now: closing.now,
    net_payment_days: closing.net_payment_days,
    part,
  });
  const levels = { start, end: levelsBehind(start, closing.usage) };
  return { list, draft, billed, corrected: corrections.corrected, levels };
}

/** The end of a period that is never billed. Late periods are left to a supplement. */
export function skipPeriod(closing: Closing): Closed {
  const { subscription, lists, usage } = closing;
  // The supplement reaches no further than the late periods: this one is not late itself.
  const start = levelsAtStart(closing);
  return {
    list: listOf(lists, subscription),
    draft: undefined,
    billed: {},
    corrected: [],
    levels: { start, end: levelsBehind(start, usage) },
  };
}

/** Fees of the period itself: none for a trial, or for no time at all before a change of plan. */
function ownFees(closing: Closing, list: PlanVersion, levels: Levels): PeriodFees {
  const { subscription, end, suspensions, usage, quantities } = closing;
  const { current_period_start: start, in_trial, anchor_date, properties, advance } = subscription;
  const names = namesOf(closing.names, list);
  const isChange = closing.change_to !== undefined;
  if (in_trial || (isChange && end <= start)) return noFees(list, advance, names);
  const full = periodAt(start, list.interval, anchor_date);
  // The day of a change is billed by the new plan.
  const last = isChange ? startOfDay(utcDate(end)) : end;
  const has_no_day = isChange && last <= start;
  const period_days = periodDays(full);
  const billed_days: BilledDays = { start, end: last, suspensions, period_days, has_no_day };
  return arrearsFees({
    list,
    metered: { usage, levels, start, end, full_ms: periodMs(full) },
    billed_days,
    properties,
    quantities,
    advance,
    names,
  });
}

function partOf(period: ClosingSubscription, { interval }: PlanVersion): PartOfPeriod {
  const { current_period_start: starts_at, anchor_date, in_trial: is_trial } = period;
  return { starts_at, anchor_date, interval, is_trial };
}

/** The levels that the period to be closed starts with, late usage included. */
export function levelsAtStart({ late, subscription }: Closing): Levels | null {
  const after = levelsAfterLate(late);
  const isBehind = after !== undefined && after.period_no === subscription.period_no - 1;
  return isBehind ? after.levels : subscription.levels;
}
