// Usage that was sent ahead of its time, up to a day: when the schedule changes under it, it is
// given the periods of the new one, or none where the subscription will not begin.

import { type Interval, nextPeriod, type Period } from "../domain/periods.ts";
import type { Tx } from "../store/db.ts";
import type { SubscriptionRow } from "../store/subscriptions.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import * as usageSums from "../store/usage-sums.ts";
import { openPeriod } from "./load-closing.ts";

/** Of a locked subscription whose open period and what follows it become these. */
export async function placeAhead(
  tx: Tx,
  project: ProjectId,
  before: SubscriptionRow,
  after: {
    readonly period: Period;
    readonly interval: Interval;
    readonly anchor_date: string | null;
  },
): Promise<void> {
  const { period, interval, anchor_date } = after;
  const { current_period_next: next } = before;
  await lockAlone(tx, project, before);
  const from = next < period.next ? next : period.next;
  if (!(await usageSums.hasUsageFrom(tx, project, openPeriod(before), from))) return;
  const second = nextPeriod(period, interval, anchor_date);
  await usageSums.placeAgain(tx, project, openPeriod(before), [period.next, second.next]);
}

/** Of a locked subscription that is withdrawn before it began: nothing of it is billed. */
export async function dropAhead(
  tx: Tx,
  project: ProjectId,
  pending: SubscriptionRow,
): Promise<void> {
  await lockAlone(tx, project, pending);
  const { started_at } = pending;
  if (!(await usageSums.hasUsageFrom(tx, project, openPeriod(pending), started_at))) return;
  await usageSums.cutAt(tx, project, openPeriod(pending), started_at);
}

function lockAlone(tx: Tx, project: ProjectId, { id }: SubscriptionRow): Promise<void> {
  return usageLocks.lockUsage(tx, project, [usageLocks.usageLock(id)], "alone");
}
