// Each rule about the books can be broken, and then says so: one corruption for every rule.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sql } from "../../src/store/sql.ts";
import { type App, startApp } from "../support/app.ts";
import { BILLED_RULE, brokenRules, checkInvariants, RULE_NAMES } from "../support/invariants.ts";
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

/** The rule each one breaks, and how; what else follows from it is not looked at. */
const CORRUPTIONS: readonly [rule: string, how: string, ...statements: string[]][] = [
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
    "a cause has one invoice",
    "a period is billed twice",
    "drop index invoices_cause_key",
    "alter table invoices disable trigger invoices_add_up",
    `insert into invoices
     select (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
              'number_seq', 1 + (select max(number_seq) from invoices)))).*
       from invoices i where cause = 'period' limit 1`,
  ],
  [
    "an add-on invoice has one application, of its amount and customer",
    "an application is gone",
    "delete from applied_add_ons",
  ],
  [
    "an invoice adds up to its fees",
    "a fee is a cent too high",
    "alter table fees disable trigger fees_stay",
    `update fees set amount_cents = amount_cents + 1
      where id = (select id from fees order by id limit 1)`,
  ],
  [
    "a project's analytics are the sums of the rows they count",
    "an unpaid invoice is counted twice",
    `insert into analytics_deltas
     select project_id, 'due', currency, 1, total_cents from invoices
      where status = 'outstanding' limit 1`,
  ],
  [
    "the periods of a subscription tile its time, but for what lies after an end",
    "a period ends a millisecond early",
    `update closed_periods set ends_at = ends_at - interval '1 ms'
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
      where s.external_id = 's7' and c.subscription_id = s.id and c.period_no = s.period_no`,
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
    "distinct values are counted once per period",
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
  ["payments add up to what the invoice says is paid", "a payment is gone", "delete from payments"],
  [
    "an invoice's status follows from what is due",
    "a voided invoice does not say when",
    `update invoices set status = 'voided' where status = 'outstanding'`,
  ],
  [
    "a customer's credit is the sum of its entries",
    "a balance without an entry",
    "update credits set balance_cents = balance_cents + 1",
  ],
  [
    "the credit on an invoice is what was taken from the customer for it",
    "credit on an invoice that nobody gave",
    `update invoices set credit_applied_cents = 1 where status = 'outstanding'`,
  ],
  [
    "no row refers to another project",
    "an event of a subscription that the project does not have",
    "update usage_events set subscription_id = gen_random_uuid()",
  ],
  [
    "no row refers to another project",
    "a fee for a charge of nobody",
    "update fees set charge_id = gen_random_uuid()",
  ],
  [
    "an archived plan has no active subscription",
    "a plan is archived under its subscribers",
    "update plans set archived_at = created_at where code = 'pro'",
  ],
  [
    "every invoice and payment is in the log, once",
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

  test.each(CORRUPTIONS)("%s: broken when %s", async (rule, _how, ...statements) => {
    let found: string[] = [];
    const undone = new Error("undone");
    const corrupt = app.context.db.tx(async (tx) => {
      let touched = 0;
      for (const text of statements) touched += await tx.run({ text, values: [] } as Sql);
      expect(touched).toBeGreaterThan(0);
      found = await brokenRules(tx);
      throw undone;
    });
    await expect(corrupt).rejects.toBe(undone);
    expect(found.filter((line) => line.startsWith(rule))).toHaveLength(1);
  });

  test("each has a corruption", () => {
    const tried = new Set(CORRUPTIONS.map(([rule]) => rule));
    expect(RULE_NAMES.filter((name) => !tried.has(name))).toEqual([]);
  });
});

/** What no rule needs to find, for it cannot come about. */
const REFUSED: readonly [what: string, statement: string][] = [
  ["the amount of a fee changes", "update fees set amount_cents = amount_cents + 1"],
  ["a fee is removed", "delete from fees"],
  [
    "an invoice's total changes",
    "update invoices set subtotal_cents = subtotal_cents + 1, total_cents = total_cents + 1",
  ],
  [
    "an invoice comes without its fees",
    `insert into invoices
     select (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),
              'number_seq', 1 + (select max(number_seq) from invoices), 'cause_no', 99))).*
       from invoices i where subtotal_cents > 0 limit 1`,
  ],
];

test.each(REFUSED)("the database refuses it when %s", async (_what, text) => {
  const tried = app.context.db.tx((tx) => tx.run({ text, values: [] } as Sql));
  await expect(tried).rejects.toThrow(/add up to|do not change/);
});
