// Each rule about the books can be broken, and then says so: one corruption for every rule.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { type App, startApp } from "../support/app.ts";
import { BILLED_RULE, checkInvariants, RULE_NAMES } from "../support/invariants.ts";
import { MONEY_RULES } from "../support/money-rules.ts";
import { type Act, act, brokenBy, type Corruption } from "./corrupt.ts";
import { makeWorld } from "./world.ts";

let app: App;

beforeAll(async () => {
  app = await startApp({});
  const { ids } = await makeWorld(app);
  await app.post(`/v1/addons/${ids.boost}/apply`, { customer_id: ids.c1 });
  await app.patch("/v1/subscriptions/ext:s8", { status: "active" });
  await app.travelTo("2025-03-05T00:00:00.000Z");
});

afterAll(() => app.close());

/**
 * One of the invoices once more, under another id and the next number. Written as VALUES, as the
 * service writes: a cluster would copy the rows of a SELECT to their node, and then its answer to a
 * refusal by a trigger has lost the code.
 */
function repeatInvoice(changed: Readonly<Record<string, unknown>>): Act {
  return async (tx) => {
    const { row, last } = await tx.one<{ row: Record<string, unknown>; last: number }>(sql`
      select to_jsonb(i) as row, max(number_seq) over () as last
        from invoices i
       where i.project_id = ${app.profile.project_id} and i.subtotal_cents > 0
       order by i.invoice_type = 'subscription' desc
       limit 1`);
    const copy = { ...row, id: randomUUID(), number_seq: last + 1, ...changed };
    const names = Object.keys(copy).join(", ");
    const places = Object.keys(copy).map((_, i) => `$${i + 1}`);
    const text = `insert into invoices (${names}) values (${places.join(", ")})`;
    return tx.run({ text, values: Object.values(copy) });
  };
}

