// Which full period a period is part of, and for how many full periods late usage is corrected.
// Parts of one, cut by a change of plan or by an end and a return, count once, so that neither
// shortens the time in which late usage counts.

import { type Interval, periodAt } from "./periods.ts";

export type PartOfPeriod = {
  readonly starts_at: Date;
  readonly interval: Interval;
  readonly anchor_date: string | null;
  /** A trial is a full period of its own. */
  readonly is_trial: boolean;
};

/** Names a full period: two parts of one have the same. */
export type FullPeriod = string;

export function fullPeriodOf(part: PartOfPeriod): FullPeriod {
  const { starts_at, interval, anchor_date, is_trial } = part;
  if (is_trial) return `trial ${starts_at.toISOString()}`;
  const { start, next } = periodAt(starts_at, interval, anchor_date);
  return `${start.toISOString()} ${next.toISOString()}`;
}

/**
 * Whether the period is still corrected: it is part of one of the newest `periods_max` full periods
 * that have no open part, or of the open one. `closed` are all of the subscription, newest first.
 */
export function isStillCorrected(
  closed: readonly PartOfPeriod[],
  period: PartOfPeriod,
  open: FullPeriod | undefined,
  periods_max: number,
): boolean {
  const own = fullPeriodOf(period);
  if (own === open) return true;
  const newest = new Set<FullPeriod>();
  for (const part of closed) {
    const full = fullPeriodOf(part);
    if (full === open) continue;
    newest.add(full);
    if (newest.size > periods_max) return false;
    if (full === own) return true;
  }
  return false;
}
