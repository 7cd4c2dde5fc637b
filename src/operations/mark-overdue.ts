// Marks unpaid invoices overdue once the UTC date has passed their due date, dunning or not, and
// plans the first dunning step.

import { utcDate } from "../domain/dates.ts";
import type { Tx } from "../store/db.ts";
import * as dunning from "../store/dunning.ts";
import * as invoices from "../store/invoices.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";
import { firstStepDay } from "./step-dunning.ts";

export const OVERDUE_BATCH_MAX = 1_000;

export async function markOverdue(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
): Promise<readonly Fact[]> {
  const project = settings.id;
  const today = utcDate(now);
  await dunning.holdPolicy(tx, project);
  const overdue = await invoices.markOverdue(tx, project, today, OVERDUE_BATCH_MAX);
  if (overdue.length === 0) return [];
  const policy = await dunning.getPolicy(tx, project);
  if (policy.enabled) {
    const first = overdue.map((invoice) => ({
      id: invoice.id,
      on: firstStepDay(invoice, policy, today),
    }));
    await dunning.setNext(tx, project, first);
  }
  const facts = overdue
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(
      (invoice): Fact => ({
        type: "invoice.overdue",
        resource_id: invoice.id,
        payload: { number: invoice.number, due_date: invoice.due_date },
      }),
    );
  await emit(tx, project, facts, SCHEDULER, now);
  return facts;
}
