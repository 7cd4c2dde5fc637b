// Bills ended periods and opens the next ones: load, decide, write, emit, for a whole batch.

import {
  type Closed,
  type Closing,
  closePeriod,
  type LatePeriod,
  type Opened,
  openNext,
  supplement,
} from "../domain/closing.ts";
import { nextMidnight } from "../domain/dates.ts";
import { groupBy } from "../domain/group-by.ts";
import { isLive } from "../domain/lifecycle.ts";
import { shownEnd } from "../domain/periods.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Tx } from "../store/db.ts";
import * as plans from "../store/plans.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as usage from "../store/usage.ts";
import * as usageLocks from "../store/usage-locks.ts";
import { type By, emit, type Fact, SCHEDULER } from "./emit.ts";
import { type InvoiceRequest, issueInvoices } from "./issue-invoices.ts";

export const BATCH_MAX = 1_000;

type Billed = subscriptions.BilledSubscription;

/** What a run did: for the report of an advanced clock, and for the workers. */
export type CloseReport = {
  readonly closed: number;
  readonly facts: readonly Fact[];
  /** Subscriptions whose period could not be closed, for a reason that was not known before. */
  readonly set_aside?: readonly SetAside[];
};

export type SetAside = { readonly id: string; readonly reason: string };

/**
 * What keeps usage out of periods that are closing: usage locks until the commit, or a cutoff that
 * was committed before, with which events of other periods need not wait.
 */
export type Guard = "usage locks" | "cutoff";

/** Closes one period of each subscription that is due, at most a batch of them. */
export async function closeDue(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
  guard: Guard,
): Promise<CloseReport> {
  const due = await subscriptions.claimEnded(tx, settings.id, now, BATCH_MAX);
  if (due.length === 0) return { closed: 0, facts: [] };
  return closeEnded(tx, settings, due, SCHEDULER, now, guard);
}

/** Closes one subscription alone: how a batch that failed finds the one that made it fail. */
export async function closeAlone(
  tx: Tx,
  settings: ProjectSettings,
  id: string,
  now: Date,
): Promise<CloseReport> {
  const subscription = await subscriptions.lock(tx, settings.id, id);
  const isDue =
    subscription !== undefined &&
    isLive(subscription.status) &&
    subscription.current_period_next <= now;
  if (!isDue) return { closed: 0, facts: [] };
  return closeEnded(tx, settings, [subscription], SCHEDULER, now);
}

/** Closes the ended period of each of these locked subscriptions. */
export async function closeEnded(
  tx: Tx,
  settings: ProjectSettings,
  due: readonly Billed[],
  by: By,
  now: Date,
  guard: Guard = "usage locks",
): Promise<CloseReport> {
  const project = settings.id;
  const load = await (guard === "cutoff" ? loadUnlocked : loadFor)(tx, project, due);

  // Decide. What cannot be decided is set aside with its reason; the others go on.
  const closes: Decided[] = [];
  const failed: (SetAside & { readonly known: boolean })[] = [];
  for (const subscription of due) {
    const closing = closingOf(load, subscription, subscription.current_period_next, settings, now);
    try {
      closes.push({ subscription, closed: closePeriod(closing), opened: openNext(closing) });
    } catch (error) {
      const reason = reasonOf(error);
      const known = subscription.set_aside_reason === reason;
      failed.push({ id: subscription.id, reason, known });
    }
  }

  // Write.
  for (const { id, reason } of failed) await subscriptions.setAside(tx, project, id, reason);
  await closedPeriods.insert(tx, project, closes.map(closedRow), now);
  await closedPeriods.recordSettled(tx, project, closes.flatMap(settledRows));
  await subscriptions.renew(tx, project, closes.map(openRow), now);
  const issued = await issueInvoices(tx, project, closes.flatMap(invoiceRequests), now);

  // Emit.
  const set_aside = failed.filter(({ known }) => !known);
  const facts = [
    ...issued.flatMap(({ facts }) => facts),
    ...closes.map(periodRenewed),
    ...set_aside.map(wasSetAside),
  ];
  await emit(tx, project, facts, by, now);
  return { closed: closes.length, facts, set_aside };
}

/**
 * For a reason that a close met while it wrote, after which nothing of it is left. Undefined when
 * the same reason was told before, or the subscription is gone.
 */
