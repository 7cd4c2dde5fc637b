// Moves a subscription to another plan, now or at the end of its period, and changes the prices
// that it has of its own.

import { changedFields } from "../../domain/changed-fields.ts";
import { withOverride } from "../../domain/price-lists.ts";
import { begin } from "../../domain/starts.ts";
import { refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Overrides, SubscriptionPatch } from "../../schema/subscriptions.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as formerProperties from "../../store/subscriptions/former-properties.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { type NewOverride, recordOverride, resolveOverrides } from "../catalog/override-prices.ts";
import { type Finder, holding } from "../catalog/resolve-charges.ts";
import { planChanged } from "../closing/facts.ts";
import { moveAhead } from "../closing/move-ahead.ts";
import { trialDaysOf } from "../closing/start-pending.ts";
import { type By, emit, updated } from "../emit.ts";
import { mergeProperties } from "./change-properties.ts";
import { closeOrRefuse, notBefore } from "./change-status.ts";
import { lockPlan, recurring } from "./start.ts";

type Change = Pick<SubscriptionPatch, "plan_id" | "change_at" | "properties" | "overrides">;

/** The subscription must be locked, have nothing due, and be on another plan. */
export async function changePlan(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  change: Change,
  by: By,
  now: Date,
): Promise<void> {
  const project = settings.id;
  const plan = await lockPlan(tx, project, (change.plan_id ?? "").toLowerCase(), "plan_id");
  const isNow = change.change_at !== "period_end";
  const properties = { ...subscription.properties, ...change.properties };
  const wanted = { plan, properties, overrides: change.overrides };
  const { override, recurring_cents } = await checkChange(
    tx,
    project,
    holding(tx, project),
    subscription,
    wanted,
  );
  const of = { subscription_id: subscription.id, plan_id: plan.id, effective_at: now };
  await recordOverride(tx, project, of, override);
  if (subscription.status === "pending" || subscription.in_trial) {
    return replacePlan(tx, project, subscription, { plan, override, recurring_cents }, by, now);
  }
  if (!isNow) return schedule(tx, project, subscription, plan.id, by, now);
  // Quantities that were changed before belong to the period that ends, by whatever clock.
  const last = await formerProperties.lastChange(tx, project, subscription.id);
  const at = notBefore(subscription, last !== null && last > now ? last : now);
  const next = { kind: "change" as const, plan_id: plan.id, properties };
  const facts = await closeOrRefuse(tx, settings, { subscription, end: at, next }, at);
  if (change.properties !== undefined) {
    await mergeProperties(tx, project, subscription, change.properties, at);
  }
  await emit(tx, project, facts, by, at);
}

/** Whether the subscription can go to the plan, with these properties and prices of its own. */
export async function checkChange(
  db: Queryable,
  project: ProjectId,
  find: Finder,
  subscription: subscriptions.BilledSubscription,
  wanted: {
    readonly plan: plans.PlanRow;
    readonly properties: Record<string, unknown>;
    readonly overrides: Overrides | null | undefined;
  },
): Promise<{ override: NewOverride; recurring_cents: string }> {
  const { plan, properties } = wanted;
  const present = await plans.get(db, project, subscription.plan_id);
  if (present !== undefined && present.amount_currency !== plan.amount_currency) {
    throw refuse(
      "currency_mismatch",
      `plan_id: the plan is in ${plan.amount_currency}, the subscription in ${present.amount_currency}.`,
    );
  }
  const override = await resolveOverrides(find, plan.amount_currency, wanted.overrides);
  const recurring_cents = await recurringWith(db, project, plan, override, properties);
  return { override, recurring_cents };
}

/** What a period brings in by the plan's newest list with these prices. Refuses a bad quantity. */
async function recurringWith(
  db: Queryable,
  project: ProjectId,
  plan: plans.PlanRow,
  override: NewOverride,
  properties: Record<string, unknown>,
): Promise<string> {
  const versions = await plans.listVersions(db, project, [plan.id]);
  const version = versions.find((candidate) => candidate.version === plan.version);
  if (version === undefined) throw new Error(`Plan ${plan.id} has no price list.`);
  const numbered = { ...override, override_no: 0, plan_id: plan.id, effective_at: new Date(0) };
  return recurring(withOverride(version, numbered), properties);
}

async function schedule(
  tx: Tx,
  project: ProjectId,
  { id }: subscriptions.BilledSubscription,
  plan_id: string,
  by: By,
  now: Date,
): Promise<void> {
  await openPeriods.schedulePlan(tx, project, id, plan_id, now);
  const payload = { scheduled_plan_id: plan_id };
  await emit(tx, project, [{ type: "subscription.updated", resource_id: id, payload }], by, now);
}

/** Before the first paid period only the plan is replaced: trial and start stay. */
async function replacePlan(
  tx: Tx,
  project: ProjectId,
  subscription: subscriptions.BilledSubscription,
  to: {
    readonly plan: plans.PlanRow;
    readonly override: NewOverride;
    readonly recurring_cents: string;
  },
  by: By,
  now: Date,
): Promise<void> {
  const { plan, override } = to;
  const { id, in_trial, started_at } = subscription;
  const begun = begin({
    started_at,
    trial_days: trialDaysOf(subscription),
    interval: plan.interval,
    is_anniversary: subscription.billing_time === "anniversary",
    anchor_date: subscription.anchor_date,
  });
  const { current_period_start: start, current_period_next: next, anchor_date } = subscription;
  const period = in_trial ? { start, next } : begun.period;
  await moveAhead(tx, project, subscription, { period, interval: plan.interval, anchor_date });
  const replaced = {
    ...subscription,
    plan_id: plan.id,
    plan_code: plan.code,
    plan_version: plan.version,
    // Which of its own prices count is decided when the period starts.
    override_no: null,
    overrides: override.overrides,
    current_period_next: period.next,
    recurring_cents: in_trial ? "0" : to.recurring_cents,
  };
  await openPeriods.setUnbegun(tx, project, id, replaced, now);
  await emit(tx, project, [planChanged(replaced, subscription.plan_code)], by, now);
}

/** Gives it prices of its own on its present plan; they count from periods that start later. */
export async function overridePrices(
  tx: Tx,
  project: ProjectId,
  subscription: subscriptions.BilledSubscription,
  sent: Overrides | null,
  by: By,
  now: Date,
): Promise<void> {
  const { id, plan_id, ends_at, metadata, properties } = subscription;
  const plan = await plans.get(tx, project, plan_id);
  if (plan === undefined) throw new Error(`Plan ${plan_id} vanished.`);
  const override = await resolveOverrides(holding(tx, project), plan.amount_currency, sent);
  await recurringWith(tx, project, plan, override, properties);
  const of = { subscription_id: id, plan_id, effective_at: now };
  await recordOverride(tx, project, of, override);
  const { overrides } = override;
  await subscriptions.setFields(tx, project, id, { ends_at, overrides, metadata }, now);
  const changed = changedFields(subscription, { ...subscription, overrides }, ["overrides"]);
  await emit(tx, project, updated("subscription.updated", id, changed), by, now);
}
