// Makes a subscription: pins the price list of its start and bills what is due then, or leaves it
// pending until it starts.

import { formatDecimal } from "../../domain/decimal.ts";
import { type Opened, openPeriod } from "../../domain/opening.ts";
import { listAt, type PriceLists } from "../../domain/price-lists.ts";
import { checkQuantities, type PlanVersion, recurringPerPeriod } from "../../domain/pricing.ts";
import { BadQuantity } from "../../domain/quantities.ts";
import { instant } from "../../domain/reported-at.ts";
import { type Begun, begin } from "../../domain/starts.ts";
import { notFound, refuse, refuseField } from "../../errors.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { SubscriptionCreate } from "../../schema/subscriptions.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Tx } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { holdPrices } from "../catalog/hold-prices.ts";
import {
  type NewOverride,
  recordOverride,
  resolveOverrides,
  withNewOverride,
} from "../catalog/override-prices.ts";
import { holding } from "../catalog/resolve-charges.ts";
import { loadNames } from "../closing/load.ts";
import { type By, emit } from "../emit.ts";
import { separately } from "../issuing/group-acts.ts";
import { issueInvoices } from "../issuing/issue.ts";
import { actsOf } from "../issuing/request.ts";

export async function startSubscription(
  tx: Tx,
  settings: ProjectSettings,
  input: SubscriptionCreate,
  by: By,
  now: Date,
): Promise<subscriptions.NamedSubscription> {
  const project = settings.id;
  const customer = await customers.get(tx, project, input.customer_id.toLowerCase());
  if (customer === undefined) throw notFound("customer", { field: "customer_id" });
  await holdPrices(tx, project, input.overrides ?? {});
  const plan = await lockPlan(tx, project, input.plan_id.toLowerCase(), "plan_id");
  const override = await resolveOverrides(
    holding(tx, project),
    plan.amount_currency,
    input.overrides,
  );
  const first = await decideFirst(tx, settings, plan, input, override, now);
  const { begun, opened, started_at, ends_at, is_pending } = first;
  const isBilled = !is_pending && !begun.in_trial;
  const id = newId();
  const external_id = input.external_id ?? id;
  const inserted = await subscriptions.insert(
    tx,
    project,
    {
      id,
      external_id,
      customer_id: customer.id,
      plan_id: plan.id,
      status: is_pending ? "pending" : "active",
      billing_time: input.billing_time ?? "calendar",
      anchor_date: begun.anchor_date,
      is_anchor_given: (input.anchor_date ?? null) !== null,
      properties: input.properties ?? {},
      started_at,
      current_period_start: begun.period.start,
      current_period_next: begun.period.next,
      plan_version: opened.list.version,
      override_no: opened.override_no,
      overrides: override.overrides,
      in_trial: begun.in_trial,
      trial_ends_at: begun.trial_ends_at,
      ends_at,
      advance: isBilled ? opened.advance : null,
      metadata: input.metadata ?? {},
      recurring_cents: begun.in_trial ? "0" : opened.recurring_cents,
    },
    now,
  );
  if (inserted === undefined) throw await externalIdTaken(tx, project, external_id);
  const of = { subscription_id: id, plan_id: plan.id, effective_at: first.prices_from };
  await recordOverride(tx, project, of, override);
  const subscription = await subscriptions.getBilled(tx, project, id);
  if (subscription === undefined) throw new Error(`Subscription ${id} was not written.`);

  const draft = isBilled ? opened.draft : undefined;
  const why = { reason: "start" as const, period_no: 1, due_at: started_at };
  const acts = actsOf(subscription, draft, why);
  const issued = await issueInvoices(tx, project, separately(acts), now);
  const { customer_id, plan_id } = subscription;
  const payload = { external_id, customer_id, plan_id };
  const created = { type: "subscription.created" as const, resource_id: id, payload };
  await emit(tx, project, [created, ...issued.flatMap(({ facts }) => facts)], by, now);
  return subscription;
}

type First = {
  readonly begun: Begun;
  readonly opened: Opened;
  readonly started_at: Date;
  readonly ends_at: Date | null;
  readonly is_pending: boolean;
  /** Its own prices count from its start, also from one in the past. */
  readonly prices_from: Date;
};

