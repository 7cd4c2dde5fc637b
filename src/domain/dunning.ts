// When which reminder of an unpaid invoice is due. Nothing here suspends or terminates anything.

import type { DunningEvent, DunningStep } from "../schema/dunning.ts";
import type { SubscriptionStatus } from "../schema/subscriptions.ts";
import { addDays, daysBetween } from "./dates.ts";

export type Step = Readonly<DunningStep>;

/** The steps of an invoice: only reminders, where there is no subscription to be suspended. */
export function stepsFor(steps: readonly Step[], invoice_type: string): Step[] {
  return steps.filter(
    (step) => invoice_type === "subscription" || step.webhook_event.startsWith("invoice."),
  );
}

/**
 * Whether what a step asks for has been done, whichever invoice or person asked for it: a request
 * that was answered is answered for all invoices of the subscription.
 */
export function isAnswered(event: DunningEvent, subscription: SubscriptionStatus): boolean {
  switch (event) {
    case "invoice.payment_overdue_reminder_1":
    case "invoice.payment_overdue_reminder_2":
      return false;
    case "subscription.suspend_requested":
      return subscription !== "active";
    case "subscription.terminate_requested":
      return subscription !== "active" && subscription !== "suspended";
  }
}

/**
 * The step that comes next for one unpaid invoice, and the UTC day it fires on. Each event comes
 * once per invoice and at most one per day, so that after an outage suspension and termination are
 * never asked for together. The days are counted from the due date, or from a later day on which
 * the invoice was due again or the policy was switched on. Undefined when all have been sent.
 */
export function nextStep(invoice: {
  readonly steps: readonly Step[];
  readonly sent: readonly string[];
  readonly due_date: string;
  readonly reopened_on: string | null;
  readonly enabled_on: string | null;
  readonly last_sent_on: string | null;
  readonly today: string;
}): { step: Step; on: string } | undefined {
  const { sent, due_date, reopened_on, enabled_on, last_sent_on, today } = invoice;
  const [step] = invoice.steps
    .filter(({ webhook_event }) => !sent.includes(webhook_event))
    .toSorted((a, b) => a.days_after_due - b.days_after_due);
  if (step === undefined) return undefined;
  const from = [reopened_on, enabled_on].reduce<string>(
    (latest, day) => laterOf(latest, day ?? latest),
    due_date,
  );
  const dueOn = addDays(from, step.days_after_due);
  const freeOn = last_sent_on === null ? today : addDays(last_sent_on, 1);
  return { step, on: laterOf(dueOn, laterOf(freeOn, today)) };
}

/** Whole UTC days since the due date; 0 before it has passed. */
export function daysOverdue(due_date: string, today: string): number {
  return Math.max(0, daysBetween(due_date, today));
}

function laterOf(a: string, b: string): string {
  return a < b ? b : a;
}
