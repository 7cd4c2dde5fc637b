// How a subscription begins: its trial, the date that its periods are counted from, and its first
// period.

import { addDays, startOfDay, utcDate } from "./dates.ts";
import { firstPeriod, type Interval, type Period } from "./periods.ts";

export type Start = {
  readonly started_at: Date;
  readonly trial_days: number;
  readonly interval: Interval;
  readonly is_anniversary: boolean;
  /** The date that the caller gave; null: the day of the first paid period. */
  readonly anchor_date: string | null;
};

export type Begun = {
  readonly period: Period;
  readonly in_trial: boolean;
  readonly trial_ends_at: Date | null;
  readonly anchor_date: string | null;
};

/** How the subscription begins. A trial is a first period, to the midnight after its last day. */
export function begin(start: Start): Begun {
  const { started_at, trial_days, interval, is_anniversary } = start;
  const trial_ends_at = trial_days === 0 ? null : trialEnd(started_at, trial_days);
  const paid_from = trial_ends_at ?? started_at;
  const anchor_date = is_anniversary ? (start.anchor_date ?? utcDate(paid_from)) : null;
  const period =
    trial_ends_at === null
      ? firstPeriod(started_at, interval, anchor_date)
      : { start: started_at, next: trial_ends_at };
  return { period, in_trial: trial_ends_at !== null, trial_ends_at, anchor_date };
}

export function trialEnd(started_at: Date, trial_days: number): Date {
  return startOfDay(addDays(utcDate(started_at), trial_days));
}
