// Does what is due of subscriptions: bills ended periods and opens the next ones, ends those whose
// end was set, starts those that were pending. Load, decide, write, emit, for a whole batch.

import {
  type Closed,
  type Closing,
  closePeriod,
  type Opened,
  openNext,
  skipPeriod,
} from "../domain/closing.ts";
import { nextMidnight } from "../domain/dates.ts";
import { isLive } from "../domain/lifecycle.ts";
import { nextPeriod } from "../domain/periods.ts";
import { taxSnapshot } from "../domain/taxes.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import * as usageSums from "../store/usage-sums.ts";
import { type By, emit, type Fact, SCHEDULER } from "./emit.ts";
import { type InvoiceRequest, requestFor } from "./invoice-request.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { closingOf, loadTerms, loadUsage, openPeriod, type Terms } from "./load-closing.ts";
import { lockMoney, type Money, taxTermsOf } from "./load-money.ts";
import { type CloseReport, Decisions, type Failed, recordFailed } from "./set-aside.ts";
import { startPending } from "./start-pending.ts";
import { ended, periodRenewed, planChanged, trialEnded } from "./subscription-facts.ts";

export const BATCH_MAX = 1_000;

/**
 * What keeps usage out of periods that are closing: usage locks until the commit, or a cutoff that
 * was committed before, with which events of other periods need not wait.
 */
export type Guard = "usage locks" | "cutoff";

/** A period that ends, and what follows it. */
export type Ending = {
  readonly subscription: subscriptions.BilledSubscription;
  readonly end: Date;
  readonly next:
    | { readonly kind: "renew" }
    /** Now, by a caller: with other properties from the new period on, if they change as well. */
    | {
        readonly kind: "change";
        readonly plan_id: string;
        readonly properties: Record<string, unknown>;
      }
    | {
        readonly kind: "end";
        readonly status: "terminated" | "canceled";
        readonly bill: boolean;
      };
};

/**
 * Does what is due of each subscription, at most a batch of them. `onFull` is told as soon as a
 * whole batch is locked: others may be due as well.
 */
export async function closeDue(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
  guard: Guard,
  onFull: () => void = () => {},
): Promise<CloseReport> {
  const due = await openPeriods.lockDue(tx, settings.id, now, BATCH_MAX);
  if (due.length === BATCH_MAX) onFull();
  return handleDue(tx, settings, due, SCHEDULER, now, guard);
}

/** The same for one subscription alone: how a batch that failed finds the one that made it fail. */
export async function closeAlone(
  tx: Tx,
  settings: ProjectSettings,
  id: string,
  now: Date,
): Promise<CloseReport> {
  const subscription = await subscriptions.lock(tx, settings.id, id);
  if (subscription === undefined || !isDue(subscription, now)) return { closed: 0, facts: [] };
  return handleDue(tx, settings, [subscription], SCHEDULER, now);
}

/** Whether its start, its end or the end of its period has come. */
export function isDue(subscription: subscriptions.SubscriptionRow, now: Date): boolean {
  if (!isLive(subscription.status)) return false;
  const { status, started_at, ends_at, current_period_next } = subscription;
  if (status === "pending" && started_at <= now) return true;
  return current_period_next <= now || (ends_at !== null && ends_at <= now);
}

/** Of locked subscriptions: a start comes before an end that was set, and that before a close. */
export async function handleDue(
  tx: Tx,
  settings: ProjectSettings,
  due: readonly subscriptions.BilledSubscription[],
  by: By,
  now: Date,
  guard: Guard = "usage locks",
): Promise<CloseReport> {
  const pending = due.filter(({ status }) => status === "pending");
  const open = due.filter(({ status }) => status !== "pending");
  const starts = await startPending(tx, settings, pending, by, now);
  const closes = await closeAll(tx, settings, open.map(dueEnding), by, now, guard);
  return {
    closed: closes.closed,
    started: starts.started ?? 0,
    facts: [...starts.facts, ...closes.facts],
    set_aside: [...(starts.set_aside ?? []), ...(closes.set_aside ?? [])],
  };
}

