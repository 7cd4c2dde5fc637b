// Marks unpaid invoices overdue once the UTC date has passed their due date, dunning or not.

import { utcDate } from "../domain/dates.ts";
import type { Tx } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";

export const OVERDUE_BATCH_MAX = 1_000;

export async function markOverdue(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
): Promise<readonly Fact[]> {
  const project = settings.id;
  const overdue = await invoices.markOverdue(tx, project, utcDate(now), OVERDUE_BATCH_MAX);
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
