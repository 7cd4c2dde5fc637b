// The end of a period, decided: what it is billed, and which period follows. Pure: the close, the
// final invoice and the preview all come through here.

import { type UsageDay, unitsOf } from "./aggregation.ts";
import { utcDate } from "./dates.ts";
import type { Decimal } from "./decimal.ts";
import { formatDecimal, integer } from "./decimal.ts";
import { draftInvoice, type InvoiceDraft } from "./invoicing.ts";
import { billedDates, nextPeriod, type Period, type Suspension } from "./periods.ts";
import {
  adjustments,
  advanceFees,
  arrearsFees,
  BadQuantity,
  type Billed,
  billedOf,
  type FeeDraft,
  type PlanVersion,
  recurringPerPeriod,
} from "./pricing.ts";

export type DatedVersion = PlanVersion & { readonly effective_at: Date };

/** Usage of one period by metric: one total, or an entry a day; `unitsOf` adds up either. */
export type MetricUsage = UsageDay & { readonly metric_id: string };

export type ClosingSubscription = {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly current_period_start: Date;
  readonly current_period_next: Date;
  readonly plan_version: number;
};

/** A closed period that late usage has touched. */
export type LatePeriod = {
  readonly period_no: number;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly plan_version: number;
  readonly billed: Billed;
  readonly usage: readonly MetricUsage[];
};

export type Closing = {
  readonly subscription: ClosingSubscription;
  /** Where the billed period ends: the next one's start, or the instant of termination. */
  readonly end: Date;
  /** Every price list of the plan, newest first. */
  readonly versions: readonly DatedVersion[];
  readonly usage: readonly MetricUsage[];
  readonly suspensions: readonly Suspension[];
  readonly late: readonly LatePeriod[];
  readonly net_payment_days: number;
  /** For a preview: a draft also where nothing would be billed. */
  readonly draft_anyway?: boolean;
  readonly now: Date;
};

export type Closed = {
  readonly draft: InvoiceDraft | undefined;
  readonly billed: Billed;
  readonly settled: readonly { readonly period_no: number; readonly billed: Billed }[];
};

export function closePeriod(closing: Closing): Closed {
  const { subscription, end, versions } = closing;
  const version = versionNo(versions, subscription.plan_version);
  const billed = { start: subscription.current_period_start, end };
  const fees = arrearsFees({
    version,
    billed,
    suspensions: closing.suspensions,
    usage: unitsByMetric(version, closing.usage),
    properties: subscription.properties,
  });
  const corrections = correct(versions, closing.late);
  const draft = draftInvoice({
    fees: [...fees, ...corrections.fees],
    currency: version.currency,
    ...billedDates(billed.start, billed.end),
    now: closing.now,
    net_payment_days: closing.net_payment_days,
    allow_zero: closing.draft_anyway === true,
  });
  return { draft, billed: billedOf(fees), settled: corrections.settled };
}

/** Re-rates closed periods at their own prices: the lines that make up for late usage. */
export function correct(versions: readonly DatedVersion[], late: readonly LatePeriod[]) {
  const fees: FeeDraft[] = [];
  const settled: { period_no: number; billed: Billed }[] = [];
  for (const period of late) {
    const version = versionNo(versions, period.plan_version);
    const corrected = adjustments({
      version,
      billed_period: { start: period.starts_at, end: period.ends_at },
      billed: period.billed,
      usage: unitsByMetric(version, period.usage),
    });
    fees.push(...corrected.fees);
    settled.push({ period_no: period.period_no, billed: corrected.billed });
  }
  return { fees, settled };
}

export type Opened = {
  readonly period: Period;
  readonly plan_version: number;
  readonly recurring_cents: string;
  /** For charges that are paid at the start of each period. */
  readonly draft: InvoiceDraft | undefined;
};

/** The period that follows, at the prices in force when it starts. */
export function openNext(closing: Omit<Closing, "usage" | "suspensions" | "late" | "end">): Opened {
  const { subscription, versions, now } = closing;
  const current = versionNo(versions, subscription.plan_version);
  const ended = {
    start: subscription.current_period_start,
    next: subscription.current_period_next,
  };
  const period = nextPeriod(ended, current.interval);
  const version = versionAt(versions, period.start);
  const draft = draftInvoice({
    fees: advanceFees(version, subscription.properties),
    currency: version.currency,
    ...billedDates(period.start, period.next),
    now,
    net_payment_days: closing.net_payment_days,
  });
  return {
    period,
    plan_version: version.version,
    recurring_cents: formatDecimal(recurringOrBase(version, subscription.properties)),
    draft,
  };
}

/**
 * What the new period is expected to bring in. A quantity that a new charge asks for and the
 * subscription lacks is no reason to hold up the close of a period that did not have the charge.
 */
function recurringOrBase(version: PlanVersion, properties: Readonly<Record<string, unknown>>) {
  try {
    return recurringPerPeriod(version, properties);
  } catch (error) {
    if (error instanceof BadQuantity) return integer(version.amount_cents);
    throw error;
  }
}

/** The invoice that settles late usage of a subscription that will have no other. */
export function supplement(
  versions: readonly DatedVersion[],
  late: readonly LatePeriod[],
  terms: { readonly net_payment_days: number; readonly now: Date },
) {
  const { fees, settled } = correct(versions, late);
  const [first] = late;
  const last = late.at(-1);
  const currency = versions[0]?.currency;
  if (first === undefined || last === undefined || currency === undefined) {
    throw new Error("A supplement needs a late period.");
  }
  const draft = draftInvoice({
    fees,
    currency,
    period_start: utcDate(first.starts_at),
    period_end: billedDates(last.starts_at, last.ends_at).period_end,
    ...terms,
  });
  return { draft, settled };
}

function unitsByMetric(version: PlanVersion, usage: readonly MetricUsage[]): Map<string, Decimal> {
  const units = new Map<string, Decimal>();
  for (const { metric_id, aggregation_type } of version.charges) {
    if (metric_id === null || aggregation_type === null || units.has(metric_id)) continue;
    const days = usage.filter((day) => day.metric_id === metric_id);
    units.set(metric_id, unitsOf(aggregation_type, days));
  }
  return units;
}

export function versionNo<V extends DatedVersion>(versions: readonly V[], version: number): V {
  const found = versions.find((candidate) => candidate.version === version);
  if (found === undefined) throw new Error(`Price list ${version} is missing.`);
  return found;
}

/** The price list in force at the instant, or the first one before any was; newest come first. */
export function versionAt<V extends DatedVersion>(versions: readonly V[], at: Date): V {
  const found = versions.find((version) => version.effective_at <= at) ?? versions.at(-1);
  if (found === undefined) throw new Error("A plan without a price list.");
  return found;
}
