// When which reminder of an unpaid invoice is due.

import { describe, expect, test } from "vitest";
import { addDays } from "../../src/domain/dates.ts";
import { daysOverdue, nextStep, type Step, stepsFor } from "../../src/domain/dunning.ts";

const REMINDER_1: Step = { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" };
const REMINDER_2: Step = { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" };
const SUSPEND: Step = { days_after_due: 14, webhook_event: "subscription.suspend_requested" };
const TERMINATE: Step = { days_after_due: 30, webhook_event: "subscription.terminate_requested" };
const STEPS = [REMINDER_1, REMINDER_2, SUSPEND, TERMINATE];

/** Runs the job daily, but for the days of an outage; gives [day, days overdue] per step. */
function fired(due_date: string, options: { awayUntil?: string; steps?: Step[] } = {}) {
  const sent: string[] = [];
  const log: [string, number][] = [];
  let last_sent_on: string | null = null;
  for (let today = due_date; today < addDays(due_date, 60); today = addDays(today, 1)) {
    if (today < (options.awayUntil ?? "")) continue;
    const invoice = { steps: options.steps ?? STEPS, sent, due_date, last_sent_on, today };
    const next = nextStep(invoice);
    if (next?.on !== today) continue;
    sent.push(next.step.webhook_event);
    last_sent_on = today;
    log.push([today.slice(5), daysOverdue(due_date, today)]);
  }
  return { sent, log };
}

describe("dunning steps", () => {
  test.each([
    ["2026-03-15", ["03-18", "03-22", "03-29", "04-14"]],
    ["2028-02-14", ["02-17", "02-21", "02-28", "03-15"]],
  ])("of an invoice due %s come on their days", (due_date, days) => {
    const { sent, log } = fired(due_date);
    expect(log.map(([day]) => day)).toEqual(days);
    expect(log.map(([, overdue]) => overdue)).toEqual([3, 7, 14, 30]);
    expect(sent).toEqual(STEPS.map((step) => step.webhook_event));
  });

  test("missed in an outage come one a day, in order", () => {
    const { sent, log } = fired("2026-03-15", { awayUntil: "2026-04-20" });
    expect(log.map(([day]) => day)).toEqual(["04-20", "04-21", "04-22", "04-23"]);
    expect(sent).toEqual(STEPS.map((step) => step.webhook_event));
  });

  test("of one day come on one day each, whatever order they are written in", () => {
    const steps = [{ ...SUSPEND, days_after_due: 3 }, REMINDER_1];
    const { sent, log } = fired("2026-03-15", { steps });
    expect(log.map(([day]) => day)).toEqual(["03-18", "03-19"]);
    expect(sent[0]).toBe("subscription.suspend_requested");
    expect(fired("2026-03-15", { steps: STEPS.toReversed() }).log).toEqual(fired("2026-03-15").log);
  });

  test("with the same event twice send it once", () => {
    const steps = [REMINDER_1, { ...REMINDER_1, days_after_due: 10 }];
    expect(fired("2026-03-15", { steps }).log).toEqual([["03-18", 3]]);
  });

  test("are known ahead, and none is left after the last", () => {
    const invoice = { steps: STEPS, due_date: "2026-03-15", last_sent_on: null };
    expect(nextStep({ ...invoice, sent: [], today: "2026-03-01" })).toEqual({
      step: REMINDER_1,
      on: "2026-03-18",
    });
    const sent = STEPS.map((step) => step.webhook_event);
    expect(nextStep({ ...invoice, sent, today: "2026-05-01" })).toBeUndefined();
    expect(nextStep({ ...invoice, steps: [], sent: [], today: "2026-05-01" })).toBeUndefined();
  });

  test("of an add-on are its reminders only", () => {
    expect(stepsFor(STEPS, "addon")).toEqual([REMINDER_1, REMINDER_2]);
    expect(stepsFor(STEPS, "subscription")).toEqual(STEPS);
  });

  test("count the days since the due date, none before it", () => {
    expect(daysOverdue("2026-03-15", "2026-03-15")).toBe(0);
    expect(daysOverdue("2026-03-15", "2026-03-16")).toBe(1);
    expect(daysOverdue("2026-03-15", "2026-03-01")).toBe(0);
  });
});
