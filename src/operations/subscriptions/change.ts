// Changes a subscription: properties, trial, end, plan, prices of its own, status. Periods that are
// over are closed first, so that they are billed as they were.

import { changedFields } from "../../domain/changed-fields.ts";
import { hasEnded, type SubscriptionStatus, transition } from "../../domain/lifecycle.ts";
import { listAt, listOf, type PriceLists } from "../../domain/price-lists.ts";
import type { PlanVersion } from "../../domain/pricing.ts";
import { instant } from "../../domain/reported-at.ts";
import { notFound, refuse, refuseField } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { SubscriptionPatch } from "../../schema/subscriptions.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as priceOverrides from "../../store/catalog/price-overrides.ts";
import type { Tx } from "../../store/db/db.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { lockUsage, usageLock } from "../../store/usage/locks.ts";
import { Beforehand } from "../beforehand.ts";
import { holdPrices } from "../catalog/hold-prices.ts";
import { closeForCaller, dueEnding, handleDue, isByItself, isDue } from "../closing/close.ts";
import { CustomerClose } from "../closing/close-customer.ts";
import { startNow } from "../closing/start-pending.ts";
import { type By, emit, updated } from "../emit.ts";
import { orUnbilled } from "../issuing/cannot-invoice.ts";
import { changePlan, overridePrices } from "./change-plan.ts";
import { mergeProperties } from "./change-properties.ts";
import { changeStatus, notBefore, type Wanted } from "./change-status.ts";
import { changeTrial } from "./change-trial.ts";
import { recurring, refuseEarlyEnd } from "./start.ts";

export async function patchSubscription(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  change: SubscriptionPatch,
  by: By,
  now: Date,
): Promise<subscriptions.NamedSubscription> {
  refuseMixed(change);
  await holdWanted(tx, settings.id, ref, change);
  let subscription = await lockCaughtUp(tx, settings, ref, by, now);
  const project = settings.id;
  const current = () => reread(tx, project, subscription.id);
  const isOther = ({ plan_id }: subscriptions.BilledSubscription) =>
    change.plan_id !== undefined && change.plan_id.toLowerCase() !== plan_id;
  const isOtherPlan = isOther(subscription);
  // With a change of plan now, the old period is closed with the old quantities first.
  const isDeferred = isOtherPlan && endsPeriod(subscription, change);
  if (isDeferred) subscription = await closeMissed(tx, settings, subscription, by, now);
  refuseEnded(subscription, change);
  if (change.properties !== undefined && !isDeferred) {
    await changeProperties(tx, project, subscription, change, by, now);
  }
  if ((isOtherPlan && !isDeferred) || change.trial_days !== undefined) {
    // The change is about the period that is running now, or its end, not about one that has ended.
    subscription = await closeMissed(tx, settings, await current(), by, now);
    refuseEnded(subscription, change);
  }
  if (change.metadata !== undefined || change.ends_at !== undefined) {
    await changeFields(tx, project, await current(), change, by, now);
  }
  if (isDeferred || isOther(subscription))
    await changePlan(tx, settings, await current(), change, by, now);
  else await keepPlan(tx, project, current, change, by, now);
  // An end of the trial bills the start of the first paid period: by the end, the plan and the
  // prices that the same call brings.
  if (change.trial_days !== undefined) {
    await changeTrial(tx, settings, await current(), change.trial_days, by, now);
  }
  if (change.status === undefined) return current();
  const wanted = { status: change.status, bill: true, drops: change.unbilled === "drop" };
  return moveLocked(tx, settings, subscription.id, wanted, by, now);
}

/** Locks what its prices will hang on: in the order of locks that comes before it. */
async function holdWanted(
  tx: Tx,
  project: ProjectId,
  ref: string,
  { plan_id, overrides, status }: SubscriptionPatch,
): Promise<void> {
  // A return is priced by the plan that the subscription was on.
  const own = status === "active" ? await subscriptions.get(tx, project, ref) : undefined;
  const plan_ids = [plan_id?.toLowerCase(), own?.plan_id].filter((id) => id !== undefined);
  await holdPrices(tx, project, { charges: overrides?.charges, plan_ids });
}

/** Whether a change of plan ends the open period, and does not only replace what is to come. */
function endsPeriod(
  { status, in_trial }: subscriptions.BilledSubscription,
  { change_at }: SubscriptionPatch,
): boolean {
  return change_at !== "period_end" && status !== "pending" && !in_trial;
}

/** Naming the present plan takes a scheduled change back; prices may change all the same. */
async function keepPlan(
  tx: Tx,
  project: ProjectId,
  current: () => Promise<subscriptions.BilledSubscription>,
  change: SubscriptionPatch,
  by: By,
  now: Date,
): Promise<void> {
  if (change.plan_id !== undefined) await takeBack(tx, project, await current(), by, now);
  if (change.overrides !== undefined) {
    await overridePrices(tx, project, await current(), change.overrides, by, now);
  }
}

