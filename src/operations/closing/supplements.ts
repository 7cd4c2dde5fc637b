// Invoices of their own for late usage of subscriptions that have ended.

import { nextMidnight } from "../../domain/dates.ts";
import { supplement } from "../../domain/late-periods.ts";
import { hasEnded } from "../../domain/lifecycle.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import * as closedPeriods from "../../store/subscriptions/closed-periods.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageLocks from "../../store/usage/locks.ts";
import type { BatchReport, SetAside } from "../batch-report.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { separately } from "../issuing/group-acts.ts";
import { issueInvoices } from "../issuing/issue.ts";
import { actsOf, type InvoiceRequest } from "../issuing/request.ts";
import { BATCH_MAX } from "./close.ts";
import { closingOf, loadTerms, loadUsage } from "./load.ts";
import { Decisions, type Failed, recordFailed, setAside } from "./set-aside.ts";

/** A supplement that cannot be worked out is tried again the next day; the others are invoiced. */
export async function issueSupplements(
  tx: Tx,
  settings: ProjectSettings,
  by: By,
  now: Date,
  limit = BATCH_MAX,
): Promise<BatchReport> {
  const project = settings.id;
  const due = await closedPeriods.listDueSupplements(tx, project, now, limit);
  if (due.length === 0) return { done: 0, facts: [] };
  const { decided, failed } = await decide(tx, settings, due, now);
  const issued = await write(tx, project, decided, now);
  const aside = await postpone(tx, project, failed, now);
  const facts = [...issued, ...aside.facts];
  await emit(tx, project, facts, by, now);
  return { done: due.length, facts, set_aside: aside.set_aside };
}

/** Puts off the supplement that is due first, which failed alone in its batch. */
export async function postponeFirst(
  tx: Tx,
  { id: project }: ProjectSettings,
  error: unknown,
  by: By,
  now: Date,
): Promise<SetAside | undefined> {
  const [id] = await closedPeriods.listDueSupplements(tx, project, now, 1);
  if (id === undefined) return undefined;
  const [due] = await lockStillDue(tx, project, [id], now);
  if (due === undefined) return undefined;
  const found = await setAside(tx, project, due.subscription, error, by, now);
  await closedPeriods.postponeSupplements(tx, project, [id], nextMidnight(now));
  return found;
}

/** Two workers may both come here: what the second one waited for is invoiced by then. */
async function lockStillDue(tx: Tx, project: ProjectId, ids: readonly string[], now: Date) {
  const batch = await subscriptions.lockBilled(tx, project, ids);
  const due = await closedPeriods.keepDueSupplements(tx, project, ids, now);
  return batch.flatMap((subscription) => {
    const due_at = due.get(subscription.id);
    return due_at === undefined ? [] : [{ subscription, due_at }];
  });
}

type Decided = ReturnType<typeof supplement> & {
  readonly subscription: subscriptions.BilledSubscription;
  readonly due_at: Date;
};

async function decide(tx: Tx, settings: ProjectSettings, due: readonly string[], now: Date) {
  const project = settings.id;
  const still = await lockStillDue(tx, project, due, now);
  const batch = still.map(({ subscription }) => subscription);
  const locks = batch.map(({ id }) => usageLocks.usageLock(id));
  await usageLocks.lockUsage(tx, project, locks, "alone");
  const terms = await loadTerms(tx, project, batch);
  const usage = await loadUsage(tx, project, batch, terms);
  const decisions = new Decisions();
  const { net_payment_days } = settings;
  const decided = still.flatMap(({ subscription, due_at }): Decided[] => {
    const decision = () => {
      const closing = closingOf(terms, usage, subscription, now, settings, now);
      if (closing.late.length === 0) return [];
      return [{ subscription, due_at, ...supplement(closing, { net_payment_days, now }) }];
    };
    return decisions.decide(subscription, decision) ?? [];
  });
  return { decided, failed: decisions.failed };
}

async function write(
  tx: Tx,
  project: ProjectId,
  decided: readonly Decided[],
  now: Date,
): Promise<Fact[]> {
  const requests: InvoiceRequest[] = [];
  for (const { subscription, list, draft, corrected, after, due_at } of decided) {
    const { id, period_no } = subscription;
    const rows = corrected.map((row) => ({ ...row, subscription_id: id }));
    await closedPeriods.recordCorrections(tx, project, rows);
    // A subscription that has returned keeps the level that its open period starts with.
    const last_no = hasEnded(subscription.status) ? period_no : period_no - 1;
    if (after?.period_no === last_no) await openPeriods.setLevels(tx, project, id, after.levels);
    if (wasPostponed(subscription)) await openPeriods.takeUp(tx, project, id);
    const cause_no = await closedPeriods.countSupplements(tx, project, id);
    // An ended subscription is not behind with a period.
    const named = { ...subscription, plan_code: list.plan_code, left_behind: false };
    const why = { reason: "supplement" as const, period_no, cause_no, due_at };
    requests.push(...separately(actsOf(named, draft, why)));
  }
  const issued = await issueInvoices(tx, project, requests, now);
  return issued.flatMap((one) => one.facts);
}

/** Whether its supplement was put off. Once it lives again, the reason is that of its close. */
function wasPostponed({ set_aside_reason, status }: subscriptions.BilledSubscription): boolean {
  return set_aside_reason !== null && hasEnded(status);
}

async function postpone(tx: Tx, project: ProjectId, failed: readonly Failed[], now: Date) {
  const ids = failed.map(({ id }) => id);
  await closedPeriods.postponeSupplements(tx, project, ids, nextMidnight(now));
  return recordFailed(tx, project, failed);
}
