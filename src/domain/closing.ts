// The end of a period, decided: what it is billed, and which period follows. Pure: the close, the
// final invoice and the preview all come through here.

import { type BaseInvoice, corrected, daysBack } from "./corrections.ts";
import { startOfDay, utcDate } from "./dates.ts";
import { formatDecimal, integer } from "./decimal.ts";
import type { PartOfPeriod } from "./full-periods.ts";
import { draftInvoice, type InvoiceDraft } from "./invoicing.ts";
import { levelsAfter } from "./levels.ts";
import { adjustments, arrearsFees, type Billed, noFees, type PeriodFees } from "./period-fees.ts";
import { billedDates, type Period, periodAt, periodDays, type Suspension } from "./periods.ts";
import { type ListInForce, listAt, listOf, type PriceLists } from "./price-lists.ts";
import {
  type Advance,
  advanceOf,
  BadQuantity,
  type BilledDays,
  type FeeDraft,
  type Names,
  type PlanVersion,
  type PricedCharge,
  recurringPerPeriod,
  startFees,
} from "./pricing.ts";
import type { Quantities } from "./quantities.ts";
import type { TaxTerms } from "./taxes.ts";
import type { Levels, MetricUsage } from "./usage-fees.ts";

/** A period and the prices that it was opened with. */
export type PricedPeriod = {
  readonly plan_id: string;
  readonly plan_version: number;
  readonly override_no: number | null;
  /** Null: the periods are the calendar's. */
  readonly anchor_date: string | null;
  readonly levels: Levels | null;
};

export type ClosingSubscription = PricedPeriod & {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly current_period_start: Date;
  readonly current_period_next: Date;
  readonly in_trial: boolean;
  readonly ends_at: Date | null;
  readonly scheduled_plan_id: string | null;
  readonly advance: Advance | null;
};

/** A closed period that late usage has touched. */
export type LatePeriod = PricedPeriod & {
  readonly period_no: number;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly is_trial: boolean;
  readonly billable: boolean;
  readonly billed: Billed;
  /** Those in force when it was closed; null without any. */
  readonly taxes: TaxTerms | null;
  readonly usage: readonly MetricUsage[];
  /** Of the invoice that closed it: its number, and what it called each charge. */
  readonly invoice: ClosingInvoice | undefined;
};

export type ClosingInvoice = {
  readonly number: string;
  /** By charge id; "" is the plan's. */
  readonly names: Readonly<Record<string, string>>;
};

/** Names as they are now, by id or code. */
export type NameBook = {
  readonly plans: ReadonlyMap<string, string>;
  readonly metrics: ReadonlyMap<string, string>;
  readonly items: ReadonlyMap<string, string>;
};

export type Closing = {
  readonly subscription: ClosingSubscription & { readonly period_no: number };
  /** Where the billed period ends: the next one's start, or the instant of termination. */
  readonly end: Date;
  /** Set when the plan is changed at this instant: its day is then billed by the new plan. */
  readonly change_to?: string;
  /** Those of the period that follows, where they change with it. */
  readonly next_properties?: Readonly<Record<string, unknown>>;
  readonly lists: PriceLists;
  readonly names: NameBook;
  readonly usage: readonly MetricUsage[];
  readonly suspensions: readonly Suspension[];
  readonly quantities: Quantities;
  readonly late: readonly LatePeriod[];
  /** That which billed the base fee of the period in advance. */
  readonly base_invoice: BaseInvoice | null;
  readonly net_payment_days: number;
  /** For a preview: a draft also where nothing would be billed. */
  readonly draft_anyway?: boolean;
  readonly now: Date;
};

export type CorrectedPeriod = {
  readonly period_no: number;
  readonly billed: Billed;
  readonly levels: Levels | null;
};

export type Closed = {
  readonly list: PlanVersion;
  readonly draft: InvoiceDraft | undefined;
  readonly billed: Billed;
  readonly corrected: readonly CorrectedPeriod[];
  /** At the start of the period and at its end, late usage included. */
  readonly levels: { readonly start: Levels | null; readonly end: Levels | null };
};

