// A subscription with a great many periods to close at once: more likely than a service that was
// away for years is a clock that is wrong, and what was billed by it cannot be taken back.

import { type Interval, type Period, periodIndexAt } from "./periods.ts";

export const PERIODS_AT_ONCE_MAX = 24;

/** Too many periods have ended. The message is shown to operator and caller. */
export class TooFarBehind extends Error {
  override readonly name = "TooFarBehind";
}

export type Behind = {
  /** The end of the period that is to be closed. */
  readonly end: Date;
  /** The period that follows it. */
  readonly next: Period;
  readonly interval: Interval;
  readonly anchor_date: string | null;
  readonly ends_at: Date | null;
  /** The instant up to which somebody has said that all periods shall be billed. */
  readonly catch_up_to: Date | null;
};

/** How many periods have ended by the instant, the one that is to be closed included. */
function endedBy(behind: Behind, at: Date): number {
  const { end, next, interval, anchor_date, ends_at } = behind;
  if (at < end) return 0;
  const until = ends_at !== null && ends_at < at ? ends_at : at;
  return 1 + periodIndexAt(next, interval, until, anchor_date);
}

export function refuseFarBehind(behind: Behind, now: Date): void {
  const { catch_up_to, end } = behind;
  const due = endedBy(behind, now);
  const confirmed = catch_up_to === null ? 0 : endedBy(behind, catch_up_to);
  if (due - confirmed <= PERIODS_AT_ONCE_MAX) return;
  throw new TooFarBehind(
    `too_far_behind: ${due} periods have ended, the first ${end.toISOString()}, and at most ` +
      `${PERIODS_AT_ONCE_MAX} are billed at once without a word. Look at the clocks; if they are ` +
      "right, POST /v1/subscriptions/:id/catch-up bills all of them.",
  );
}