export async function setAside(
  tx: Tx,
  project: ProjectId,
  id: string,
  error: unknown,
  now: Date,
): Promise<SetAside | undefined> {
  const subscription = await subscriptions.lock(tx, project, id);
  if (subscription === undefined) return undefined;
  const found = { id, reason: reasonOf(error) };
  await subscriptions.setAside(tx, project, id, found.reason);
  if (subscription.set_aside_reason === found.reason) return undefined;
  await emit(tx, project, [wasSetAside(found)], SCHEDULER, now);
  return found;
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.slice(0, subscriptions.SET_ASIDE_REASON_MAX);
}

function wasSetAside({ id, reason }: SetAside): Fact {
  return { type: "subscription.set_aside", resource_id: id, payload: { reason } };
}

/** Ends a locked, caught-up subscription's open period now; `bill` is false when nothing is due. */
export async function closeFinally(
  tx: Tx,
  settings: ProjectSettings,
  subscription: Billed,
  bill: boolean,
  now: Date,
): Promise<readonly Fact[]> {
  const project = settings.id;
  const period = { subscription_id: subscription.id, period_no: subscription.period_no };
  await usageLocks.lockUsage(tx, project, [usageLocks.usageLock(subscription.id)], "alone");
  if (await usage.hasUsageFrom(tx, project, period, now))
    await usage.cutAt(tx, project, period, now);
  const load = await loadFor(tx, project, [subscription]);
  const closing = closingOf(load, subscription, now, settings, now);
  const closed: Closed = bill
    ? closePeriod(closing)
    : { draft: undefined, billed: {}, settled: [] };
  const row = {
    ...closedRow({ subscription, closed }),
    ends_at: now,
    billable: bill,
  };
  await closedPeriods.insert(tx, project, [row], now);
  await closedPeriods.recordSettled(tx, project, settledRows({ subscription, closed }));
  // Without a final invoice, late usage of earlier periods gets an invoice of its own.
  if (!bill) await closedPeriods.settleLateBy(tx, project, subscription.id, nextMidnight(now));
  const request = requestFor(subscription, closed.draft, "period", subscription.period_no);
  const issued = await issueInvoices(tx, project, request, now);
  return issued.flatMap(({ facts }) => facts);
}

/** Invoices of their own for late usage of subscriptions that have ended. */
export async function settleEnded(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
  limit = BATCH_MAX,
): Promise<CloseReport> {
  const project = settings.id;
  const due = await closedPeriods.listSettlements(tx, project, now, limit);
  const facts: Fact[] = [];
  for (const id of due) {
    // Two workers may both come here; the second one waits and then finds nothing late.
    const subscription = await subscriptions.lock(tx, project, id);
    if (subscription === undefined) continue;
    const load = await loadFor(tx, project, [subscription]);
    const { versions, late } = closingOf(load, subscription, now, settings, now);
    if (late.length === 0) continue;
    const { draft, settled } = supplement(versions, late, {
      net_payment_days: settings.net_payment_days,
      now,
    });
    const rows = settled.map((row) => ({ ...row, subscription_id: id }));
    await closedPeriods.recordSettled(tx, project, rows);
    const cause_no = await closedPeriods.countSupplements(tx, project, id);
    const requests = requestFor(
      subscription,
      draft,
      "supplement",
      subscription.period_no,
      cause_no,
    );
    const issued = await issueInvoices(tx, project, requests, now);
    facts.push(...issued.flatMap((one) => one.facts));
  }
  await emit(tx, project, facts, SCHEDULER, now);
  return { closed: due.length, facts };
}

type Load = {
  readonly versions: ReadonlyMap<string, plans.VersionRow[]>;
  readonly usage: ReadonlyMap<string, usage.PeriodUsage[]>;
  readonly suspensions: ReadonlyMap<string, subscriptions.SuspensionRow[]>;
  readonly late: ReadonlyMap<string, closedPeriods.ClosedPeriod[]>;
};

/** Everything the decisions need, in a few statements for any number of subscriptions. */
export async function loadFor(tx: Tx, project: ProjectId, batch: readonly Billed[]): Promise<Load> {
  // From here to the commit no event can join these periods.
  await usageLocks.lockUsage(
    tx,
    project,
    batch.map(({ id }) => usageLocks.usageLock(id)),
    "alone",
  );
  return loadUnlocked(tx, project, batch);
}

