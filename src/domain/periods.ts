// Periods in UTC, of the calendar or from an anchor date on, and which of their days count for the
// base fee.
import type { Interval } from "../schema/plans.ts";
import { DAY_MS, startOfDay, utcDate } from "./dates.ts";

export type { Interval };

/** A period is half-open: `start <= t < next`. Clients see `shownEnd(next)`, 23:59:59.999. */
export type Period = { readonly start: Date; readonly next: Date };

/** A suspension is half-open as well; `to` is null while it lasts. */
export type Suspension = { readonly from: Date; readonly to: Date | null };

const WEEK_MS = 7 * DAY_MS;
const MONTHS = { monthly: 1, quarterly: 3, semiannual: 6, yearly: 12 } as const;

/** The full period that holds `at`: of the calendar, or counted from the anchor date. */
export function periodAt(at: Date, interval: Interval, anchor: string | null = null): Period {
  if (anchor !== null) return anniversaryAt(at, interval, anchor);
  const year = at.getUTCFullYear();
  const month = at.getUTCMonth();
  if (interval === "weekly") {
    // A week starts on Monday.
    const daysSinceMonday = (at.getUTCDay() + 6) % 7;
    const monday = Date.UTC(year, month, at.getUTCDate() - daysSinceMonday);
    return { start: new Date(monday), next: new Date(monday + WEEK_MS) };
  }
  const months = MONTHS[interval];
  const first = Math.floor(month / months) * months;
  return { start: new Date(Date.UTC(year, first)), next: new Date(Date.UTC(year, first + months)) };
}

function anniversaryAt(at: Date, interval: Interval, anchor: string): Period {
  const n = anniversaryNo(at, interval, anchor);
  return { start: boundary(n, interval, anchor), next: boundary(n + 1, interval, anchor) };
}

/** The number of the anchored period that holds `at`; below 0 before the anchor. */
function anniversaryNo(at: Date, interval: Interval, anchor: string): number {
  const first = startOfDay(anchor);
  if (interval === "weekly") return Math.floor((at.getTime() - first.getTime()) / WEEK_MS);
  const n = Math.floor((monthNumber(at) - monthNumber(first)) / MONTHS[interval]);
  return boundary(n, interval, anchor) <= at ? n : n - 1;
}

/** The start of period n, counted from the anchor each time: a short month moves no later one. */
function boundary(n: number, interval: Interval, anchor: string): Date {
  const first = startOfDay(anchor);
  if (interval === "weekly") return new Date(first.getTime() + n * WEEK_MS);
  const year = first.getUTCFullYear();
  const month = first.getUTCMonth() + n * MONTHS[interval];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return new Date(Date.UTC(year, month, Math.min(first.getUTCDate(), lastDay)));
}

/** A subscription's first period: from the very millisecond it starts to the next boundary. */
export function firstPeriod(
  started_at: Date,
  interval: Interval,
  anchor: string | null = null,
): Period {
  return { start: started_at, next: periodAt(started_at, interval, anchor).next };
}

export function nextPeriod(
  period: Period,
  interval: Interval,
  anchor: string | null = null,
): Period {
  return periodAt(period.next, interval, anchor);
}

export function periodMs({ start, next }: Period): number {
  return next.getTime() - start.getTime();
}

/** The days of a full period. A period that starts late is measured by `periodAt(start)`. */
export function periodDays(period: Period): number {
  return periodMs(period) / DAY_MS;
}

/**
 * How many periods after the open one `at` lies: 0 for the open one and all before it. Interval and
 * anchor are those of the periods that follow.
 */
export function periodIndexAt(
  open: Period,
  interval: Interval,
  at: Date,
  anchor: string | null = null,
): number {
  if (at.getTime() < open.next.getTime()) return 0;
  if (anchor !== null) {
    return 1 + anniversaryNo(at, interval, anchor) - anniversaryNo(open.next, interval, anchor);
  }
  const { start } = periodAt(open.next, interval);
  if (interval === "weekly") {
    return 1 + Math.floor((at.getTime() - start.getTime()) / WEEK_MS);
  }
  return 1 + Math.floor((monthNumber(at) - monthNumber(start)) / MONTHS[interval]);
}

/** The last millisecond of a period, as clients see it. */
export function shownEnd(next: Date): Date {
  return new Date(next.getTime() - 1);
}

/** First and last UTC day of a half-open span; a span without length has one day. */
export function billedDates(start: Date, end: Date): { period_start: string; period_end: string } {
  const lastInstant = new Date(Math.max(start.getTime(), end.getTime() - 1));
  return { period_start: utcDate(start), period_end: utcDate(lastInstant) };
}

/**
 * The UTC days that the base fee of [start, end) is for: every day it touches, so that first and
 * last day count whole, less the days that lie wholly inside a suspension.
 *
 * Spec gap: the hours of the first day before `start` are not suspended, so that the first day of a
 * subscription counts even when it was suspended in the very millisecond it started. At the other
 * side a suspension that has not ended when the span does runs on: the last day of a subscription
 * that is terminated while suspended does not count, as no millisecond of it was active.
 */
export function billableDays(span: {
  readonly start: Date;
  readonly end: Date;
  readonly suspensions: readonly Suspension[];
}): number {
  if (span.end <= span.start) return 0;
  const first = Math.floor(span.start.getTime() / DAY_MS);
  const afterLast = Math.ceil(span.end.getTime() / DAY_MS);
  let days = afterLast - first;
  for (const { from, to } of union(span.suspensions, span.end)) {
    const firstWhole = Math.max(first, Math.ceil(from / DAY_MS));
    const afterWhole = Math.min(afterLast, Math.floor(to / DAY_MS));
    days -= Math.max(0, afterWhole - firstWhole);
  }
  return days;
}

/** The billable days one by one, as days since 1970. */
export function listBillableDays(span: Parameters<typeof billableDays>[0]): number[] {
  if (span.end <= span.start) return [];
  const first = Math.floor(span.start.getTime() / DAY_MS);
  const afterLast = Math.ceil(span.end.getTime() / DAY_MS);
  const off = union(span.suspensions, span.end).map(({ from, to }) => ({
    from: Math.ceil(from / DAY_MS),
    to: Math.floor(to / DAY_MS),
  }));
  const days: number[] = [];
  for (let day = first; day < afterLast; day++) {
    if (!off.some(({ from, to }) => from <= day && day < to)) days.push(day);
  }
  return days;
}

/** The suspensions as disjoint stretches in order; what is still on at `end` has no end. */
function union(suspensions: readonly Suspension[], end: Date) {
  const stretches = suspensions
    .map(({ from, to }) => {
      const isOn = to === null || to >= end;
      return { from: from.getTime(), to: isOn ? Number.POSITIVE_INFINITY : to.getTime() };
    })
    .sort((a, b) => a.from - b.from);
  const merged: { from: number; to: number }[] = [];
  for (const stretch of stretches) {
    const last = merged.at(-1);
    if (last !== undefined && stretch.from <= last.to) last.to = Math.max(last.to, stretch.to);
    else merged.push({ ...stretch });
  }
  return merged;
}

function monthNumber(at: Date): number {
  return at.getUTCFullYear() * 12 + at.getUTCMonth();
}
