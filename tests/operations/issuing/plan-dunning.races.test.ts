// A policy that is put again and again while invoices become overdue and are reminded of, by
// workers and callers whose every statement is a little late: in the end each invoice stands as the
// last policy has it, and nothing was sent twice.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { dayOfNext } from "../../../src/operations/issuing/plan-dunning.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { getPolicy, type Progress } from "../../../src/store/invoices/dunning.ts";
import type { Json } from "../../support/app.ts";
import { insist, makeCustomer, RaceCourse } from "../../support/race.ts";

const deep = process.env.DUES_DEEP === "1";
const ROUNDS = deep ? 40 : 3;
const INVOICES = 24;
const PUTS = 6;
const TIMEOUT = { timeout: deep ? 900_000 : 60_000 };

const START = "2026-01-05T08:00:00.000Z";
/** Behind the due dates: some steps are due, others come later. */
const AFTER = "2026-01-25T08:00:00.000Z";
const TODAY = "2026-01-25";
const EVENTS = ["invoice.payment_overdue_reminder_1", "invoice.payment_overdue_reminder_2"];

let course: RaceCourse;
beforeAll(async () => {
  course = await RaceCourse.open();
});
afterAll(async () => {
  expect(await course.close()).toEqual([]);
});

/** Off now and then; steps that are due at once, tomorrow or in a month. */
function anyPolicy(): Json {
  const days = () => [1, 6, 7, 30][Math.floor(Math.random() * 4)];
  const steps = EVENTS.map((webhook_event) => ({ webhook_event, days_after_due: days() }));
  return { enabled: Math.random() < 0.7, steps };
}

type Row = Progress & { readonly id: string; readonly status: string; dunning_on: string | null };

function invoicesOf(project: string) {
  return course.db.many<Row>(sql`
    select i.id, i.status, i.due_date, i.reopened_on, i.invoice_type, i.dunning_on,
           coalesce(array_agg(d.webhook_event) filter (where d.sent_on is not null), '{}') as sent,
           max(d.sent_on) as last_sent_on
      from invoices i
      left join dunning_steps d on d.project_id = i.project_id and d.invoice_id = i.id
     where i.project_id = ${project}
     group by i.project_id, i.id`);
}

test.each(Array.from({ length: ROUNDS }, (_, i) => i))("round %i", TIMEOUT, async () => {
  course.setClocks(START, START);
  const { prompt, slow } = await course.project("live");
  const project = prompt.project as ProjectId;
  const { id: customer_id } = await makeCustomer(prompt);
  for (let i = 0; i < INVOICES; i++) {
    const lines = [{ name: "Work", unit_amount_cents: 900 }];
    await prompt.post("/v1/invoices", { customer_id, lines });
  }
  await prompt.ok("PUT", "/v1/dunning", anyPolicy());
  course.setClocks(AFTER, AFTER);
  const put = async () => {
    for (let i = 0; i < PUTS; i++) {
      const { status } = await insist(slow, "PUT", "/v1/dunning", anyPolicy());
      expect(status).toBe(200);
    }
  };
  await Promise.all([put(), put(), course.work("slow")]);
  await course.work("slow");

  const policy = await getPolicy(course.db, project);
  const invoices = await invoicesOf(project);
  expect(invoices).toHaveLength(INVOICES);
  for (const invoice of invoices) {
    expect(invoice.status).toBe("overdue");
    const next = dayOfNext(invoice, policy, TODAY);
    // What is due today has been sent: the next day is a later one, or none.
    expect(next === null || next > TODAY).toBe(true);
    expect(invoice.dunning_on).toBe(next);
  }
  const fired = await course.db.many<{ step: string }>(sql`
    select resource_id || ' ' || (payload ->> 'webhook_event') as step
      from billing_events
     where project_id = ${project} and event_type = 'dunning.step_fired'`);
  expect(new Set(fired.map(({ step }) => step)).size).toBe(fired.length);
  expect(fired).toHaveLength(invoices.flatMap(({ sent }) => sent).length);
});
