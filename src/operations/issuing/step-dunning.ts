// Sends the reminders and requests that follow an overdue invoice: each step once, in order, at
// most one a day. Never suspends or terminates anything itself.

import { utcDate } from "../../domain/dates.ts";
import { daysOverdue, isAnswered, type Step } from "../../domain/dunning.ts";
import { groupBy } from "../../domain/group-by.ts";
import type { ProjectId } from "../../ids.ts";
import type { DunningEvent } from "../../schema/dunning.ts";
import type { Webhook } from "../../schema/webhook-payloads.ts";
import type { Tx } from "../../store/db/db.ts";
import * as dunning from "../../store/invoices/dunning.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { BatchReport } from "../batch-report.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { dayOfNext, stepOf } from "./plan-dunning.ts";

export const STEPS_BATCH_MAX = 500;

/**
 * Takes one batch of the steps that are due, by the present policy whatever they were planned by. A
 * request that is answered already is not sent.
 */
export async function stepDunning(
  tx: Tx,
  settings: ProjectSettings,
  by: By,
  now: Date,
  limit = STEPS_BATCH_MAX,
): Promise<BatchReport> {
  const project = settings.id;
  const today = utcDate(now);
  const due = await dunning.lockDue(tx, project, today, limit);
  if (due.length === 0) return { done: 0, facts: [] };
  await dunning.holdPolicy(tx, project);
  const policy = await dunning.getPolicy(tx, project);
  const owing = await loadOwing(tx, project, due);

  const facts: Fact[] = [];
  const sent: dunning.SentStep[] = [];
  const next: dunning.NextStep[] = [];
  for (const invoice of due) {
    const found = stepOf(invoice, policy, today);
    if (found === undefined || found.on > today) {
      next.push({ id: invoice.id, step_on: found?.on ?? null });
      continue;
    }
    const { step } = found;
    sent.push({ invoice_id: invoice.id, webhook_event: step.webhook_event, sent_on: today });
    facts.push(...stepFired(invoice, owing(invoice), step, today));
    const after = {
      ...invoice,
      sent: [...invoice.sent, step.webhook_event],
      last_sent_on: today,
    };
    next.push({ id: invoice.id, step_on: dayOfNext(after, policy, today) });
  }

  await dunning.recordSent(tx, project, sent);
  await dunning.setNext(tx, project, next);
  await emit(tx, project, facts, by, now);
  return { done: due.length, facts };
}

type Owing = (invoice: dunning.DunnedInvoice) => readonly dunning.DunnedSubscription[];

/** Who owes on each: its one subscription, or those of several whose lines come to something. */
async function loadOwing(
  tx: Tx,
  project: ProjectId,
  due: readonly dunning.DunnedInvoice[],
): Promise<Owing> {
  const several = due.filter(
    ({ subscription, invoice_type }) => subscription === null && invoice_type === "subscription",
  );
  const ids = several.map(({ id }) => id);
  const rows = ids.length === 0 ? [] : await dunning.listOwing(tx, project, ids);
  const byInvoice = groupBy(rows, ({ invoice_id }) => invoice_id);
  return ({ id, subscription }) =>
    subscription === null ? (byInvoice.get(id) ?? []) : [subscription];
}

/** Is logged once; a request is told for each subscription that has not answered it. */
function stepFired(
  invoice: dunning.DunnedInvoice,
  owing: readonly dunning.DunnedSubscription[],
  { webhook_event: event }: Step,
  today: string,
): Fact[] {
  const { id, number, due_date } = invoice;
  const days_overdue = daysOverdue(due_date, today);
  const asked = owing.filter(({ status }) => !isAnswered(event, status));
  const [first, ...others] = webhooksOf(event, invoice, asked, days_overdue);
  if (first === undefined) return [];
  const subscription_ids = asked.map((subscription) => subscription.id);
  const payload = { number, webhook_event: event, days_overdue, subscription_ids };
  const logged: Fact = { type: "dunning.step_fired", resource_id: id, payload, webhook: first };
  const told = others.map((webhook): Fact => {
    return { type: null, resource_id: id, payload: {}, webhook };
  });
  return [logged, ...told];
}

function webhooksOf(
  event: DunningEvent,
  invoice: dunning.DunnedInvoice,
  asked: readonly dunning.DunnedSubscription[],
  days_overdue: number,
): Webhook[] {
  switch (event) {
    case "invoice.payment_overdue_reminder_1":
    case "invoice.payment_overdue_reminder_2":
      return [{ event, data: reminder(invoice, days_overdue) }];
    case "subscription.suspend_requested":
    case "subscription.terminate_requested":
      return asked.map((one) => ({ event, data: request(invoice, one, days_overdue) }));
  }
}

function request(
  invoice: dunning.DunnedInvoice,
  { id: subscription_id, external_id, plan_code, status }: dunning.DunnedSubscription,
  days_overdue: number,
) {
  const { id, number, total_cents, amount_due_cents } = invoice;
  return {
    subscription: { id: subscription_id, external_id, plan_code, status },
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
      id,
      number,
      status,
      total_cents,
      amount_due_cents,
      currency,
      issuing_date,
      due_date,
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
