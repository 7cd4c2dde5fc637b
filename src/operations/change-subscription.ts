// Changes a subscription: properties and status. Periods that are over are closed first, so that
// they are billed as they were.

import { startOfDay, utcDate } from "../domain/dates.ts";
import { draftInvoice } from "../domain/invoicing.ts";
import { isLive, type SubscriptionStatus, transition } from "../domain/lifecycle.ts";
import { AmountOutOfRange } from "../domain/money.ts";
import { billedDates, firstPeriod } from "../domain/periods.ts";
import { advanceFees, BadQuantity } from "../domain/pricing.ts";
import { refuse, refuseField } from "../errors.ts";
import type { SubscriptionPatch } from "../schema/subscriptions.ts";
import type { Tx } from "../store/db.ts";
import * as plans from "../store/plans.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import { closeEnded, closeFinally, requestFor } from "./close-periods.ts";
import { type By, emit, type Fact } from "./emit.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { pinPlan, recurring } from "./start-subscription.ts";

type Billed = subscriptions.BilledSubscription;

export async function patchSubscription(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  change: SubscriptionPatch,
  by: By,
  now: Date,
): Promise<subscriptions.SubscriptionRow> {
  const subscription = await lockCaughtUp(tx, settings, ref, by, now);
  if (change.properties !== undefined) {
    await changeProperties(tx, settings.id, subscription, change.properties, by, now);
  }
  if (change.status === undefined) return reread(tx, settings.id, subscription.id);
  return changeStatus(
    tx,
    settings,
    subscription.id,
    { status: change.status, bill: true },
    by,
    now,
  );
}

export async function moveSubscription(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  wanted: Wanted,
  by: By,
  now: Date,
): Promise<subscriptions.SubscriptionRow> {
  const { id } = await lockCaughtUp(tx, settings, ref, by, now);
  return changeStatus(tx, settings, id, wanted, by, now);
}

type Wanted = { readonly status: SubscriptionStatus; readonly bill: boolean };

async function changeStatus(
  tx: Tx,
  settings: ProjectSettings,
  id: string,
  wanted: Wanted,
  by: By,
  now: Date,
): Promise<subscriptions.SubscriptionRow> {
  const subscription = await reread(tx, settings.id, id);
  const at = notBefore(subscription, now);
  const facts = await applyTransition(tx, settings, subscription, wanted, at);
  await emit(tx, settings.id, facts, by, at);
  return reread(tx, settings.id, id);
}

/**
 * `now` was read before the lock was waited for, perhaps on a machine whose clock is behind. What
 * happened to the subscription meanwhile may be later, and nothing may end before it began.
 */
function notBefore({ current_period_start, terminated_at }: Billed, now: Date): Date {
  const latest = Math.max(
    now.getTime(),
    current_period_start.getTime(),
    terminated_at?.getTime() ?? 0,
  );
  return new Date(latest);
}

/** Locked, with every period that is over closed, each at its own prices. */
async function lockCaughtUp(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  by: By,
  now: Date,
): Promise<Billed> {
  let subscription = await subscriptions.lock(tx, settings.id, ref);
  if (subscription === undefined) throw refuse("not_found", "No subscription has this id.");
  while (isLive(subscription.status) && subscription.current_period_next <= now) {
    const { closed } = await closeEnded(
      tx,
      settings,
      [subscription],
      { ...by, actor_token_id: null },
      now,
    );
    if (closed === 0) return subscription;
    subscription = await reread(tx, settings.id, subscription.id);
  }
  return subscription;
}

async function reread(tx: Tx, project: ProjectId, id: string): Promise<Billed> {
  const subscription = await subscriptions.getBilled(tx, project, id);
  if (subscription === undefined) throw new Error(`Subscription ${id} vanished.`);
  return subscription;
}

async function changeProperties(
  tx: Tx,
  project: ProjectId,
  subscription: Billed,
  change: Record<string, unknown>,
  by: By,
  now: Date,
): Promise<void> {
  const { id, plan_id, plan_version } = subscription;
  const merged = await subscriptions.mergeProperties(tx, project, id, change, now);
  if (Buffer.byteLength(JSON.stringify(merged.properties)) > PROPERTIES_BYTES_MAX) {
    throw refuse(
      "limit_exceeded",
      `properties may have at most ${PROPERTIES_BYTES_MAX} bytes of JSON.`,
    );
  }
  const versions = await plans.listVersions(tx, project, [plan_id]);
  const version = versions.find((candidate) => candidate.version === plan_version);
  if (version !== undefined && isLive(subscription.status)) {
    await subscriptions.setRecurring(tx, project, id, recurring(version, merged.properties));
  }
  const payload = { properties: change };
  await emit(tx, project, [{ type: "subscription.updated", resource_id: id, payload }], by, now);
}

