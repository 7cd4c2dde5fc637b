// Has a subscription that is too far behind be billed all the same, when somebody has said so.

import { hasEnded } from "../../domain/lifecycle.ts";
import { notFound, refuse } from "../../errors.ts";
import type { Tx } from "../../store/db/db.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { isDue } from "../closing/close.ts";
import { type By, emit } from "../emit.ts";

/** Lets the workers bill it, period by period. Nothing happens where nothing is due. */
export async function catchUp(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  by: By,
  now: Date,
): Promise<subscriptions.NamedSubscription> {
  const project = settings.id;
  const subscription = await subscriptions.lock(tx, project, ref);
  if (subscription === undefined) throw notFound("subscription");
  const { id, status, set_aside_reason, catch_up_to } = subscription;
  if (hasEnded(status)) {
    throw refuse("subscription_ended", "The subscription has ended: none of its periods is open.");
  }
  const isAllowed = catch_up_to !== null && catch_up_to >= now;
  if ((isAllowed || !isDue(subscription, now)) && set_aside_reason === null) return subscription;
  await openPeriods.allowCatchUp(tx, project, id, now);
  const payload = { catch_up_to: now, from: subscription.current_period_start };
  await emit(tx, project, [{ type: "subscription.updated", resource_id: id, payload }], by, now);
  return { ...subscription, catch_up_to: now, set_aside_reason: null };
}