export function closePeriod(closing: Closing): Closed {
  const { subscription, end, lists } = closing;
  const list = listOf(lists, subscription);
  const corrections = correct(closing);
  const start_levels = levelsAtStart(closing);
  const { fees, base_correction, billed } = ownFees(closing, list, start_levels ?? {});
  const dates = billedDates(subscription.current_period_start, end);
  const part = partOf(subscription, list);
  const days_back =
    base_correction &&
    daysBack(base_correction, closing.base_invoice, {
      ...{ period_no: subscription.period_no, part, ended_at: end, dates },
    });
  const draft = draftInvoice({
    fees: [...fees, ...corrections.fees, ...(days_back === undefined ? [] : [days_back])],
    currency: list.currency,
    ...dates,
    now: closing.now,
    net_payment_days: closing.net_payment_days,
    allow_zero: closing.draft_anyway === true,
    part,
  });
  const levels = { start: start_levels, end: levelsBehind(start_levels, closing.usage) };
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

/** A trial is billed nothing, and neither is a period of no length before a change of plan. */
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
    metered: { usage, levels, start, end, full_ms: lengthOf(full) },
    billed_days,
    properties,
    quantities,
    advance,
    names,
  });
}

type Corrections = {
  readonly fees: readonly FeeDraft[];
  readonly corrected: readonly CorrectedPeriod[];
};

/** Re-rates closed periods at their own prices: the lines that make up for late usage. */
function correct(closing: Pick<Closing, "lists" | "late" | "names">): Corrections {
  const fees: FeeDraft[] = [];
  const corrected: CorrectedPeriod[] = [];
  for (const { period, start: levels } of lateLevels(closing.late)) {
    const rated = correctPeriod(closing, period, levels ?? {});
    fees.push(...rated.fees);
    corrected.push({ period_no: period.period_no, billed: rated.billed, levels });
  }
  return { fees, corrected };
}

type LateLevels = {
  readonly period: LatePeriod;
  readonly start: Levels | null;
  readonly end: Levels | null;
};

/** Late changes of a level reach the periods behind it, which then are late as well. */
function lateLevels(late: readonly LatePeriod[]): LateLevels[] {
  const all: LateLevels[] = [];
  for (const period of late) {
    const before = all.at(-1);
    const follows = before !== undefined && before.period.period_no === period.period_no - 1;
    const start = follows ? before.end : period.levels;
    all.push({ period, start, end: levelsBehind(start, period.usage) });
  }
  return all;
}

/** The levels behind the last of them. */
function levelsAfterLate(late: readonly LatePeriod[]) {
  const last = lateLevels(late).at(-1);
  return last && { period_no: last.period.period_no, levels: last.end };
}

function correctPeriod(
  { lists, names }: Pick<Closing, "lists" | "names">,
  period: LatePeriod,
  levels: Levels,
) {
  if (period.is_trial || !period.billable) return { fees: [], billed: period.billed };
  const list = listOf(lists, period);
  const full = periodAt(period.starts_at, list.interval, period.anchor_date);
  const { usage, starts_at: start, ends_at: end } = period;
  const part = partOf({ ...period, current_period_start: start, in_trial: false }, list);
  const of = { period_no: period.period_no, part, ended_at: end, taxes: period.taxes };
  const { fees, billed } = adjustments({
    list,
    metered: { usage, levels, start, end, full_ms: lengthOf(full) },
    billed: period.billed,
    names: namesOf(names, list, period.invoice?.names),
    invoice_number: period.invoice?.number ?? null,
  });
  const correcting = { ...of, gives_back_base: false };
  return { fees: fees.map((fee) => ({ ...fee, money: corrected(fee, correcting) })), billed };
}

/** Its full period is what coupons count as one use. */
function partOf(
  period: Pick<ClosingSubscription, "current_period_start" | "anchor_date" | "in_trial">,
  { interval }: PlanVersion,
): PartOfPeriod {
  const { current_period_start: starts_at, anchor_date, in_trial: is_trial } = period;
  return { starts_at, anchor_date, interval, is_trial };
}

/** The levels that the open period starts with, late usage included. */
export function levelsAtStart({ late, subscription }: Closing): Levels | null {
  const after = levelsAfterLate(late);
  const isBehind = after !== undefined && after.period_no === subscription.period_no - 1;
  return isBehind ? after.levels : subscription.levels;
}

/** Null as long as no metric has had a level. */
function levelsBehind(levels: Levels | null, usage: readonly MetricUsage[]): Levels | null {
  const after = levelsAfter(levels ?? {}, usage);
  return levels === null && Object.keys(after).length === 0 ? null : after;
}

function lengthOf({ start, next }: Period): number {
  return next.getTime() - start.getTime();
}

