// Starts subscriptions whose start was set for later, when it has come, or when a caller asks.

import { daysBetween, utcDate } from "../../domain/dates.ts";
import { type Opened, openPeriod } from "../../domain/opening.ts";
import { listAt } from "../../domain/price-lists.ts";
import { begin } from "../../domain/starts.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import type { BilledSubscription } from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { Fact } from "../emit.ts";
import { separately } from "../issuing/group-acts.ts";
import { type Issued, issueInvoices } from "../issuing/issue.ts";
import { type Act, actsOf, type InvoiceRequest } from "../issuing/request.ts";
import { periodDropped, started as wasStarted } from "./facts.ts";
import { loadTerms, type Terms } from "./load.ts";
import { moveAhead } from "./move-ahead.ts";
import { Decisions, type Failed, orDropped } from "./set-aside.ts";

/** A subscription that starts, with its first period. */
export type Start = { readonly subscription: BilledSubscription; readonly first: First };

/** The subscriptions must be locked, and their start must have come. */
export async function decideStarts(
  db: Queryable,
  settings: ProjectSettings,
  pending: readonly BilledSubscription[],
  now: Date,
): Promise<{ decided: Start[]; failed: readonly Failed[] }> {
  if (pending.length === 0) return { decided: [], failed: [] };
  const terms = await loadTerms(db, settings.id, pending);
  const decisions = new Decisions();
  const decided = pending.flatMap((subscription) => {
    const { started_at } = subscription;
    const decision = () => openFirst(terms, settings, subscription, started_at, now);
    const first = decisions.decide(subscription, decision);
    return first === undefined ? [] : [{ subscription, first }];
  });
  return { decided, failed: decisions.failed };
}

/**
 * Starts a locked subscription now, for a caller, or at its start if that has come and could not be
 * billed.
 * With `drops`, what is due at the start is given up where it cannot be billed. Emits nothing.
 */
export async function startNow(
  tx: Tx,
  settings: ProjectSettings,
  subscription: BilledSubscription,
  now: Date,
  drops = false,
): Promise<Fact[]> {
  const terms = await loadTerms(tx, settings.id, [subscription]);
  const { started_at } = subscription;
  const at = started_at < now ? started_at : now;
  const { value: first, reason } = orDropped(
    drops,
    () => openFirst(terms, settings, subscription, at, now),
    () => openFirst(terms, settings, subscription, at, now, true),
  );
  const { period, anchor_date } = first.begun;
  const { interval } = first.opened.list;
  await moveAhead(tx, settings.id, subscription, { period, interval, anchor_date });
  const start = { subscription, first };
  await writeStarts(tx, settings.id, [start], now);
  const issued = await issueInvoices(tx, settings.id, startRequests(start), now);
  const lost =
    reason === undefined ? [] : [periodDropped(subscription, period, "due_at_start", reason)];
  return [...startFacts(start, issued), ...lost];
}

type First = {
  readonly begun: ReturnType<typeof begin>;
  readonly started_at: Date;
  readonly opened: Opened;
};

function openFirst(
  terms: Terms,
  { net_payment_days }: ProjectSettings,
  subscription: BilledSubscription,
  started_at: Date,
  now: Date,
  drops_start_fees = false,
): First {
  const { id, plan_id, properties, ends_at } = subscription;
  const lists = terms.lists(id);
  const in_force = listAt(lists, plan_id, started_at);
  const begun = begin({
    started_at,
    trial_days: trialDaysOf(subscription),
    interval: in_force.list.interval,
    is_anniversary: subscription.billing_time === "anniversary",
    anchor_date: subscription.is_anchor_given ? subscription.anchor_date : null,
  });
  const opening = { lists, names: terms.names, suspensions: [], net_payment_days, now };
  const opened = openPeriod({ ...opening, properties, ends_at, drops_start_fees }, in_force, {
    start: started_at,
    anchor_date: begun.anchor_date,
    is_first: true,
  });
  return { begun, started_at, opened };
}

/** The days between the start, which has not come, and the end of the trial. */
export function trialDaysOf({ started_at, trial_ends_at }: BilledSubscription): number {
  return trial_ends_at === null ? 0 : daysBetween(utcDate(started_at), utcDate(trial_ends_at));
}

export async function writeStarts(
  tx: Tx,
  project: ProjectId,
  starts: readonly Start[],
  now: Date,
): Promise<void> {
  for (const start of starts) {
    await openPeriods.setUnbegun(tx, project, start.subscription.id, begunRow(start), now);
  }
}

function begunRow({ subscription, first }: Start): openPeriods.Unbegun {
  const { plan_id, overrides } = subscription;
  const { begun, started_at, opened } = first;
  const { in_trial, trial_ends_at, anchor_date, period } = begun;
  return {
    plan_id,
    plan_version: opened.list.version,
    override_no: opened.override_no,
    overrides,
    status: "active",
    started_at,
    current_period_start: period.start,
    current_period_next: period.next,
    anchor_date,
    in_trial,
    trial_ends_at,
    advance: in_trial ? null : opened.advance,
    recurring_cents: in_trial ? "0" : opened.recurring_cents,
  };
}

/** A start is billed what is due at it, unless it begins with a trial. */
export function startActs({ subscription, first }: Start): Act[] {
  const draft = first.begun.in_trial ? undefined : first.opened.draft;
  const { period_no } = subscription;
  return actsOf(subscription, draft, { reason: "start", period_no, due_at: first.started_at });
}

export function startRequests(start: Start): InvoiceRequest[] {
  return separately(startActs(start));
}

/** Takes the invoices of this start from those issued, which come in the order of the starts. */
export function startFacts(start: Start, issued: Issued[]): Fact[] {
  const own = issued.splice(0, startRequests(start).length);
  return [startedFact(start), ...own.flatMap(({ facts }) => facts)];
}

export function startedFact(start: Start): Fact {
  return wasStarted({ ...start.subscription, ...begunRow(start) });
}