const PROPERTIES_BYTES_MAX = 16 * 1024;

async function applyTransition(
  tx: Tx,
  settings: ProjectSettings,
  subscription: Billed,
  wanted: Wanted,
  now: Date,
): Promise<Fact[]> {
  const project = settings.id;
  const { id, external_id, status: from } = subscription;
  const fact = (type: Fact["type"], more: object = {}): Fact => ({
    type,
    resource_id: id,
    payload: { external_id, from, ...more },
  });
  const step = transition(from, wanted.status);
  switch (step.kind) {
    case "none":
      return [];
    case "suspend":
      await subscriptions.insertSuspension(tx, project, id, now);
      await subscriptions.setStatus(
        tx,
        project,
        id,
        { status: "suspended", terminated_at: null },
        now,
      );
      return [fact("subscription.suspended")];
    case "resume":
      await subscriptions.endSuspension(tx, project, id, now);
      await subscriptions.setStatus(
        tx,
        project,
        id,
        { status: "active", terminated_at: null },
        now,
      );
      return [fact("subscription.resumed")];
    case "terminate": {
      const invoices = await billFinally(tx, settings, subscription, wanted.bill, now);
      await end(tx, project, id, "terminated", now);
      return [...invoices, fact("subscription.terminated", { terminated_at: now })];
    }
    case "cancel": {
      await closeFinally(tx, settings, subscription, false, now);
      await end(tx, project, id, "canceled", now);
      return [fact("subscription.canceled", { terminated_at: now })];
    }
    case "relabel": {
      const { terminated_at } = subscription;
      await subscriptions.setStatus(tx, project, id, { status: wanted.status, terminated_at }, now);
      return [
        fact(wanted.status === "canceled" ? "subscription.canceled" : "subscription.terminated"),
      ];
    }
    case "reactivate":
      return [
        fact("subscription.reactivated"),
        ...(await reactivate(tx, settings, subscription, step.into, now)),
      ];
  }
}

/** When the final invoice cannot be made, nothing ends and the caller gets the reason. */
async function billFinally(
  tx: Tx,
  settings: ProjectSettings,
  subscription: Billed,
  bill: boolean,
  now: Date,
): Promise<readonly Fact[]> {
  try {
    return await closeFinally(tx, settings, subscription, bill, now);
  } catch (error) {
    if (error instanceof BadQuantity || error instanceof AmountOutOfRange) {
      const message = `The final invoice cannot be made. ${error.message}`;
      throw refuseField("properties", "unbillable", message);
    }
    throw error;
  }
}

async function end(
  tx: Tx,
  project: ProjectId,
  id: string,
  status: "terminated" | "canceled",
  now: Date,
): Promise<void> {
  await subscriptions.endSuspension(tx, project, id, now);
  await subscriptions.setStatus(tx, project, id, { status, terminated_at: now }, now);
}

/** A new period from now to the calendar's end; the gap is never billed. */
async function reactivate(
  tx: Tx,
  settings: ProjectSettings,
  subscription: Billed,
  into: "active" | "suspended",
  now: Date,
): Promise<Fact[]> {
  const project = settings.id;
  const version = await pinPlan(tx, project, subscription.plan_id, "");
  const period = firstPeriod(now, version.interval);
  const period_no = subscription.period_no + 1;
  const reopened = await subscriptions.reopen(
    tx,
    project,
    {
      id: subscription.id,
      period_no,
      current_period_start: period.start,
      current_period_next: period.next,
      plan_version: version.version,
      recurring_cents: recurring(version, subscription.properties),
    },
    into,
    now,
  );
  if (!reopened) {
    throw refuse("already_exists", "Another live subscription has this external_id.", {
      details: [{ field: "external_id", code: "taken" }],
    });
  }
  // It is never active before it is resumed, so not even its first day counts.
  if (into === "suspended") {
    await subscriptions.insertSuspension(tx, project, subscription.id, startOfDay(utcDate(now)));
  }
  const draft = draftInvoice({
    fees: advanceFees(version, subscription.properties),
    currency: version.currency,
    ...billedDates(period.start, period.next),
    now,
    net_payment_days: settings.net_payment_days,
  });
  const requests = requestFor(subscription, draft, "advance", period_no);
  const issued = await issueInvoices(tx, project, requests, now);
  return issued.flatMap(({ facts }) => facts);
}
