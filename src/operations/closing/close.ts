// Does what is due of subscriptions: bills ended periods and opens the next ones, ends those whose
// end was set, starts those that were pending. Load, decide, write, emit, for a whole batch.

import { type Closing, closePeriod, skipPeriod } from "../../domain/closing.ts";
import { justAfter } from "../../domain/dates.ts";
import { refuseFarBehind } from "../../domain/far-behind.ts";
import { hasEnded } from "../../domain/lifecycle.ts";
import { type Opened, openNext } from "../../domain/opening.ts";
import { nextPeriod } from "../../domain/periods.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import * as dueGroups from "../../store/subscriptions/due-groups.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageLocks from "../../store/usage/locks.ts";
import * as usageSums from "../../store/usage/sums.ts";
import type { BatchReport, SetAside } from "../batch-report.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { GROUP_MAX } from "../issuing/group-acts.ts";
import { closingOf, loadTerms, loadUsage, openPeriodRef, type Terms } from "./load.ts";
import { Decisions, type Failed, orDropped, recordFailed, setAside } from "./set-aside.ts";
import { decideStarts } from "./start-pending.ts";
import { type Decided, type Ending, writeEndings, writeGroups } from "./write-endings.ts";

export const BATCH_MAX = 1_000;

/** `done` are the periods that were closed and the subscriptions that were started. */
export type CloseReport = BatchReport & { readonly closed: number };

/**
 * What keeps usage out of periods that are closing: usage locks until the commit, or a cutoff that
 * was committed before, with which events of other periods need not wait.
 */
export type Guard = "usage locks" | "cutoff";

/**
 * Does what is due of each subscription, at most a batch of them. `onFull` is told as soon as a
 * whole batch is locked: others may be due as well.
 */
export async function closeDue(
  tx: Tx,
  settings: ProjectSettings,
  by: By,
  now: Date,
  guard: Guard,
  onFull: () => void = () => {},
): Promise<CloseReport> {
  const due = await openPeriods.lockDue(tx, settings.id, now, BATCH_MAX, settings.groups_customers);
  if (due.length === BATCH_MAX) onFull();
  return handleDue(tx, settings, due.filter(isByItself), { by, now, guard });
}

/**
 * Does what falls due together of customers that get one invoice of it, each at its earliest
 * instant, and whole.
 */
export async function closeGroups(
  tx: Tx,
  settings: ProjectSettings,
  by: By,
  now: Date,
  guard: Guard,
  { onFull = () => {}, customer_id }: { onFull?: () => void; customer_id?: string } = {},
): Promise<CloseReport> {
  const limits = { limit: BATCH_MAX, limit_each: GROUP_MAX };
  const ofOne = customer_id === undefined ? {} : { customer_id };
  const wanted = { now, ...limits, ...ofOne };
  const { batch, is_full } = await dueGroups.lockGroups(tx, settings.id, wanted);
  if (is_full) onFull();
  return handleDue(tx, settings, batch, { by, now, guard, is_grouped: true });
}

/** Whether it is never invoiced with other subscriptions of its customer. */
export function isByItself(subscription: subscriptions.BilledSubscription): boolean {
  return subscription.left_behind || subscription.invoice_grouping !== "customer";
}

/**
 * Does what is due of these alone, those of a customer together where it wants that: so a batch
 * that failed finds those that made it fail.
 */
export async function closeThese(
  tx: Tx,
  settings: ProjectSettings,
  ids: readonly string[],
  how: Pick<How, "by" | "now" | "is_grouped">,
): Promise<CloseReport> {
  const { now, is_grouped = false } = how;
  const locked = await subscriptions.lockBilled(tx, settings.id, ids);
  const due = locked.filter((subscription) => {
    return isDue(subscription, now) && isByItself(subscription) !== is_grouped;
  });
  return handleDue(tx, settings, is_grouped ? due.filter(isFirst(due)) : due, how);
}