/** What is due of one that has begun: its end where that was set, or the next period. */
export function dueEnding(subscription: subscriptions.BilledSubscription): Ending {
  const { ends_at, current_period_next: next } = subscription;
  if (ends_at !== null && ends_at <= next) {
    return { subscription, end: ends_at, next: { kind: "end", status: "terminated", bill: true } };
  }
  return { subscription, end: next, next: { kind: "renew" } };
}

/** Ends the open period of each. What cannot be decided is set aside; the others go on. */
export async function closeAll(
  tx: Tx,
  settings: ProjectSettings,
  endings: readonly Ending[],
  by: By,
  now: Date,
  guard: Guard = "usage locks",
): Promise<CloseReport> {
  if (endings.length === 0) return { closed: 0, facts: [] };
  const { decided, failed } = await decide(tx, settings, endings, now, guard);
  const project = settings.id;
  const aside = await recordFailed(tx, project, failed);
  const facts = [...(await write(tx, project, decided, now)), ...aside.facts];
  await emit(tx, project, facts, by, now);
  return { closed: decided.length, facts, set_aside: aside.set_aside };
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
  return write(tx, settings.id, decided, now);
}

type Decided = {
  readonly ending: Ending;
  readonly closed: Closed;
  /** Undefined where the subscription ends. */
  readonly opened: Opened | undefined;
  readonly overrides: subscriptions.BilledSubscription["overrides"];
};

