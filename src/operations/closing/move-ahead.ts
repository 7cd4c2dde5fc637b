// Usage that was sent ahead of its time, up to a day: when the schedule of its subscription
// changes, it is moved to the periods of the new one, or out of the bill where the subscription
// never begins.

import { type Interval, nextPeriod, type Period } from "../../domain/periods.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import type { SubscriptionRow } from "../../store/subscriptions/subscriptions.ts";
import * as usageLocks from "../../store/usage/locks.ts";
import * as usageSums from "../../store/usage/sums.ts";
import { openPeriodRef } from "./load.ts";

/** The subscription must be locked. Its open period, and what follows that, become `after`. */
export async function moveAhead(
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
  if (!(await usageSums.hasUsageFrom(tx, project, openPeriodRef(before), from))) return;
  const second = nextPeriod(period, interval, anchor_date);
  await usageSums.moveToPeriods(tx, project, openPeriodRef(before), period.next, [second.next]);
}

/** The subscription must be locked. It is withdrawn before it began: nothing of it is billed. */
export async function dropAhead(
  tx: Tx,
  project: ProjectId,
  pending: SubscriptionRow,
): Promise<void> {
  await lockAlone(tx, project, pending);
  const { started_at } = pending;
  if (!(await usageSums.hasUsageFrom(tx, project, openPeriodRef(pending), started_at))) return;
  await usageSums.cutAt(tx, project, openPeriodRef(pending), started_at);
}

function lockAlone(tx: Tx, project: ProjectId, { id }: SubscriptionRow): Promise<void> {
  return usageLocks.lockUsage(tx, project, [usageLocks.usageLock(id)], "alone");
}