/** Whether nothing else of its customer among these is due before it. */
function isFirst(due: readonly subscriptions.BilledSubscription[]) {
  const first = new Map<string, number>();
  for (const one of due) {
    const at = Math.min(dueAt(one).getTime(), first.get(one.customer_id) ?? Infinity);
    first.set(one.customer_id, at);
  }
  return (one: subscriptions.BilledSubscription) =>
    dueAt(one).getTime() === first.get(one.customer_id);
}

/** Sets aside one that failed alone, unless it is no longer due: another may have closed it. */
export async function setAsideDue(
  tx: Tx,
  settings: ProjectSettings,
  id: string,
  error: unknown,
  by: By,
  now: Date,
): Promise<SetAside | undefined> {
  const [subscription] = await subscriptions.lockBilled(tx, settings.id, [id]);
  if (subscription === undefined || !isDue(subscription, now)) return undefined;
  return setAside(tx, settings.id, subscription, error, by, now);
}

/** Whether its start, its end or the end of its period has come. */
export function isDue(subscription: subscriptions.SubscriptionRow, now: Date): boolean {
  return !hasEnded(subscription.status) && dueAt(subscription) <= now;
}

/** When anything of a subscription that has not ended is due next. */
export function dueAt(subscription: subscriptions.SubscriptionRow): Date {
  const { status, started_at, ends_at, current_period_next } = subscription;
  const start = status === "pending" ? started_at : current_period_next;
  const next = start < current_period_next ? start : current_period_next;
  return ends_at !== null && ends_at < next ? ends_at : next;
}

type How = {
  readonly by: By;
  readonly now: Date;
  readonly guard?: Guard;
  /** Whether what falls due of a customer at one instant makes one invoice. */
  readonly is_grouped?: boolean;
};

/**
 * Does what is due of locked subscriptions: a start comes before an end that was set, and that
 * before a close. What cannot be decided is set aside; the others go on.
 */
export async function handleDue(
  tx: Tx,
  settings: ProjectSettings,
  due: readonly subscriptions.BilledSubscription[],
  { by, now, guard = "usage locks", is_grouped = false }: How,
): Promise<CloseReport> {
  const project = settings.id;
  const pending = due.filter(({ status }) => status === "pending");
  const open = due.filter(({ status }) => status !== "pending");
  const starts = await decideStarts(tx, settings, pending, now);
  const closes = await decide(tx, settings, open.map(dueEnding), now, guard);
  const aside = await recordFailed(tx, project, [...starts.failed, ...closes.failed]);
  const write = is_grouped ? writeGroups : writeEndings;
  const written = await write(tx, project, starts.decided, closes.decided, now);
  const facts = [...written, ...aside.facts];
  await emit(tx, project, facts, by, now);
  const closed = closes.decided.length;
  const done = closed + starts.decided.length;
  return { done, closed, facts, set_aside: aside.set_aside };
}

/** What is due of a subscription that has begun: its end where that was set, or the next period. */
export function dueEnding(subscription: subscriptions.BilledSubscription): Ending {
  const { ends_at, current_period_next: next } = subscription;
  if (ends_at !== null && ends_at <= next) {
    return { subscription, end: ends_at, next: { kind: "end", status: "terminated", bill: true } };
  }
  return { subscription, end: next, next: { kind: "renew" } };
}

/** Ends one period for a caller, who gets the reason when it cannot be. Emits nothing. */
export async function closeForCaller(
  tx: Tx,
  settings: ProjectSettings,
  ending: Ending,
  now: Date,
): Promise<Fact[]> {
  const { decided, failed } = await decide(tx, settings, [ending], now, "usage locks");
  if (failed[0] !== undefined) throw failed[0].error;
  return writeEndings(tx, settings.id, [], decided, now);
}