async function takeBack(
  tx: Tx,
  project: ProjectId,
  subscription: subscriptions.BilledSubscription,
  by: By,
  now: Date,
) {
  const { id, scheduled_plan_id } = subscription;
  if (scheduled_plan_id === null) return;
  await openPeriods.schedulePlan(tx, project, id, null, now);
  const payload = { scheduled_plan_id: null };
  await emit(tx, project, [{ type: "subscription.updated", resource_id: id, payload }], by, now);
}

export async function moveSubscription(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  wanted: Wanted,
  by: By,
  now: Date,
): Promise<subscriptions.NamedSubscription> {
  const { id } = await lockCaughtUp(tx, settings, ref, by, now);
  return moveLocked(tx, settings, id, wanted, by, now);
}

async function moveLocked(
  tx: Tx,
  settings: ProjectSettings,
  id: string,
  wanted: Wanted,
  by: By,
  now: Date,
): Promise<subscriptions.NamedSubscription> {
  let subscription = await reread(tx, settings.id, id);
  const asked = () => transition(subscription, wanted.status).kind;
  if (asked() === "withdraw" && isDue(subscription, now)) {
    subscription = await startMissed(tx, settings, subscription, by, now, wanted.drops);
  }
  if (asked() === "terminate" || asked() === "cancel") {
    subscription = await closeMissed(tx, settings, subscription, by, now, wanted.drops);
  }
  await changeStatus(tx, settings, subscription, wanted, by, now);
  return reread(tx, settings.id, id);
}

/** Refuses a status beside anything but properties: which of the two comes first is not said. */
function refuseMixed(change: SubscriptionPatch): void {
  const { status, plan_id, change_at, overrides, trial_days, ends_at } = change;
  const others = { plan_id, change_at, overrides, trial_days, ends_at };
  const beside = Object.entries(others).find(([, value]) => value !== undefined);
  if (status !== undefined && beside !== undefined) {
    const message = `status and ${beside[0]} cannot be changed in one call.`;
    throw refuseField("status", "unsupported", message);
  }
  if (change.unbilled !== undefined && status !== "terminated" && status !== "canceled") {
    const message = "unbilled goes with a status that ends the subscription.";
    throw refuseField("unbilled", "unsupported", message);
  }
  if (change_at !== undefined && plan_id === undefined) {
    throw refuseField("plan_id", "required", "change_at says when plan_id counts: name a plan.");
  }
}

function refuseEnded(
  { status }: subscriptions.BilledSubscription,
  change: SubscriptionPatch,
): void {
  const { plan_id, overrides, ends_at } = change;
  const isAsked = plan_id !== undefined || overrides !== undefined || ends_at !== undefined;
  if (!isAsked || !hasEnded(status)) return;
  throw refuse("subscription_ended", "The subscription has ended. Reactivate it first.");
}

async function changeFields(
  tx: Tx,
  project: ProjectId,
  subscription: subscriptions.BilledSubscription,
  change: SubscriptionPatch,
  by: By,
  now: Date,
): Promise<void> {
  const { metadata = subscription.metadata } = change;
  const { id, started_at, overrides } = subscription;
  const ends_at =
    change.ends_at === undefined ? subscription.ends_at : instant(change.ends_at, "ends_at");
  if (change.ends_at !== undefined && ends_at !== null) {
    refuseEarlyEnd(ends_at, started_at, notBefore(subscription, now));
  }
  await subscriptions.setFields(tx, project, id, { ends_at, overrides, metadata }, now);
  const after = { ...subscription, ends_at, metadata };
  const changed = changedFields(subscription, after, ["ends_at", "metadata"]);
  await emit(tx, project, updated("subscription.updated", id, changed), by, now);
}

/** What falls due together of its customer is invoiced before anything of it is changed. */
function customerFirst(settings: ProjectSettings, customer_id: string, by: By, now: Date) {
  const what = "What is due of the customer at once is held by another call.";
  return new Beforehand(what, async (db) => {
    const told = { done() {}, setAside() {} };
    return (await new CustomerClose(db, settings, by, now, told).close(customer_id)) > 0;
  });
}

/** Locks the subscription and does all that is due of it, each period at its own prices. */
async function lockCaughtUp(
  tx: Tx,
  settings: ProjectSettings,
  ref: string,
  by: By,
  now: Date,
): Promise<subscriptions.BilledSubscription> {
  let subscription = await subscriptions.lock(tx, settings.id, ref);
  if (subscription === undefined) throw notFound("subscription");
  const scheduler = { ...by, actor_token_id: null };
  if (isDue(subscription, now) && !isByItself(subscription)) {
    throw customerFirst(settings, subscription.customer_id, scheduler, now);
  }
  // The start is billed under the customer's lock; what the caller then ends waits for usage, which
  // comes before.
  if (subscription.status === "pending" && isDue(subscription, now)) {
    await lockUsage(tx, settings.id, [usageLock(subscription.id)], "alone");
  }
  while (isDue(subscription, now)) {
    const { closed, facts } = await handleDue(tx, settings, [subscription], {
      by: scheduler,
      now,
    });
    if (closed === 0 && facts.length === 0) return subscription;
    const before: SubscriptionStatus = subscription.status;
    subscription = await reread(tx, settings.id, subscription.id);
    // It was set aside.
    if (closed === 0 && subscription.status === before) return subscription;
  }
  return subscription;
}