/** The same without locks: behind a cutoff, or for a preview, which writes nothing. */
export async function loadUnlocked(
  db: Parameters<typeof usage.totals>[0],
  project: ProjectId,
  batch: readonly Billed[],
): Promise<Load> {
  const ids = batch.map((subscription) => subscription.id);
  const plan_ids = [...new Set(batch.map((subscription) => subscription.plan_id))];
  const versions = await plans.listVersions(db, project, plan_ids);
  const suspensions = await subscriptions.listSuspensions(db, project, ids);
  const late = await closedPeriods.listLate(db, project, ids);
  const open = batch.map(({ id, period_no }) => ({ subscription_id: id, period_no }));
  const totals = await usage.totals(db, project, [...open, ...late]);
  return {
    versions: groupBy(versions, (version) => version.plan_id),
    usage: groupBy(totals, periodKey),
    suspensions: groupBy(suspensions, (suspension) => suspension.subscription_id),
    late: groupBy(late, (period) => period.subscription_id),
  };
}

function periodKey(period: usage.PeriodRef): string {
  return `${period.subscription_id} ${period.period_no}`;
}

export function closingOf(
  load: Load,
  subscription: Billed,
  end: Date,
  settings: ProjectSettings,
  now: Date,
): Closing {
  const { id: subscription_id, period_no } = subscription;
  const late = (load.late.get(subscription_id) ?? []).map(
    (period): LatePeriod => ({ ...period, usage: load.usage.get(periodKey(period)) ?? [] }),
  );
  return {
    subscription,
    end,
    versions: load.versions.get(subscription.plan_id) ?? [],
    usage: load.usage.get(periodKey({ subscription_id, period_no })) ?? [],
    suspensions: load.suspensions.get(subscription_id) ?? [],
    late,
    net_payment_days: settings.net_payment_days,
    now,
  };
}

type Decided = {
  readonly subscription: Billed;
  readonly closed: Closed;
  readonly opened: Opened;
};
type Ended = Omit<Decided, "opened">;

function closedRow({ subscription, closed }: Ended): closedPeriods.ClosedPeriod {
  return {
    subscription_id: subscription.id,
    period_no: subscription.period_no,
    starts_at: subscription.current_period_start,
    ends_at: subscription.current_period_next,
    plan_id: subscription.plan_id,
    plan_version: subscription.plan_version,
    billable: true,
    billed: closed.billed,
  };
}

function settledRows({ subscription, closed }: Ended) {
  return closed.settled.map((row) => ({ ...row, subscription_id: subscription.id }));
}

function openRow({ subscription, opened }: Decided): subscriptions.OpenPeriod {
  return {
    id: subscription.id,
    period_no: subscription.period_no + 1,
    current_period_start: opened.period.start,
    current_period_next: opened.period.next,
    plan_version: opened.plan_version,
    recurring_cents: opened.recurring_cents,
  };
}

function invoiceRequests({ subscription, closed, opened }: Decided): InvoiceRequest[] {
  return [
    ...requestFor(subscription, closed.draft, "period", subscription.period_no),
    ...requestFor(subscription, opened.draft, "advance", subscription.period_no + 1),
  ];
}

/** No request when there is nothing to bill. */
export function requestFor(
  subscription: Billed,
  draft: Closed["draft"],
  cause: InvoiceRequest["cause"],
  period_no: number,
  cause_no = 0,
): InvoiceRequest[] {
  if (draft === undefined) return [];
  const { id, external_id, plan_code } = subscription;
  const customer = {
    id: subscription.customer_id,
    external_id: subscription.customer_external_id,
    name: subscription.customer_name,
    email: subscription.customer_email,
  };
  return [
    { draft, cause, period_no, cause_no, customer, subscription: { id, external_id, plan_code } },
  ];
}

function periodRenewed({ subscription, opened }: Decided): Fact {
  const current_period_start = opened.period.start;
  const current_period_end = shownEnd(opened.period.next);
  const { id, external_id, plan_code, status } = subscription;
  const payload = { current_period_start, current_period_end };
  // A suspended subscription renews without a webhook: only the log says that it changed.
  if (status !== "active") return { type: "subscription.updated", resource_id: id, payload };
  const data = {
    subscription: { id, external_id, plan_code, status, current_period_start, current_period_end },
    customer: { id: subscription.customer_id, external_id: subscription.customer_external_id },
    previous_period: {
      start: subscription.current_period_start,
      end: shownEnd(subscription.current_period_next),
    },
  };
  const event = "subscription.period_renewed";
  return { type: event, resource_id: id, payload, webhook: { event, data } };
}
