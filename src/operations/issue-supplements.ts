// Invoices of their own for late usage of subscriptions that have ended.

import { supplement } from "../domain/closing.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import { BATCH_MAX } from "./close-periods.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";
import { requestFor } from "./invoice-request.ts";
import { issueInvoices } from "./issue-invoices.ts";
import { closingOf, loadTerms, loadUsage } from "./load-closing.ts";
import type { CloseReport } from "./set-aside.ts";

export async function issueSupplements(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
  limit = BATCH_MAX,
): Promise<CloseReport> {
  const project = settings.id;
  const due = await closedPeriods.listDueSupplements(tx, project, now, limit);
  const facts: Fact[] = [];
  for (const id of due) {
    // Two workers may both come here; the second one waits and then finds nothing late.
    const subscription = await subscriptions.lock(tx, project, id);
    if (subscription === undefined) continue;
    facts.push(...(await issueSupplement(tx, settings, subscription, now)));
  }
  await emit(tx, project, facts, SCHEDULER, now);
  return { closed: due.length, facts };
}

async function issueSupplement(
  tx: Tx,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  now: Date,
): Promise<Fact[]> {
  const project = settings.id;
  const { id, period_no } = subscription;
  await usageLocks.lockUsage(tx, project, [usageLocks.usageLock(id)], "alone");
  const terms = await loadTerms(tx, project, [subscription]);
  const usage = await loadUsage(tx, project, [subscription], terms);
  const closing = closingOf(terms, usage, subscription, now, settings, now);
  if (closing.late.length === 0) return [];
  const { net_payment_days } = settings;
  const { list, draft, corrected, after } = supplement(closing, { net_payment_days, now });
  const rows = corrected.map((row) => ({ ...row, subscription_id: id }));
  await closedPeriods.recordCorrections(tx, project, rows);
  if (after?.period_no === period_no) await openPeriods.setLevels(tx, project, id, after.levels);
  const cause_no = await closedPeriods.countSupplements(tx, project, id);
  const named = { ...subscription, plan_code: list.plan_code };
  const requests = requestFor(named, draft, "supplement", period_no, cause_no);
  const issued = await issueInvoices(tx, project, requests, now);
  return issued.flatMap((one) => one.facts);
}
