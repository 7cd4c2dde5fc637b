// What an ended subscription was billed on the day on which it comes back: a day is paid once.

import { nextMidnight, startOfDay, utcDate } from "./dates.ts";
import { billableDays, type Suspension } from "./periods.ts";

type ClosedPeriod = {
  readonly plan_id: string;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly is_trial: boolean;
  readonly billable: boolean;
};

/**
 * The day of the return, if one of the closed periods, newest first, has billed it. A suspension
 * that reaches beyond now was written by a return before this one on the same day, as an ended
 * subscription is not suspended otherwise: then the day was billed too.
 */
export function billedDay(
  closed: readonly ClosedPeriod[],
  suspensions: readonly Suspension[],
  now: Date,
): { readonly from: Date; readonly to: Date } | undefined {
  const from = startOfDay(utcDate(now));
  const isPaused = suspensions.some(({ to }) => to !== null && to > now);
  const hasBilled = (period: ClosedPeriod, i: number) => {
    const { starts_at, ends_at: end, is_trial, billable } = period;
    if (end <= from || is_trial || !billable || isChanged(period, closed[i - 1])) return false;
    // Not while it was suspended, nor by a period of no length.
    return billableDays({ start: starts_at > from ? starts_at : from, end, suspensions }) > 0;
  };
  return isPaused || closed.some(hasBilled) ? { from, to: nextMidnight(now) } : undefined;
}

/** Whether the period ended by a change of plan: its last day is billed by the new plan. */
function isChanged(period: ClosedPeriod, next: ClosedPeriod | undefined): boolean {
  return next?.plan_id !== period.plan_id && next?.starts_at.getTime() === period.ends_at.getTime();
}
