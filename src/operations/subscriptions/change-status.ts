// Moves a subscription to another status: suspends, resumes, ends, starts, brings back.

import { utcDate } from "../../domain/dates.ts";
import { type AskedStatus, shownStatus, transition } from "../../domain/lifecycle.ts";
import { openPeriod } from "../../domain/opening.ts";
import { listAt } from "../../domain/price-lists.ts";
import { billedDay } from "../../domain/returns.ts";
import { refuse } from "../../errors.ts";
import type { Tx } from "../../store/db/db.ts";
import * as closedPeriods from "../../store/subscriptions/closed-periods.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import * as suspensions from "../../store/subscriptions/suspensions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { closeForCaller } from "../closing/close.ts";
import { ended } from "../closing/facts.ts";
import { loadTerms } from "../closing/load.ts";
import { dropAhead } from "../closing/move-ahead.ts";
import { startNow } from "../closing/start-pending.ts";
import type { Ending } from "../closing/write-endings.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { orCannotInvoice } from "../issuing/cannot-invoice.ts";
import { separately } from "../issuing/group-acts.ts";
import { issueInvoices } from "../issuing/issue.ts";
import { actsOf } from "../issuing/request.ts";
import { lockPlan, recurring } from "./start.ts";

export type Wanted = {
  readonly status: AskedStatus;
  readonly bill: boolean;
  /** Where something cannot be billed at an end, it is dropped; else the end is refused. */
  readonly drops?: boolean;
};

/** The subscription must be locked and have nothing due. */
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
  const { id, external_id, levels } = subscription;
  const from = shownStatus(subscription);
  const fact = (type: Fact["type"]): Fact => ({
    type,
    resource_id: id,
    payload: { external_id, from },
  });
  const step = transition(subscription, wanted.status);
  switch (step.kind) {
    case "none":
      return [];
    case "not_started":
      throw refuse("not_started", "The subscription has not started: there is nothing to suspend.");
    case "start":
      return orCannotInvoice(() => startNow(tx, settings, subscription, now));
    case "withdraw": {
      const status = wanted.status === "canceled" ? "canceled" : "terminated";
      await dropAhead(tx, project, subscription);
      await openPeriods.end(tx, project, [{ id, status, terminated_at: now, levels }], now);
      return [ended({ ...subscription, status }, from, now)];
    }
    case "suspend":
      await suspensions.insert(tx, project, id, now);
      await subscriptions.setStatus(tx, project, id, "suspended", now);
      return [fact("subscription.suspended")];
    case "resume":
      await suspensions.end(tx, project, id, now);
      await subscriptions.setStatus(tx, project, id, "active", now);
      return [fact("subscription.resumed")];
    case "terminate":
      return endNow(tx, settings, subscription, { ...wanted, status: "terminated" }, now);
    case "cancel":
      return endNow(
        tx,
        settings,
        subscription,
        { ...wanted, status: "canceled", bill: false },
        now,
      );
    case "relabel":
      await subscriptions.rename(tx, project, subscription, step.as, now);
      return [fact(`subscription.${step.as}`)];
    case "reactivate":
      return [
        fact("subscription.reactivated"),
        ...(await reactivate(tx, settings, subscription, now)),
      ];
  }
}

function endNow(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  { status, bill, drops = false }: Wanted & { readonly status: "terminated" | "canceled" },
  now: Date,
): Promise<Fact[]> {
  const next = { kind: "end" as const, status, bill, takes_instant: true };
  return closeOrRefuse(tx, settings, { subscription, end: now, drops, next }, now);
}

/** When the final invoice cannot be made, nothing ends and the caller gets the reason. */
export async function closeOrRefuse(
  tx: Tx,
  settings: ProjectSettings,
  ending: Ending,
  now: Date,
): Promise<Fact[]> {
  return orCannotInvoice(() => closeForCaller(tx, settings, ending, now));
}

function hasBegun({ started_at, terminated_at }: subscriptions.BilledSubscription): boolean {
  return terminated_at === null || terminated_at >= started_at;
}

/**
 * A given anchor date stays. Another one is the day of the first paid period, perhaps of this
 * return.
 */
function anchorOnReturn(
  { anchor_date, is_anchor_given }: subscriptions.BilledSubscription,
  closed: readonly closedPeriods.PlacedPeriod[],
  now: Date,
): string | null {
  const wasPaid = closed.some(({ is_trial }) => !is_trial);
  return anchor_date === null || is_anchor_given || wasPaid ? anchor_date : utcDate(now);
}

/** Opens a period from now to its schedule's next boundary; the gap is never billed. */
async function reactivate(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  now: Date,
): Promise<Fact[]> {
  const project = settings.id;
  const { id, plan_id, properties, levels, overrides } = subscription;
  await lockPlan(tx, project, plan_id);
  const terms = await loadTerms(tx, project, [subscription]);
  const closed = await closedPeriods.list(tx, project, [id]);
  const anchor_date = anchorOnReturn(subscription, closed, now);
  const billed = billedDay(closed, terms.suspensions.get(id) ?? [], now);
  const lists = terms.lists(id);
  const in_force = listAt(lists, plan_id, now);
  const { net_payment_days } = settings;
  const paused = billed === undefined ? [] : [billed];
  const opening = { lists, names: terms.names, suspensions: paused, net_payment_days, now };
  // A subscription withdrawn before it began has no period behind it, and its start is not paid.
  const isFirst = !hasBegun(subscription);
  const at = { start: now, anchor_date, is_first: isFirst };
  const recurring_cents = recurring(in_force.list, properties);
  const opened = openPeriod({ ...opening, properties, ends_at: null }, in_force, at);
  const period: openPeriods.OpenPeriod = {
    id,
    plan_id,
    period_no: subscription.period_no + (isFirst ? 0 : 1),
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
  if (!(await openPeriods.reopen(tx, project, period, now))) {
    throw refuse("already_exists", "Another live subscription has this external_id.", {
      details: [{ field: "external_id", code: "taken" }],
    });
  }
  if (billed !== undefined) await suspensions.insertPause(tx, project, id, billed);
  const reason = isFirst ? "start" : "advance";
  const { period_no } = period;
  const acts = actsOf(subscription, opened.draft, { reason, period_no, due_at: now });
  const issued = await issueInvoices(tx, project, separately(acts), now);
  return issued.flatMap(({ facts }) => facts);
}