const CORRUPTIONS: readonly Corruption[] = [
  [
    "numbers are dense per project and year, and the counter stands at the last",
    "a number is skipped",
    `update invoices set number_seq = number_seq + 1
      where number_seq = (select max(number_seq) from invoices)`,
  ],
  [
    "numbers are dense per project and year, and the counter stands at the last",
    "the counter runs ahead",
    "update invoice_counters set last = last + 1",
  ],
  [
    "an act is on one invoice",
    "a period is billed twice",
    "alter table invoice_parts drop constraint invoice_parts_pkey",
    `insert into invoice_parts
     select p.project_id, p.subscription_id, p.invoice_id, p.due_at, p.period_no, p.period_start,
            p.period_end, p.cause_no, 9, p.set_aside, p.reason, p.plan_code
       from invoice_parts p
       limit 1`,
  ],
  [
    "an invoice has the parts that it says, of its customer, each with a fee",
    "a part is gone",
    "alter table invoice_parts disable trigger invoice_parts_stay",
    "delete from invoice_parts where invoice_id = (select invoice_id from invoice_parts limit 1)",
  ],
  [
    "an add-on invoice has one application, of its amount and customer",
    "an application is gone",
    "delete from applied_add_ons",
  ],
  [
    "a project's analytics are the sums of the rows they count",
    "an unpaid invoice is counted twice",
    `insert into analytics_deltas (project_id, kind, key, count, cents)
     select project_id, 'due', currency, 1, total_cents from invoices
      where status = 'outstanding' limit 1`,
  ],
  [
    "the periods of a subscription tile its time, but for what lies after an end",
    "a period ends a millisecond early",
    `update closed_periods
        set ends_at = (ends_at at time zone 'UTC' - interval '1 ms') at time zone 'UTC'
      where period_no = 1
        and subscription_id = (select id from subscriptions where external_id = 's1')`,
  ],
  [
    "the periods of a subscription tile its time, but for what lies after an end",
    "a period is missing",
    `delete from closed_periods where period_no = 1
        and subscription_id = (select id from subscriptions where external_id = 's1')`,
  ],
  [
    "an ended subscription has its last period closed, a live one has it open",
    "an ended subscription never closed its last period",
    `delete from closed_periods c using subscriptions s
      where s.external_id = 's7' and c.project_id = s.project_id and c.subscription_id = s.id
        and c.period_no = s.period_no`,
  ],
  [
    "daily sums are what the raw events give",
    "a day has a unit more than its events",
    "update usage_days set sum = sum + 1 where sum is not null",
  ],
  [
    "daily sums are what the raw events give",
    "an event is lost after it was counted",
    "delete from usage_events where quantity is not null and unbillable is null",
  ],
  [
    "daily sums are what the raw events give",
    "the moment of a level is off by a millisecond",
    "update usage_days set moment = moment + 1 where moment is not null",
  ],
  [
    "daily sums by combination are what the raw events give",
    "a combination has a unit more than its events",
    "update usage_parts set sum = sum + 1",
  ],
  [
    "a period starts with the level that all counted events before it give",
    "a level is forgotten",
    "update subscriptions set levels = null where levels is not null",
  ],
  [
    "distinct values are counted once per period, on the first day that they were used",
    "a distinct value is counted twice",
    "update usage_days set uniques = uniques + 1 where uniques > 0",
  ],
  [
    "an invoice line for usage, with its corrections, says what the period's books say",
    "a line says more units than were billed",
    `update fees set units = units + 1
      where fee_type = 'charge' and billable_metric_code is not null`,
  ],
  [
    "no accepted unit is lost: invoiced, open, waiting to be corrected or unbillable",
    "an event is moved to a period that does not exist",
    `update usage_events set period_no = 99 where quantity is not null and unbillable is null`,
    `update usage_days set period_no = -1 where sum is not null`,
  ],
  [
    "no row refers to another project",
    "an event of a subscription that the project does not have",
    `update usage_events set subscription_id = '${randomUUID()}'`,
  ],
  [
    "no row refers to another project",
    "a fee for a charge of nobody",
    `update fees set charge_id = '${randomUUID()}'`,
  ],
  [
    "a plan is not archived while it has an active subscription",
    "a plan is archived under its subscribers",
    "update plans set archived_at = '2025-03-04' where code = 'pro'",
  ],
  [
    "whatever made or moved money is in the log, once",
    "a log entry is gone",
    "delete from billing_events where event_type = 'payment.recorded'",
  ],
  [
    BILLED_RULE,
    "a period was billed for fewer units than were used",
    `update closed_periods c
        set billed = (select jsonb_object_agg(key, '{"units": "1", "amount_cents": 1}'::jsonb)
                        from jsonb_each(c.billed))
      where billed <> '{}'`,
  ],
];

describe("the rules about the books", () => {
  test("hold in a project that has lived a little", async () => {
    expect(await checkInvariants(app.context.db)).toEqual([]);
  });

  test.each(CORRUPTIONS)("%s: broken when %s", async (rule, _how, ...acts) => {
    const found = await brokenBy(app.context.db, acts);
    expect(found.filter((line) => line.startsWith(rule))).toHaveLength(1);
  });

  test("each has a corruption", () => {
    const tried = new Set(CORRUPTIONS.map(([rule]) => rule));
    const money = new Set(MONEY_RULES.map(({ name }) => name));
    const mine = RULE_NAMES.filter((name) => !money.has(name));
    expect(mine.filter((name) => !tried.has(name))).toEqual([]);
  });
});

/** What no rule needs to find, for it cannot come about. */
const REFUSED: readonly [what: string, tried: Act][] = [
  ["the amount of a fee changes", "update fees set amount_cents = amount_cents + 1"],
  ["a fee is removed", "delete from fees"],
  [
    "an invoice's total changes",
    "update invoices set subtotal_cents = subtotal_cents + 1, total_cents = total_cents + 1",
  ],
  ["an invoice comes without its fees", repeatInvoice({})],
  ["an act moves to another invoice", "update invoice_parts set cause_no = cause_no + 1"],
  ["a part is removed", "delete from invoice_parts"],
];

test.each(REFUSED)("the database refuses it when %s", async (_what, tried) => {
  await expect(app.context.db.tx((tx) => act(tx, tried))).rejects.toThrow(
    /add up to|do not change/,
  );
});
