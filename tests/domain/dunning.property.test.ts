// When which reminder of an unpaid invoice is due, whatever the input.

import fc from "fast-check";
import { expect, test } from "vitest";
import { addDays, daysBetween } from "../../src/domain/dates.ts";
import { nextStep, type Step } from "../../src/domain/dunning.ts";
import { DUNNING_EVENTS } from "../../src/schema/dunning.ts";

const DUE = "2026-03-15";
const DATES = { due_date: DUE, reopened_on: null, enabled_on: null };

const steps = fc
  .tuple(
    fc.shuffledSubarray([...DUNNING_EVENTS]),
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 4, maxLength: 4 }),
  )
  .map(([events, days]): Step[] =>
    events.map((webhook_event, index) => ({ webhook_event, days_after_due: days[index] ?? 1 })),
  );
/** Days after the due date on which the job runs, with holes, and several runs on some days. */
const runs = fc
  .array(fc.integer({ min: 0, max: 60 }), { maxLength: 40 })
  .map((days) => [...days, 61, 62, 63, 64].sort((a, b) => a - b));

test("whatever the days it runs on, each step comes once, in order, never early, one a day", () => {
  fc.assert(
    fc.property(steps, runs, (list, days) => {
      const sent: string[] = [];
      const sentOn: string[] = [];
      for (const today of days.map((day) => addDays(DUE, day))) {
        const last_sent_on = sentOn.at(-1) ?? null;
        const next = nextStep({ ...DATES, steps: list, sent, last_sent_on, today });
        expect(next === undefined).toBe(sent.length === list.length);
        if (next === undefined || next.on > today) continue;
        expect(next.on).toBe(today);
        expect(daysBetween(DUE, today)).toBeGreaterThanOrEqual(next.step.days_after_due);
        sent.push(next.step.webhook_event);
        sentOn.push(today);
      }
      const inOrder = list.toSorted((a, b) => a.days_after_due - b.days_after_due);
      expect(sent).toEqual(inOrder.map((step) => step.webhook_event));
      expect(new Set(sentOn).size).toBe(sentOn.length);
    }),
  );
});

test("the day told ahead is the day it fires when the job runs every day", () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: -10, max: 60 }), (list, start) => {
      const today = addDays(DUE, start);
      const invoice = { ...DATES, steps: list, sent: [], last_sent_on: null };
      const told = nextStep({ ...invoice, today });
      for (let day = today; told !== undefined && day < told.on; day = addDays(day, 1)) {
        expect(nextStep({ ...invoice, today: day })).toEqual(told);
      }
      if (told !== undefined) expect(nextStep({ ...invoice, today: told.on })).toEqual(told);
    }),
  );
});