async function decide(
  tx: Tx,
  settings: ProjectSettings,
  endings: readonly Ending[],
  now: Date,
  guard: Guard,
): Promise<{ decided: Decided[]; failed: Failed[] }> {
  if (endings.length === 0) return { decided: [], failed: [] };
  const project = settings.id;
  const batch = endings.map(({ subscription }) => subscription);
  // From here to the commit no event can join these periods.
  const locks = batch.map(({ id }) => usageLocks.usageLock(id));
  if (guard === "usage locks") await usageLocks.lockUsage(tx, project, locks, "alone");
  const changes = endings.flatMap(({ next }) => (next.kind === "change" ? [next.plan_id] : []));
  const terms = await loadTerms(tx, project, batch, changes);
  const decisions = new Decisions();
  const openings = endings.flatMap((ending) => {
    const { subscription, end } = ending;
    const closing = closingOf(terms, NO_USAGE, subscription, end, settings, now);
    const next = withChange(closing, ending);
    const open = () => openingOf(next, ending);
    const openUnbilled = () => openingOf({ ...next, drops_start_fees: true }, ending);
    const decision = () => {
      const opened = orDropped(ending.drops, open, openUnbilled);
      refuseJump(settings, ending, opened.value, now);
      return { ending, ...opened };
    };
    return decisions.decide(subscription, decision) ?? [];
  });
  for (const { ending, value } of openings) await moveBehind(tx, project, ending, value);
  const rest = openings.map(({ ending }) => ending.subscription);
  const usage = await loadUsage(tx, project, rest, terms);
  const decided = openings.flatMap(({ ending, value: opened, reason: start }): Decided[] => {
    const { subscription, end, next } = ending;
    const closing = withChange(closingOf(terms, usage, subscription, end, settings, now), ending);
    const isBilled = next.kind !== "end" || next.bill;
    const close = () => (isBilled ? closePeriod : skipPeriod)(closing);
    const decision = () => orDropped(ending.drops, close, () => skipPeriod(closing));
    const found = decisions.decide(subscription, decision);
    if (found === undefined) return [];
    const { value: closed, reason } = found;
    const dropped = { ...(start && { start }), ...(reason && { end: reason }) };
    const is_billed = isBilled && reason === undefined;
    const overrides = overridesOf(terms, subscription, opened);
    return [{ ending, closed, opened, overrides, is_billed, dropped }];
  });
  return { decided, failed: decisions.failed };
}

const NO_USAGE = new Map();

function withChange(closing: Closing, { next }: Ending): Closing {
  if (next.kind !== "change") return closing;
  return { ...closing, change_to: next.plan_id, next_properties: next.properties };
}

function openingOf(closing: Closing, { next }: Ending): Opened | undefined {
  return next.kind === "end" ? undefined : openNext(closing);
}

/** A sandbox whose clock is moved is as far behind as it was moved. */
function refuseJump(
  { frozen_at }: ProjectSettings,
  { subscription, end }: Ending,
  opened: Opened | undefined,
  now: Date,
): void {
  if (opened === undefined || frozen_at !== null) return;
  const { period: next, list, anchor_date } = opened;
  const { ends_at, catch_up_to } = subscription;
  const { interval } = list;
  refuseFarBehind({ end, next, interval, anchor_date, ends_at, catch_up_to }, now);
}

/** The overrides as callers see them: those of the plan that the new period is on. */
function overridesOf(
  terms: Terms,
  subscription: subscriptions.BilledSubscription,
  opened: Opened | undefined,
) {
  if (opened === undefined || opened.list.plan_id === subscription.plan_id) {
    return subscription.overrides;
  }
  const own = terms.overrides.get(subscription.id) ?? [];
  return own.find(({ plan_id }) => plan_id === opened.list.plan_id)?.overrides ?? null;
}

/**
 * Where a period ends at another instant than its boundary: moves events behind its end into the
 * periods that follow, or out of the bill where none does.
 */
async function moveBehind(
  tx: Tx,
  project: ProjectId,
  { subscription, end, next }: Ending,
  opened: Opened | undefined,
): Promise<void> {
  if (end >= subscription.current_period_next && next.kind !== "end") return;
  const period = openPeriodRef(subscription);
  const from = next.kind === "end" && next.takes_instant ? justAfter(end) : end;
  if (!(await usageSums.hasUsageFrom(tx, project, period, from))) return;
  if (opened === undefined) return usageSums.cutAt(tx, project, period, from);
  const { period: first, list, anchor_date } = opened;
  const second = nextPeriod(first, list.interval, anchor_date);
  await usageSums.moveToPeriods(tx, project, period, end, [first.next, second.next]);
}