async function decideFirst(
  tx: Tx,
  settings: ProjectSettings,
  plan: plans.PlanRow,
  input: SubscriptionCreate,
  override: NewOverride,
  now: Date,
): Promise<First> {
  const { starts_at, ends_at } = instantsOf(input, now);
  refuseAnchor(input);
  const prices_from = starts_at < now ? starts_at : now;
  const lists: PriceLists = {
    versions: await plans.listVersions(tx, settings.id, [plan.id]),
    overrides: [],
  };
  const of = { plan_id: plan.id, effective_at: prices_from };
  const own = withNewOverride(lists, of, override);
  const in_force = listAt(own, plan.id, starts_at);
  const begun = begin({
    started_at: starts_at,
    trial_days: input.trial_days ?? plan.trial_days,
    interval: plan.interval,
    is_anniversary: input.billing_time === "anniversary",
    anchor_date: input.anchor_date ?? null,
  });
  if (begun.period.next <= now) {
    throw refuseField(
      "starts_at",
      "period_closed",
      "starts_at must lie in a period that is still open: there are no invoices for the past.",
    );
  }
  const properties = input.properties ?? {};
  recurring(in_force.list, properties);
  const names = await loadNames(tx, settings.id, [plan.id], in_force.list.charges);
  const { net_payment_days } = settings;
  const opening = {
    lists: own,
    names,
    suspensions: [],
    net_payment_days,
    now,
    properties,
    ends_at,
  };
  const { anchor_date } = begun;
  const opened = openPeriod(opening, in_force, { start: starts_at, anchor_date, is_first: true });
  return {
    begun,
    opened,
    started_at: starts_at,
    ends_at,
    is_pending: starts_at > now,
    prices_from,
  };
}

function instantsOf(input: SubscriptionCreate, now: Date) {
  const starts_at = instant(input.starts_at, "starts_at") ?? now;
  const ends_at = instant(input.ends_at, "ends_at");
  if (ends_at !== null) refuseEarlyEnd(ends_at, starts_at, now);
  return { starts_at, ends_at };
}

/** Refuses an end that does not lie ahead, or not behind the start. */
export function refuseEarlyEnd(ends_at: Date, started_at: Date, now: Date): void {
  if (ends_at > now && ends_at > started_at) return;
  const message = "ends_at must lie in the future and after the start.";
  throw refuseField("ends_at", "minimum", message);
}

function refuseAnchor({ anchor_date, billing_time }: SubscriptionCreate): void {
  if ((anchor_date ?? null) === null || billing_time === "anniversary") return;
  const message = "anchor_date goes with billing_time anniversary.";
  throw refuseField("anchor_date", "unsupported", message);
}

/** Keeps the plan from being archived meanwhile. `field` is the one that named it, if one did. */
export async function lockPlan(
  tx: Tx,
  project: ProjectId,
  plan_id: string,
  field?: "plan_id",
): Promise<plans.PlanRow> {
  const plan = await plans.lockShared(tx, project, plan_id);
  if (plan === undefined) throw notFound("plan", { field });
  if (plan.archived_at === null) return plan;
  const sentence = "he plan is archived.";
  throw refuse("plan_archived", field === undefined ? `T${sentence}` : `${field}: t${sentence}`);
}

/** What a period brings in. Refuses a bad quantity now, rather than that the close finds it. */
export function recurring(
  list: PlanVersion,
  properties: Readonly<Record<string, unknown>>,
): string {
  try {
    checkQuantities(list, properties);
    return formatDecimal(recurringPerPeriod(list, properties));
  } catch (error) {
    if (error instanceof BadQuantity) throw refuseField("properties", "quantity", error.message);
    throw error;
  }
}

async function externalIdTaken(tx: Tx, project: ProjectId, external_id: string) {
  const existing = await subscriptions.get(tx, project, `ext:${external_id}`);
  return refuse("already_exists", "A live subscription with this external_id exists.", {
    details: [
      { field: "external_id", code: "taken", ...(existing && { existing_id: existing.id }) },
    ],
  });
}