/**
 * Closes what a subscription that was set aside has missed, before its end or a change of its plan:
 * else its open period would be drawn out beyond its boundary, and periods that have ended would
 * never be billed. Properties of the same call may have made that possible. Where they have not,
 * the caller gets the reason, or has what cannot be billed dropped.
 */
async function closeMissed(
  tx: Tx,
  settings: ProjectSettings,
  found: subscriptions.BilledSubscription,
  by: By,
  now: Date,
  drops = false,
): Promise<subscriptions.BilledSubscription> {
  let subscription = found;
  const scheduler = { ...by, actor_token_id: null };
  while (subscription.status !== "pending" && isDue(subscription, now)) {
    const ending = { ...dueEnding(subscription), drops };
    const facts = await orUnbilled(() => closeForCaller(tx, settings, ending, now));
    await emit(tx, settings.id, facts, drops ? by : scheduler, now);
    subscription = await reread(tx, settings.id, subscription.id);
  }
  return subscription;
}

/** Makes up for a start that was set aside, before the end: what ends was there since then. */
async function startMissed(
  tx: Tx,
  settings: ProjectSettings,
  pending: subscriptions.BilledSubscription,
  by: By,
  now: Date,
  drops = false,
): Promise<subscriptions.BilledSubscription> {
  const facts = await orUnbilled(() => startNow(tx, settings, pending, now, drops));
  await emit(tx, settings.id, facts, drops ? by : { ...by, actor_token_id: null }, now);
  return reread(tx, settings.id, pending.id);
}

async function reread(
  tx: Tx,
  project: ProjectId,
  id: string,
): Promise<subscriptions.BilledSubscription> {
  const subscription = await subscriptions.getBilled(tx, project, id);
  if (subscription === undefined) throw new Error(`Subscription ${id} vanished.`);
  return subscription;
}

async function changeProperties(
  tx: Tx,
  project: ProjectId,
  subscription: subscriptions.BilledSubscription,
  change: SubscriptionPatch,
  by: By,
  now: Date,
): Promise<void> {
  const { id, status } = subscription;
  const { properties = {} } = change;
  const merged = await mergeProperties(tx, project, subscription, properties, now);
  if (!hasEnded(status)) {
    const lists = await loadLists(tx, project, subscription);
    const recurring_cents = recurringOf(lists, subscription, merged, change, now);
    if (recurring_cents !== undefined) {
      await subscriptions.setRecurring(tx, project, id, recurring_cents);
    }
  }
  const moved = changedFields(subscription.properties, merged, Object.keys(properties));
  const changed = Object.keys(moved).length === 0 ? {} : { properties: moved };
  await emit(tx, project, updated("subscription.updated", id, changed), by, now);
}

/** The price lists of its plan and of the scheduled one. */
async function loadLists(
  tx: Tx,
  project: ProjectId,
  { id, plan_id, scheduled_plan_id }: subscriptions.BilledSubscription,
): Promise<PriceLists> {
  const wanted = scheduled_plan_id === null ? [plan_id] : [plan_id, scheduled_plan_id];
  const versions = await plans.listVersions(tx, project, wanted);
  return { versions, overrides: await priceOverrides.list(tx, project, [id]) };
}

/** Refuses a bad quantity of the present prices and of those to come. Undefined where it stays. */
function recurringOf(
  lists: PriceLists,
  subscription: subscriptions.BilledSubscription,
  properties: Record<string, unknown>,
  change: SubscriptionPatch,
  now: Date,
): string | undefined {
  const to_come = listToCome(lists, subscription, change, now);
  const next = to_come && recurring(to_come, properties);
  // A trial is billed nothing.
  if (subscription.in_trial) return undefined;
  return subscription.status === "pending"
    ? next
    : recurring(listOf(lists, subscription), properties);
}

/**
 * The list of the next period. None where the present one goes on, or where the same call brings
 * another and checks that.
 */
function listToCome(
  lists: PriceLists,
  subscription: subscriptions.BilledSubscription,
  { plan_id: asked, overrides }: SubscriptionPatch,
  now: Date,
): PlanVersion | undefined {
  const { plan_id, scheduled_plan_id, status, in_trial, override_no } = subscription;
  // The plan it is on takes a scheduled change back.
  const next_id = asked?.toLowerCase() ?? scheduled_plan_id ?? plan_id;
  const isBrought = next_id === plan_id ? overrides !== undefined : asked !== undefined;
  if (isBrought) return undefined;
  const next = listAt(lists, next_id, pricedAt(subscription, now));
  // Before the first paid period, a change of plan has left open which prices of its own count.
  if (status === "pending" || in_trial || next_id !== plan_id) return next.list;
  // A new charge of the plan refuses nothing: a caller who changes properties has not made it.
  return next.override_no === override_no ? undefined : next.list;
}

/** The instant whose prices the next period is billed by, as far as they are known. */
function pricedAt(
  { status, in_trial, started_at, current_period_next }: subscriptions.BilledSubscription,
  now: Date,
): Date {
  if (status === "pending") return started_at;
  return in_trial ? now : current_period_next;
}
