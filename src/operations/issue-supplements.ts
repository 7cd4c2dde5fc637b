// Invoices of their own for late usage of subscriptions that have ended.

import { supplement } from "../domain/closing.ts";
import { nextMidnight } from "../domain/dates.ts";
import { isLive } from "../domain/lifecycle.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import { BATCH_MAX } from "./close-periods.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";
import { type InvoiceRequest, requestFor } from "./invoice-request.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { closingOf, loadTerms, loadUsage } from "./load-closing.ts";
import { type CloseReport, Decisions, type Failed, recordFailed } from "./set-aside.ts";

/** One that cannot be worked out is tried again the next day; the others are invoiced. */
export async function issueSupplements(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
  limit = BATCH_MAX,
): Promise<CloseReport> {
  const project = settings.id;
  const due = await closedPeriods.listDueSupplements(tx, project, now, limit);
  if (due.length === 0) return { closed: 0, facts: [] };
  const { decided, failed } = await decide(tx, settings, due, now);
  const issued = await write(tx, project, decided, now);
  const aside = await postpone(tx, project, failed, now);
  const facts = [...issued, ...aside.facts];
  await emit(tx, project, facts, SCHEDULER, now);
  return { closed: due.length, facts, set_aside: aside.set_aside };
}

type Decided = ReturnType<typeof supplement> & {
  readonly subscription: subscriptions.BilledSubscription;
};

async function decide(tx: Tx, settings: ProjectSettings, due: readonly string[], now: Date) {
  const project = settings.id;
  // Two workers may both come here; the second one waits and then finds nothing late.
  const batch = await subscriptions.lockBilled(tx, project, due);
  const locks = batch.map(({ id }) => usageLocks.usageLock(id));
  await usageLocks.lockUsage(tx, project, locks, "alone");
  const terms = await loadTerms(tx, project, batch);
  const usage = await loadUsage(tx, project, batch, terms);
  const decisions = new Decisions();
  const { net_payment_days } = settings;
  const decided = batch.flatMap((subscription): Decided[] => {
    const decision = () => {
      const closing = closingOf(terms, usage, subscription, now, settings, now);
      if (closing.late.length === 0) return [];
      return [{ subscription, ...supplement(closing, { net_payment_days, now }) }];
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
  for (const { subscription, list, draft, corrected, after } of decided) {
    const { id, period_no } = subscription;
    const rows = corrected.map((row) => ({ ...row, subscription_id: id }));
    await closedPeriods.recordCorrections(tx, project, rows);
    // One that has returned keeps the level that its open period starts with.
    const last_no = isLive(subscription.status) ? period_no - 1 : period_no;
    if (after?.period_no === last_no) await openPeriods.setLevels(tx, project, id, after.levels);
    if (wasPostponed(subscription)) await openPeriods.takeUp(tx, project, id);
    const cause_no = await closedPeriods.countSupplements(tx, project, id);
    const named = { ...subscription, plan_code: list.plan_code };
    requests.push(...requestFor(named, draft, "supplement", period_no, cause_no));
  }
  const issued = await issueInvoices(tx, project, requests, now);
  return issued.flatMap((one) => one.facts);
}

/** Of one that lives again, the reason is that of its close. */
function wasPostponed({ set_aside_reason, status }: subscriptions.BilledSubscription): boolean {
  return set_aside_reason !== null && !isLive(status);
}

async function postpone(tx: Tx, project: ProjectId, failed: readonly Failed[], now: Date) {
  const ids = failed.map(({ id }) => id);
  await closedPeriods.postponeSupplements(tx, project, ids, nextMidnight(now));
  return recordFailed(tx, project, failed);
}
