// Starts subscriptions whose start was set for later, when it has come, or when a caller asks.

import { type Opened, openPeriod } from "../domain/closing.ts";
import { daysBetween, utcDate } from "../domain/dates.ts";
import { listAt } from "../domain/price-lists.ts";
import { begin } from "../domain/starts.ts";
import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import type { BilledSubscription } from "../store/subscriptions.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { type By, emit, type Fact } from "./emit.ts";
import { requestFor } from "./invoice-request.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { loadTerms, type Terms } from "./load-closing.ts";
import { placeAhead } from "./place-ahead.ts";
import { type CloseReport, Decisions, recordFailed } from "./set-aside.ts";
import { started as wasStarted } from "./subscription-facts.ts";

/** Of locked ones. Each is billed what is due at its start, unless it begins with a trial. */
export async function startPending(
  tx: Tx,
  settings: ProjectSettings,
  pending: readonly BilledSubscription[],
  by: By,
  now: Date,
): Promise<CloseReport> {
  if (pending.length === 0) return { closed: 0, facts: [] };
  const project = settings.id;
  const terms = await loadTerms(tx, project, pending);
  const decisions = new Decisions();
  const facts: Fact[] = [];
  for (const subscription of pending) {
    const { started_at } = subscription;
    const opened = decisions.decide(subscription, () =>
      openFirst(terms, settings, subscription, started_at, now),
    );
    if (opened !== undefined) facts.push(...(await write(tx, settings, subscription, opened, now)));
  }
  const aside = await recordFailed(tx, project, decisions.failed);
  facts.push(...aside.facts);
  await emit(tx, project, facts, by, now);
  const started = pending.length - decisions.failed.length;
  return { closed: 0, started, facts, set_aside: aside.set_aside };
}

/** Starts a locked one now, for a caller. Emits nothing. */
export async function startNow(
  tx: Tx,
  settings: ProjectSettings,
  subscription: BilledSubscription,
  now: Date,
): Promise<Fact[]> {
  const terms = await loadTerms(tx, settings.id, [subscription]);
  const first = openFirst(terms, settings, subscription, now, now);
  const { period, anchor_date } = first.begun;
  const { interval } = first.opened.list;
  await placeAhead(tx, settings.id, subscription, { period, interval, anchor_date });
  return write(tx, settings, subscription, first, now);
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
  const opened = openPeriod({ ...opening, properties, ends_at }, in_force, {
    start: started_at,
    anchor_date: begun.anchor_date,
    is_first: true,
  });
  return { begun, started_at, opened };
}

/** Of one that has not begun: the days between its start and the end of its trial. */
export function trialDaysOf({ started_at, trial_ends_at }: BilledSubscription): number {
  return trial_ends_at === null ? 0 : daysBetween(utcDate(started_at), utcDate(trial_ends_at));
}

async function write(
  tx: Tx,
  { id: project }: ProjectSettings,
  subscription: BilledSubscription,
  { begun, started_at, opened }: First,
  now: Date,
): Promise<Fact[]> {
  const { plan_id, overrides } = subscription;
  const { in_trial, trial_ends_at, anchor_date, period } = begun;
  const begins = {
    plan_id,
    plan_version: opened.list.version,
    override_no: opened.override_no,
    overrides,
    status: "active" as const,
    started_at,
    current_period_start: period.start,
    current_period_next: period.next,
    anchor_date,
    in_trial,
    trial_ends_at,
    advance: in_trial ? null : opened.advance,
    recurring_cents: in_trial ? "0" : opened.recurring_cents,
  };
  await openPeriods.setUnbegun(tx, project, subscription.id, begins, now);
  const draft = in_trial ? undefined : opened.draft;
  const requests = requestFor(subscription, draft, "start", subscription.period_no);
  const issued = await issueInvoices(tx, project, requests, now);
  return [wasStarted({ ...subscription, ...begins }), ...issued.flatMap(({ facts }) => facts)];
}
