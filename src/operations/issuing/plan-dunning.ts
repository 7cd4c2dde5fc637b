// The dunning policy, and the days it gives to the steps of overdue invoices: when they become
// overdue, and again, piece by piece, when the policy has changed.

import { changedFields } from "../../domain/changed-fields.ts";
import { utcDate } from "../../domain/dates.ts";
import { nextStep, stepsFor } from "../../domain/dunning.ts";
import { refuseField } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Dunning, DunningPut } from "../../schema/dunning.ts";
import type { Tx } from "../../store/db/db.ts";
import { Overtaken } from "../../store/db/failures.ts";
import * as dunning from "../../store/invoices/dunning.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { BatchReport, JobNote } from "../batch-report.ts";
import { type By, emit, updated } from "../emit.ts";

export const REPLANNED_BATCH_MAX = 1_000;

/** Answers at once: what is overdue already, however much it is, is planned anew by a job. */
export async function putDunning(
  tx: Tx,
  project: ProjectId,
  input: DunningPut,
  by: By,
  now: Date,
): Promise<Dunning> {
  const { enabled = false, steps = [] } = input;
  const policy: Dunning = { enabled, steps };
  if (policy.enabled && policy.steps.length === 0) {
    throw refuseField("steps", "required", "steps is required when dunning is enabled.");
  }
  const events = new Set(policy.steps.map((step) => step.webhook_event));
  if (events.size < policy.steps.length) {
    throw refuseField("steps", "uniqueItems", "steps may name each webhook_event once.");
  }
  await dunning.lockPolicy(tx, project);
  const before = await dunning.getPolicy(tx, project);
  const changed = changedFields<Dunning>(before, policy, ["enabled", "steps"]);
  if (Object.keys(changed).length === 0) return policy;
  const dated = { ...policy, enabled_on: enabledOn(before, policy, utcDate(now)) };
  await dunning.putPolicy(tx, project, dated, now);
  await emit(tx, project, updated("dunning.updated", project, changed), by, now);
  return policy;
}

/** Other steps leave the day as it is: only switching it on begins anew. */
function enabledOn(before: dunning.Policy, { enabled }: Dunning, today: string): string | null {
  if (!enabled) return null;
  return before.enabled ? before.enabled_on : today;
}

/**
 * The next piece of what a new policy asks for: under it an overdue invoice has another next step,
 * or none. Those that become overdue meanwhile are planned by it already, and what is due before
 * its turn is sent by the policy of then.
 */
export async function replanDunning(
  tx: Tx,
  { id: project }: ProjectSettings,
  now: Date,
  limit = REPLANNED_BATCH_MAX,
): Promise<BatchReport> {
  const replan = await dunning.getReplan(tx, project);
  if (replan === undefined) return { done: 0, facts: [] };
  const listed = await dunning.listOverdue(tx, project, replan.after, limit);
  const overdue = await dunning.lockOverdue(tx, project, listed);
  await dunning.holdPolicy(tx, project);
  // Under another version those that were not there to be listed count as well.
  const { version, after } = (await dunning.getReplan(tx, project)) ?? {};
  if (version !== replan.version || after !== replan.after) {
    throw new Overtaken("The dunning policy");
  }
  const policy = await dunning.getPolicy(tx, project);
  const today = utcDate(now);
  await dunning.setNext(
    tx,
    project,
    overdue.map((invoice) => ({ id: invoice.id, step_on: dayOfNext(invoice, policy, today) })),
  );
  const last = (listed.length < limit ? undefined : listed.at(-1)) ?? null;
  const done = replan.done + listed.length;
  await dunning.moveReplan(tx, project, { after: last, done });
  return { done: listed.length, facts: [], jobs: notesOf(replan, { after: last, done }) };
}

function notesOf(
  before: dunning.Replan,
  { after, done }: { readonly after: string | null; readonly done: number },
): JobNote[] {
  const note = { kind: "replan", total: null } as const;
  return [
    ...(before.done === 0 ? [{ ...note, became: "started", done: 0 } as const] : []),
    ...(after === null ? [{ ...note, became: "ended", done } as const] : []),
  ];
}

/** The day of an invoice's next step, from the moment it is overdue. */
export function firstStepDay(
  invoice: { readonly due_date: string; readonly invoice_type: string },
  policy: dunning.Policy,
  today: string,
): string | null {
  // What was due again before its due date is counted from that.
  const untouched = { ...invoice, reopened_on: null, sent: [], last_sent_on: null };
  return dayOfNext(untouched, policy, today);
}

export function dayOfNext(
  invoice: dunning.Progress,
  policy: dunning.Policy,
  today: string,
): string | null {
  return stepOf(invoice, policy, today)?.on ?? null;
}

export function stepOf(invoice: dunning.Progress, policy: dunning.Policy, today: string) {
  if (!policy.enabled) return undefined;
  const steps = stepsFor(policy.steps, invoice.invoice_type);
  return nextStep({ ...invoice, steps, enabled_on: policy.enabled_on, today });
}
