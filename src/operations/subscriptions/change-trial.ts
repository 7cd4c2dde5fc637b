// Moves the end of a trial that is running.

import { changedFields } from "../../domain/changed-fields.ts";
import { utcDate } from "../../domain/dates.ts";
import { trialEnd } from "../../domain/starts.ts";
import { refuseField } from "../../errors.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Tx } from "../../store/db/db.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import type { BilledSubscription } from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { moveAhead } from "../closing/move-ahead.ts";
import { type By, emit, updated } from "../emit.ts";
import { closeOrRefuse } from "./change-status.ts";

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
  const plan = await plans.get(tx, project, subscription.plan_id);
  if (plan === undefined) throw new Error(`Plan ${subscription.plan_id} vanished.`);
  const period = { start: subscription.current_period_start, next: ends };
  const { interval } = plan;
  await moveAhead(tx, project, subscription, { period, interval, anchor_date });
  await openPeriods.setUnbegun(tx, project, id, moved, now);
  const changed = changedFields<BilledSubscription>(subscription, moved, ["trial_ends_at"]);
  await emit(tx, project, updated("subscription.updated", id, changed), by, now);
  if (ends > now) return;
  const ending = { subscription: moved, end: ends, next: { kind: "renew" as const } };
  await emit(tx, project, await closeOrRefuse(tx, settings, ending, now), by, now);
}
