// When which reminder of an unpaid invoice is due.

import { describe, expect, test } from "vitest";
import { addDays } from "../../src/domain/dates.ts";
import {
  daysOverdue,
  isAnswered,
  nextStep,
  type Step,
  stepsFor,
} from "../../src/domain/dunning.ts";

const REMINDER_1: Step = { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" };
const REMINDER_2: Step = { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" };
const SUSPEND: Step = { days_after_due: 14, webhook_event: "subscription.suspend_requested" };
const TERMINATE: Step = { days_after_due: 30, webhook_event: "subscription.terminate_requested" };
const STEPS = [REMINDER_1, REMINDER_2, SUSPEND, TERMINATE];

type Options = {
  awayUntil?: string;
  steps?: Step[];
  reopened_on?: string;
  enabled_on?: string;
};

/** Runs the job daily, but for the days of an outage; gives [day, days overdue] per step. */
function fired(due_date: string, options: Options = {}) {
  const sent: string[] = [];
  const log: [string, number][] = [];
  let last_sent_on: string | null = null;
  for (let today = due_date; today < addDays(due_date, 60); today = addDays(today, 1)) {
    if (today < (options.awayUntil ?? "")) continue;
    const { reopened_on = null, enabled_on = null } = options;
    const steps = options.steps ?? STEPS;
    const invoice = { steps, sent, due_date, reopened_on, enabled_on, last_sent_on, today };
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

  test.each([
    [{ reopened_on: "2026-03-25" }],
    [{ enabled_on: "2026-03-25" }],
    [{ reopened_on: "2026-03-20", enabled_on: "2026-03-25" }],
  ])("are counted from a later day on which they could begin (%j)", (begun) => {
    const { log } = fired("2026-03-15", begun);
    expect(log).toEqual([
      ["03-28", 13],
      ["04-01", 17],
      ["04-08", 24],
      ["04-24", 40],
    ]);
    const earlier = { reopened_on: "2026-03-01", enabled_on: "2026-02-01" };
    expect(fired("2026-03-15", earlier)).toEqual(fired("2026-03-15"));
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
    const never = { reopened_on: null, enabled_on: null, last_sent_on: null };
    const invoice = { steps: STEPS, due_date: "2026-03-15", ...never };
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

  test.each([
    ["active", false, false],
    ["suspended", true, false],
    ["terminated", true, true],
    ["canceled", true, true],
  ] as const)("of a subscription that is %s ask only for what is to be done", (status, ...done) => {
    const requests = [SUSPEND, TERMINATE].map((step) => isAnswered(step.webhook_event, status));
    expect(requests).toEqual(done);
    const reminders = [REMINDER_1, REMINDER_2].map((step) =>
      isAnswered(step.webhook_event, status),
    );
    expect(reminders).toEqual([false, false]);
  });

  test("count the days since the due date, none before it", () => {
    expect(daysOverdue("2026-03-15", "2026-03-15")).toBe(0);
    expect(daysOverdue("2026-03-15", "2026-03-16")).toBe(1);
    expect(daysOverdue("2026-03-15", "2026-03-01")).toBe(0);
  });
});