async function decide(
  tx: Tx,
  settings: ProjectSettings,
  endings: readonly Ending[],
  now: Date,
  guard: Guard,
): Promise<{ decided: Decided[]; failed: Failed[] }> {
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
    const decision = () => ({ ending, opened: openingOf(withChange(closing, ending), ending) });
    return decisions.decide(subscription, decision) ?? [];
  });
  for (const { ending, opened } of openings) await moveAhead(tx, project, ending, opened);
  const rest = openings.map(({ ending }) => ending.subscription);
  const usage = await loadUsage(tx, project, rest, terms);
  const decided = openings.flatMap(({ ending, opened }) => {
    const { subscription, end, next } = ending;
    const closing = withChange(closingOf(terms, usage, subscription, end, settings, now), ending);
    const isBilled = next.kind !== "end" || next.bill;
    const decision = () => (isBilled ? closePeriod : skipPeriod)(closing);
    const closed = decisions.decide(subscription, decision);
    if (closed === undefined) return [];
    return [{ ending, closed, opened, overrides: overridesOf(terms, subscription, opened) }];
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

/** As callers see them: those of the plan that the new period is on. */
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
 * Of a period that ends at another instant than its boundary. Events that were sent ahead of the
 * end go behind it; where a boundary was missed, those between it and an end that is not billed
 * belong to the period that ends, or the next one after a return would bill them.
 */
async function moveAhead(
  tx: Tx,
  project: ProjectId,
  { subscription, end, next }: Ending,
  opened: Opened | undefined,
): Promise<void> {
  if (end >= subscription.current_period_next && next.kind !== "end") return;
  const period = openPeriod(subscription);
  if (!(await usageSums.hasUsageFrom(tx, project, period, end))) return;
  if (opened === undefined) {
    const isMissed = end > subscription.current_period_next;
    if (isMissed) await usageSums.placeAgain(tx, project, period, [end]);
    return usageSums.cutAt(tx, project, period, end);
  }
  const { period: first, list, anchor_date } = opened;
  const second = nextPeriod(first, list.interval, anchor_date);
  await usageSums.placeAgain(tx, project, period, [end, first.next, second.next]);
}

async function write(
  tx: Tx,
  project: ProjectId,
  decided: readonly Decided[],
  now: Date,
): Promise<Fact[]> {
  const customers = [...new Set(decided.map(({ ending }) => ending.subscription.customer_id))];
  const money = await lockMoney(tx, project, customers, now);
  const closedRows = decided.map((one) => closedRow(one, money));
  await closedPeriods.insert(tx, project, closedRows, now);
  await closedPeriods.recordCorrections(tx, project, decided.flatMap(correctedRows));
  await openPeriods.renew(tx, project, decided.flatMap(openRow), now);
  await openPeriods.end(tx, project, decided.flatMap(endRow), now);
  for (const { ending } of decided) {
    // Without a final invoice, late usage of earlier periods gets an invoice of its own.
    if (ending.next.kind !== "end" || ending.next.bill) continue;
    const { id } = ending.subscription;
    await closedPeriods.scheduleSupplement(tx, project, id, nextMidnight(now));
  }
  const requests = decided.flatMap(invoiceRequests);
  const issued = await issueInvoices(tx, project, requests, now, money);
  return [...issued.flatMap(({ facts }) => facts), ...decided.flatMap(factsOf)];
}

function closedRow({ ending, closed }: Decided, money: Money): closedPeriods.ClosedPeriod {
  const { subscription, end, next } = ending;
  return {
    subscription_id: subscription.id,
    period_no: subscription.period_no,
    starts_at: subscription.current_period_start,
    ends_at: end,
    plan_id: subscription.plan_id,
    plan_version: subscription.plan_version,
    override_no: subscription.override_no,
    anchor_date: subscription.anchor_date,
    is_trial: subscription.in_trial,
    levels: closed.levels.start,
    billable: next.kind !== "end" || next.bill,
    billed: closed.billed,
    taxes: taxSnapshot(taxTermsOf(money, subscription.customer_id), closed.list),
  };
}

function correctedRows({ ending, closed }: Decided) {
  return closed.corrected.map((row) => ({ ...row, subscription_id: ending.subscription.id }));
}

function openRow({ ending, closed, opened, overrides }: Decided): openPeriods.OpenPeriod[] {
  if (opened === undefined) return [];
  const { subscription } = ending;
  return [
    {
      id: subscription.id,
      plan_id: opened.list.plan_id,
      period_no: subscription.period_no + 1,
      current_period_start: opened.period.start,
      current_period_next: opened.period.next,
      anchor_date: opened.anchor_date,
      plan_version: opened.list.version,
      override_no: opened.override_no,
      overrides,
      scheduled_plan_id: null,
      advance: opened.advance,
      levels: closed.levels.end,
      recurring_cents: opened.recurring_cents,
    },
  ];
}

function endRow({ ending, closed }: Decided): openPeriods.EndedSubscription[] {
  const { subscription, end, next } = ending;
  if (next.kind !== "end") return [];
  const { status } = next;
  return [{ id: subscription.id, status, terminated_at: end, levels: closed.levels.end }];
}

function invoiceRequests({ ending, closed, opened }: Decided): InvoiceRequest[] {
  const { subscription } = ending;
  const { period_no, in_trial } = subscription;
  const old = { ...subscription, plan_code: closed.list.plan_code };
  const requests = requestFor(old, closed.draft, "period", period_no);
  if (opened === undefined) return requests;
  const next = { ...subscription, plan_code: opened.list.plan_code };
  const cause = in_trial ? "start" : "advance";
  return [...requests, ...requestFor(next, opened.draft, cause, period_no + 1)];
}

function factsOf({ ending, closed, opened }: Decided): Fact[] {
  const { subscription, end, next } = ending;
  if (next.kind === "end") {
    return [ended({ ...subscription, status: next.status }, subscription.status, end)];
  }
  if (opened === undefined) return [];
  const now = {
    ...subscription,
    plan_code: opened.list.plan_code,
    current_period_start: opened.period.start,
    current_period_next: opened.period.next,
  };
  const isChanged = opened.list.plan_id !== subscription.plan_id;
  return [
    ...(subscription.in_trial ? [trialEnded(now, end)] : []),
    ...(isChanged ? [planChanged(now, closed.list.plan_code)] : []),
    periodRenewed(now, { start: subscription.current_period_start, end }),
  ];
}
