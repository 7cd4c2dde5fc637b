// Marks unpaid invoices overdue once the UTC date has passed their due date, dunning or not, and
// plans the first dunning step.

import { utcDate } from "../../domain/dates.ts";
import type { Tx } from "../../store/db/db.ts";
import * as dunning from "../../store/invoices/dunning.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { BatchReport } from "../batch-report.ts";
import { type By, emit } from "../emit.ts";
import { becameOverdue } from "./facts.ts";
import { firstStepDay } from "./plan-dunning.ts";

export const OVERDUE_BATCH_MAX = 1_000;

export async function markOverdue(
  tx: Tx,
  settings: ProjectSettings,
  by: By,
  now: Date,
  limit = OVERDUE_BATCH_MAX,
): Promise<BatchReport> {
  const project = settings.id;
  const today = utcDate(now);
  const due = await invoices.lockPastDue(tx, project, today, limit);
  if (due.length === 0) return { done: 0, facts: [] };
  await dunning.holdPolicy(tx, project);
  const policy = await dunning.getPolicy(tx, project);
  const first = due.map((invoice) => ({
    id: invoice.id,
    step_on: firstStepDay(invoice, policy, today),
  }));
  const overdue = await invoices.markOverdue(tx, project, first);
  const facts = overdue.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(becameOverdue);
  await emit(tx, project, facts, by, now);
  return { done: facts.length, facts };
}
