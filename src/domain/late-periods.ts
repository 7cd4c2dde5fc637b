// Closed periods that usage has come late for: the lines that correct them, on the next invoice of
// the subscription or, where it will have none, on a supplement.

import { corrected } from "./corrections.ts";
import { utcDate } from "./dates.ts";
import { draftInvoice } from "./invoicing.ts";
import { levelsBehind } from "./levels.ts";
import { type NameBook, namesOf } from "./names.ts";
import { adjustments, type Billed } from "./period-fees.ts";
import { billedDates, periodAt, periodMs } from "./periods.ts";
import { listOf, type PriceLists } from "./price-lists.ts";
import type { Corrected, FeeDraft } from "./pricing.ts";
import type { TaxTerms } from "./taxes.ts";
import type { Levels, MetricUsage } from "./usage-fees.ts";

/** A period and the prices that it was opened with. */
export type PricedPeriod = {
  readonly plan_id: string;
  readonly plan_version: number;
  readonly override_no: number | null;
  /** The date that periods are counted from; null: the periods are the calendar's. */
  readonly anchor_date: string | null;
  readonly levels: Levels | null;
};

/** A closed period that late usage has touched. */
export type LatePeriod = PricedPeriod & {
  readonly period_no: number;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly is_trial: boolean;
  readonly billable: boolean;
  readonly billed: Billed;
  /** Taxes in force when the period was closed; null: there were none. */
  readonly taxes: TaxTerms | null;
  readonly usage: readonly MetricUsage[];
  readonly invoice: ClosingInvoice | undefined;
};

/** The invoice that closed a period. */
export type ClosingInvoice = {
  readonly number: string;
  /** What it called each charge, by charge id; "" is the plan's name. */
  readonly names: Readonly<Record<string, string>>;
};

export type CorrectedPeriod = {
  readonly period_no: number;
  readonly billed: Billed;
  readonly levels: Levels | null;
};

export type Corrections = {
  readonly fees: readonly FeeDraft[];
  readonly corrected: readonly CorrectedPeriod[];
};

/** The late periods of one subscription, oldest first, with its prices and names. */
export type Late = {
  readonly late: readonly LatePeriod[];
  readonly lists: PriceLists;
  readonly names: NameBook;
};

/** The lines that make up for late usage: closed periods are rated again at their own prices. */
export function correctLate(all: Late): Corrections {
  const fees: FeeDraft[] = [];
  const periods: CorrectedPeriod[] = [];
  for (const { period, start: levels } of lateLevels(all.late)) {
    const rated = correctPeriod(all, period, levels ?? {});
    fees.push(...rated.fees);
    periods.push({ period_no: period.period_no, billed: rated.billed, levels });
  }
  return { fees, corrected: periods };
}

function correctPeriod({ lists, names }: Late, period: LatePeriod, levels: Levels) {
  if (period.is_trial || !period.billable) return { fees: [], billed: period.billed };
  const list = listOf(lists, period);
  const { usage, starts_at, ends_at, anchor_date, invoice } = period;
  const full = periodAt(starts_at, list.interval, anchor_date);
  const { fees, billed } = adjustments({
    list,
    metered: { usage, levels, start: starts_at, end: ends_at, full_ms: periodMs(full) },
    billed: period.billed,
    names: namesOf(names, list, invoice?.names),
    invoice_number: invoice?.number ?? null,
  });
  const corrects: Corrected = {
    period_no: period.period_no,
    part: { starts_at, anchor_date, interval: list.interval, is_trial: false },
    ended_at: ends_at,
    taxes: period.taxes,
    gives_back_base: false,
  };
  return { fees: fees.map((fee) => ({ ...fee, money: corrected(fee, corrects) })), billed };
}

type LateLevels = {
  readonly period: LatePeriod;
  readonly start: Levels | null;
  readonly end: Levels | null;
};

/** Late periods with their levels: a late change reaches the periods behind it, late as well. */
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

/** The levels behind the last late period. */
export function levelsAfterLate(late: readonly LatePeriod[]) {
  const last = lateLevels(late).at(-1);
  return last && { period_no: last.period.period_no, levels: last.end };
}

/** The invoice for late usage of a subscription that will have no other. */
export function supplement(
  all: Late,
  terms: { readonly net_payment_days: number; readonly now: Date },
) {
  const { fees, corrected: periods } = correctLate(all);
  const [first] = all.late;
  const last = all.late.at(-1);
  if (first === undefined || last === undefined) {
    throw new Error("A supplement needs a late period.");
  }
  const list = listOf(all.lists, last);
  const draft = draftInvoice({
    fees,
    currency: list.currency,
    period_start: utcDate(first.starts_at),
    period_end: billedDates(last.starts_at, last.ends_at).period_end,
    ...terms,
  });
  return { list, draft, corrected: periods, after: levelsAfterLate(all.late) };
}
