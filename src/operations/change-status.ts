// Moves a subscription to another status: suspends, resumes, ends, starts, brings back.

import { openPeriod } from "../domain/closing.ts";
import { startOfDay, utcDate } from "../domain/dates.ts";
import { type AskedStatus, transition } from "../domain/lifecycle.ts";
import { listAt } from "../domain/price-lists.ts";
import { refuse } from "../errors.ts";
import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { closeForCaller, type Ending } from "./close-periods.ts";
import { type By, emit, type Fact } from "./emit.ts";
import { requestFor } from "./invoice-request.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { loadTerms } from "./load-closing.ts";
import { dropAhead } from "./place-ahead.ts";
import { startNow } from "./start-pending.ts";
import { lockPlan, recurring } from "./start-subscription.ts";
import { ended } from "./subscription-facts.ts";
import { orUnbillable } from "./unbillable.ts";

export type Wanted = { readonly status: AskedStatus; readonly bill: boolean };

/** Of a locked subscription that has nothing due. */
export async function changeStatus(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  wanted: Wanted,
  by: By,
  now: Date,
): Promise<void> {
  const at = notBefore(subscription, now);
  const facts = await applyTransition(tx, settings, subscription, wanted, at);
  await emit(tx, settings.id, facts, by, at);
}

/**
 * `now` was read before the lock was waited for, perhaps on a machine whose clock is behind. What
 * happened to the subscription meanwhile may be later, and nothing may end before it began.
 */
export function notBefore(subscription: subscriptions.BilledSubscription, now: Date): Date {
  const { status, current_period_start, terminated_at } = subscription;
  const latest = Math.max(
    now.getTime(),
    status === "pending" ? 0 : current_period_start.getTime(),
    terminated_at?.getTime() ?? 0,
  );
  return new Date(latest);
}

async function applyTransition(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  wanted: Wanted,
  now: Date,
): Promise<Fact[]> {
  const project = settings.id;
  const { id, external_id, status: from, levels } = subscription;
  const fact = (type: Fact["type"]): Fact => ({
    type,
    resource_id: id,
    payload: { external_id, from },
  });
  const setStatus = (status: AskedStatus, terminated_at: Date | null = null) =>
    subscriptions.setStatus(tx, project, id, { status, terminated_at }, now);
  const step = transition(from, wanted.status);
  switch (step.kind) {
    case "none":
      return [];
    case "not_started":
      throw refuse("not_started", "The subscription has not started: there is nothing to suspend.");
    case "start":
      return startNow(tx, settings, subscription, now);
    case "withdraw": {
      const status = wanted.status === "canceled" ? "canceled" : "terminated";
      await dropAhead(tx, project, subscription);
      await openPeriods.end(tx, project, [{ id, status, terminated_at: now, levels }], now);
      return [ended({ ...subscription, status }, from, now)];
    }
    case "suspend":
      await subscriptions.insertSuspension(tx, project, id, now);
      await setStatus("suspended");
      return [fact("subscription.suspended")];
    case "resume":
      await subscriptions.endSuspension(tx, project, id, now);
      await setStatus("active");
      return [fact("subscription.resumed")];
    case "terminate":
      return endNow(tx, settings, subscription, "terminated", wanted.bill, now);
    case "cancel":
      return endNow(tx, settings, subscription, "canceled", false, now);
    case "relabel":
      await setStatus(wanted.status, subscription.terminated_at);
      return [
        fact(wanted.status === "canceled" ? "subscription.canceled" : "subscription.terminated"),
      ];
    case "reactivate":
      return [
        fact("subscription.reactivated"),
        ...(await reactivate(tx, settings, subscription, step.into, now)),
      ];
  }
}

function endNow(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  status: "terminated" | "canceled",
  bill: boolean,
  now: Date,
): Promise<Fact[]> {
  const ending: Ending = { subscription, end: now, next: { kind: "end", status, bill } };
  return closeOrRefuse(tx, settings, ending, now);
}

/** When the final invoice cannot be made, nothing ends and the caller gets the reason. */
export async function closeOrRefuse(
  tx: Tx,
  settings: ProjectSettings,
  ending: Ending,
  now: Date,
): Promise<Fact[]> {
  return orUnbillable(() => closeForCaller(tx, settings, ending, now));
}

function hasBegun({ started_at, terminated_at }: subscriptions.BilledSubscription): boolean {
  return terminated_at === null || terminated_at >= started_at;
}

/** A new period from now to its schedule's next boundary; the gap is never billed. */
async function reactivate(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  into: "active" | "suspended",
  now: Date,
): Promise<Fact[]> {
  const project = settings.id;
  const { id, plan_id, properties, anchor_date, levels, overrides } = subscription;
  await lockPlan(tx, project, plan_id, "");
  const terms = await loadTerms(tx, project, [subscription]);
  const lists = terms.lists(id);
  const in_force = listAt(lists, plan_id, now);
  // It is never active before it is resumed, so not even its first day counts.
  const suspended = { from: startOfDay(utcDate(now)), to: null };
  const suspensions = into === "suspended" ? [suspended] : [];
  const { net_payment_days } = settings;
  const opening = { lists, names: terms.names, suspensions, net_payment_days, now };
  const at = { start: now, anchor_date, is_first: false };
  const recurring_cents = recurring(in_force.list, properties);
  const opened = openPeriod({ ...opening, properties, ends_at: null }, in_force, at);
  const period: openPeriods.OpenPeriod = {
    id,
    plan_id,
    // One that was withdrawn before it began has no period behind it.
    period_no: subscription.period_no + (hasBegun(subscription) ? 1 : 0),
    current_period_start: opened.period.start,
    current_period_next: opened.period.next,
    anchor_date,
    plan_version: opened.list.version,
    override_no: opened.override_no,
    overrides,
    scheduled_plan_id: null,
    advance: opened.advance,
    levels,
    recurring_cents,
  };
  if (!(await openPeriods.reopen(tx, project, period, into, now))) {
    throw refuse("already_exists", "Another live subscription has this external_id.", {
      details: [{ field: "external_id", code: "taken" }],
    });
  }
  if (into === "suspended") {
    await subscriptions.insertSuspension(tx, project, id, suspended.from);
  }
  const requests = requestFor(subscription, opened.draft, "advance", period.period_no);
  const issued = await issueInvoices(tx, project, requests, now);
  return issued.flatMap(({ facts }) => facts);
}