/** What the invoice of then called a charge, else what it is called now. */
export function namesOf(
  book: NameBook,
  list: Pick<PlanVersion, "plan_id" | "plan_code">,
  then: ClosingInvoice["names"] = {},
): Names {
  const { metrics, items, plans } = book;
  return {
    plan: then[""] ?? plans.get(list.plan_id) ?? list.plan_code,
    ofCharge: ({ id, name, metric_id, metric_code, catalog_item_code }: PricedCharge) =>
      then[id] ??
      name ??
      (metric_id === null
        ? (items.get(catalog_item_code ?? "") ?? catalog_item_code ?? "Fee")
        : (metrics.get(metric_id) ?? metric_code ?? "Fee")),
  };
}

export type Opened = {
  readonly period: Period;
  readonly list: PlanVersion;
  readonly override_no: number | null;
  readonly anchor_date: string | null;
  readonly recurring_cents: string;
  readonly advance: Advance | null;
  /** For what is paid at the start of each period. */
  readonly draft: InvoiceDraft | undefined;
};

export type Opening = Pick<
  Closing,
  "lists" | "names" | "suspensions" | "net_payment_days" | "now"
> & {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly ends_at: Date | null;
};

/** The period that follows, at the prices in force when it starts. */
export function openNext(closing: Closing): Opened {
  const { subscription, lists, end } = closing;
  const plan_id = closing.change_to ?? subscription.scheduled_plan_id ?? subscription.plan_id;
  const before = listOf(lists, subscription);
  const { list, override_no } = listAt(lists, plan_id, end);
  const isOther = list.interval !== before.interval;
  const { anchor_date: anchor, ends_at, in_trial } = subscription;
  const properties = closing.next_properties ?? subscription.properties;
  const anchor_date = anchor !== null && isOther ? utcDate(end) : anchor;
  const opening = { ...closing, properties, ends_at };
  return openPeriod(
    opening,
    { list, override_no },
    { start: end, anchor_date, is_first: in_trial },
  );
}

/** A period from the instant to its schedule's next boundary, and what is due at its start. */
export function openPeriod(
  opening: Opening,
  { list, override_no }: ListInForce,
  at: { readonly start: Date; readonly anchor_date: string | null; readonly is_first: boolean },
): Opened {
  const { properties, suspensions, ends_at, now, net_payment_days } = opening;
  const { start, anchor_date, is_first } = at;
  const full = periodAt(start, list.interval, anchor_date);
  const end = ends_at !== null && ends_at < full.next ? ends_at : full.next;
  const billed = { start, end, suspensions, period_days: periodDays(full) };
  const fees = startFees(list, { properties, billed, is_first }, namesOf(opening.names, list));
  const draft = draftInvoice({
    fees,
    currency: list.currency,
    ...billedDates(start, full.next),
    now,
    net_payment_days,
    part: partOf({ current_period_start: start, anchor_date, in_trial: false }, list),
  });
  return {
    period: { start, next: full.next },
    list,
    override_no,
    anchor_date,
    recurring_cents: formatDecimal(recurringOrBase(list, properties)),
    advance: advanceOf(list, fees),
    draft,
  };
}

/**
 * What the new period is expected to bring in. A quantity that a new charge asks for and the
 * subscription lacks is no reason to hold up the close of a period that did not have the charge.
 */
function recurringOrBase(list: PlanVersion, properties: Readonly<Record<string, unknown>>) {
  try {
    return recurringPerPeriod(list, properties);
  } catch (error) {
    if (error instanceof BadQuantity) return integer(list.amount_cents);
    throw error;
  }
}

/** The invoice for late usage of a subscription that will have no other. */
export function supplement(
  closing: Pick<Closing, "lists" | "late" | "names">,
  terms: { readonly net_payment_days: number; readonly now: Date },
) {
  const { fees, corrected } = correct(closing);
  const [first] = closing.late;
  const last = closing.late.at(-1);
  if (first === undefined || last === undefined)
    throw new Error("A supplement needs a late period.");
  const list = listOf(closing.lists, last);
  const draft = draftInvoice({
    fees,
    currency: list.currency,
    period_start: utcDate(first.starts_at),
    period_end: billedDates(last.starts_at, last.ends_at).period_end,
    ...terms,
  });
  return { list, draft, corrected, after: levelsAfterLate(closing.late) };
}
