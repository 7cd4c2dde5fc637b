// Moves the end of a trial that is running.

import { utcDate } from "../domain/dates.ts";
import { nextPeriod, type Period } from "../domain/periods.ts";
import { trialEnd } from "../domain/starts.ts";
import { refuseField } from "../errors.ts";
import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as plans from "../store/plans.ts";
import type { BilledSubscription } from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import * as usageSums from "../store/usage-sums.ts";
import { closeOrRefuse } from "./change-status.ts";
import { type By, emit } from "./emit.ts";
import { openPeriod } from "./load-closing.ts";

/** An end that has passed means now: the first paid period then begins at once. */
export async function changeTrial(
  tx: Tx,
  settings: ProjectSettings,
  subscription: BilledSubscription,
  trial_days: number,
  by: By,
  now: Date,
): Promise<void> {
  const { id, status, in_trial, started_at } = subscription;
  if (!in_trial || status === "pending") {
    const message = "trial_days can be changed only while the trial is running.";
    throw refuseField("trial_days", "unsupported", message);
  }
  const project = settings.id;
  const wanted = trialEnd(started_at, trial_days);
  const ends = wanted > now ? wanted : now;
  const hasOwnAnchor = subscription.is_anchor_given || subscription.anchor_date === null;
  const anchor_date = hasOwnAnchor ? subscription.anchor_date : utcDate(ends);
  const moved = {
    ...subscription,
    current_period_next: ends,
    trial_ends_at: ends,
    anchor_date,
    recurring_cents: "0",
  };
  await usageLocks.lockUsage(tx, project, [usageLocks.usageLock(id)], "alone");
  await placeAhead(tx, project, subscription, moved);
  await openPeriods.setUnbegun(tx, project, id, moved, now);
  const payload = { trial_ends_at: ends };
  await emit(tx, project, [{ type: "subscription.updated", resource_id: id, payload }], by, now);
  if (ends > now) return;
  const ending = { subscription: moved, end: ends, next: { kind: "renew" as const } };
  await emit(tx, project, await closeOrRefuse(tx, settings, ending, now), by, now);
}

/** Events that were sent ahead may now lie on the other side of the trial's end. */
async function placeAhead(
  tx: Tx,
  project: ProjectId,
  before: BilledSubscription,
  after: BilledSubscription,
): Promise<void> {
  const { current_period_start: start, current_period_next: next, anchor_date } = after;
  const from = before.current_period_next < next ? before.current_period_next : next;
  if (!(await usageSums.hasUsageFrom(tx, project, openPeriod(before), from))) return;
  const plan = await plans.get(tx, project, after.plan_id);
  if (plan === undefined) throw new Error(`Plan ${after.plan_id} vanished.`);
  const trial: Period = { start, next };
  const first = nextPeriod(trial, plan.interval, anchor_date).next;
  await usageSums.placeAgain(tx, project, openPeriod(before), [next, first]);
}
