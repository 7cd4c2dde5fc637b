// When which reminder of an unpaid invoice is due. Nothing here suspends or terminates anything.

import type { DunningStep } from "../schema/dunning.ts";
import { addDays, daysBetween } from "./dates.ts";

export type Step = Readonly<DunningStep>;

/** Without a subscription nothing could be suspended: such an invoice is only reminded of. */
export function stepsFor(steps: readonly Step[], invoice_type: string): Step[] {
  return steps.filter(
    (step) => invoice_type === "subscription" || step.webhook_event.startsWith("invoice."),
  );
}

/**
 * The step that comes next for one unpaid invoice, and the UTC day it fires on. Each event comes
 * once per invoice and at most one per day, so that after an outage suspension and termination are
 * never asked for together. Undefined when all have been sent.
 */
export function nextStep(invoice: {
  readonly steps: readonly Step[];
  readonly sent: readonly string[];
  readonly due_date: string;
  readonly last_sent_on: string | null;
  readonly today: string;
}): { step: Step; on: string } | undefined {
  const { sent, due_date, last_sent_on, today } = invoice;
  const [step] = invoice.steps
    .filter(({ webhook_event }) => !sent.includes(webhook_event))
    .toSorted((a, b) => a.days_after_due - b.days_after_due);
  if (step === undefined) return undefined;
  const dueOn = addDays(due_date, step.days_after_due);
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
