// Sends the reminders and requests that follow an overdue invoice: each step once, in order, at
// most one a day. Never suspends or terminates anything itself.

import { utcDate } from "../domain/dates.ts";
import { daysOverdue, nextStep, type Step, stepsFor } from "../domain/dunning.ts";
import { refuseField } from "../errors.ts";
import type { Dunning, DunningEvent, DunningPut } from "../schema/dunning.ts";
import type { Webhook } from "../schema/webhook-payloads.ts";
import type { Tx } from "../store/db.ts";
import * as dunning from "../store/dunning.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import { type By, emit, type Fact, SCHEDULER } from "./emit.ts";

const BATCH_MAX = 500;
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

export async function putDunning(
  tx: Tx,
  project: ProjectId,
  input: DunningPut,
  by: By,
  now: Date,
): Promise<Dunning> {
  const policy = { enabled: input.enabled ?? false, steps: input.steps ?? [] };
  if (policy.enabled && policy.steps.length === 0) {
    throw refuseField("steps", "required", "steps is required when dunning is enabled.");
  }
  const events = new Set(policy.steps.map((step) => step.webhook_event));
  if (events.size < policy.steps.length) {
    throw refuseField("steps", "uniqueItems", "steps may name each webhook_event once.");
  }
  await dunning.lockPolicy(tx, project);
  await dunning.putPolicy(tx, project, policy, now);
  await replan(tx, project, policy, utcDate(now));
  const fact = { type: "dunning.updated" as const, resource_id: project, payload: policy };
  await emit(tx, project, [fact], by, now);
  return policy;
}

/** Under a new policy every overdue invoice has another next step, or none. */
async function replan(tx: Tx, project: ProjectId, policy: Dunning, today: string): Promise<void> {
  let after = FIRST_ID;
  for (;;) {
    const overdue = await dunning.listOverdue(tx, project, after, BATCH_MAX);
    await dunning.setNext(
      tx,
      project,
      overdue.map((invoice) => ({ id: invoice.id, on: dayOfNext(invoice, policy, today) })),
    );
    if (overdue.length < BATCH_MAX) return;
    after = overdue.at(-1)?.id ?? after;
  }
}

/** The day of an invoice's next step, from the moment it is overdue. */
export function firstStepDay(
  invoice: { readonly due_date: string; readonly invoice_type: string },
  policy: Dunning,
  today: string,
): string | null {
  return dayOfNext({ ...invoice, sent: [], last_sent_on: null }, policy, today);
}

type Progress = Pick<dunning.DunnedInvoice, "due_date" | "invoice_type" | "sent" | "last_sent_on">;

function dayOfNext(invoice: Progress, policy: Dunning, today: string): string | null {
  return stepOf(invoice, policy, today)?.on ?? null;
}

function stepOf(invoice: Progress, policy: Dunning, today: string) {
  if (!policy.enabled) return undefined;
  const steps = stepsFor(policy.steps, invoice.invoice_type);
  const { sent, due_date, last_sent_on } = invoice;
  return nextStep({ steps, sent, due_date, last_sent_on, today });
}

/** One batch of the steps that are due. */
export async function stepDunning(
  tx: Tx,
  settings: ProjectSettings,
  now: Date,
): Promise<readonly Fact[]> {
  const project = settings.id;
  const today = utcDate(now);
  const due = await dunning.lockDue(tx, project, today, BATCH_MAX);
  if (due.length === 0) return [];
  const policy = await dunning.getPolicy(tx, project);

  const facts: Fact[] = [];
  const sent: dunning.SentStep[] = [];
  const next: { id: string; on: string | null }[] = [];
  for (const invoice of due) {
    const due = stepOf(invoice, policy, today);
    if (due === undefined || due.on > today) {
      next.push({ id: invoice.id, on: due?.on ?? null });
      continue;
    }
    const { step } = due;
    sent.push({ invoice_id: invoice.id, webhook_event: step.webhook_event, sent_on: today });
    facts.push(stepFired(invoice, step, today));
    const after = {
      ...invoice,
      sent: [...invoice.sent, step.webhook_event],
      last_sent_on: today,
    };
    next.push({ id: invoice.id, on: dayOfNext(after, policy, today) });
  }

  await dunning.recordSent(tx, project, sent);
  await dunning.setNext(tx, project, next);
  await emit(tx, project, facts, SCHEDULER, now);
  return facts;
}

function stepFired(invoice: dunning.DunnedInvoice, step: Step, today: string): Fact {
  const { id, number, due_date } = invoice;
  const days_overdue = daysOverdue(due_date, today);
  const event = step.webhook_event;
  return {
    type: "dunning.step_fired",
    resource_id: id,
    payload: { number, webhook_event: event, days_overdue },
    webhook: webhookOf(event, invoice, days_overdue),
  };
}

function webhookOf(
  event: DunningEvent,
  invoice: dunning.DunnedInvoice,
  days_overdue: number,
): Webhook {
  switch (event) {
    case "invoice.payment_overdue_reminder_1":
    case "invoice.payment_overdue_reminder_2":
      return { event, data: reminder(invoice, days_overdue) };
    case "subscription.suspend_requested":
    case "subscription.terminate_requested":
      return { event, data: request(invoice, days_overdue) };
  }
}

function request(invoice: dunning.DunnedInvoice, days_overdue: number) {
  const { id, number, total_cents, amount_due_cents } = invoice;
  const { subscription_id, subscription_external_id, subscription_status, plan_code } = invoice;
  if (
    subscription_id === null ||
    subscription_external_id === null ||
    subscription_status === null ||
    plan_code === null
  ) {
    throw new Error(`Invoice ${number} has no subscription that could be suspended.`);
  }
  return {
    subscription: {
      id: subscription_id,
      external_id: subscription_external_id,
      plan_code,
      status: subscription_status,
    },
    customer: {
      id: invoice.customer_id,
      external_id: invoice.customer_external_id,
      email: invoice.customer_email,
    },
    overdue_invoice: { id, number, total_cents, amount_due_cents, days_overdue },
  };
}

function reminder(invoice: dunning.DunnedInvoice, days_overdue: number) {
  const { id, number, status, total_cents, amount_due_cents, currency } = invoice;
  const { issuing_date, due_date } = invoice;
  return {
    invoice: {
      ...{ id, number, status, total_cents, amount_due_cents, currency },
      ...{ issuing_date, due_date },
    },
    customer: {
      id: invoice.customer_id,
      external_id: invoice.customer_external_id,
      name: invoice.customer_name,
      email: invoice.customer_email,
    },
    days_overdue,
  };
}
