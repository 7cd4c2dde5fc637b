// The same subscriptions closed in each mode: one invoice for each act, for what falls due together
// of a subscription, or of a customer. What is not written is saved.

import { strict as assert } from "node:assert";
import type { InvoiceGrouping } from "../src/schema/enums.ts";
import type { PlanCreate } from "../src/schema/plans.ts";
import type { Pool } from "../src/store/db/db.ts";
import { sql } from "../src/store/db/sql.ts";
import { addDays, addSubscriptions, monthsAgo, openBooks, settleTables } from "./books.ts";
import { close, listen } from "./close.ts";
import { countStatements } from "./counting.ts";
import { atMost, type Figure, type Round, ratio } from "./report.ts";
import { openStage } from "./stage.ts";

/** Of 25 subscriptions, the customer of each: five have one, four have two, one has twelve. */
const OWNERS = [1, 2, 3, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, ...Array.from({ length: 12 }, () => 10)];
const ROUNDS = 2;

type Timing = "arrears" | "advance";

const planOf = (base_timing: Timing): PlanCreate => ({
  code: "p",
  name: "P",
  interval: "monthly",
  amount_cents: 1_000,
  amount_currency: "USD",
  base_timing,
  charges: [{ type: "standard", metric_ref: "calls", rate: "0.01" }],
});

export async function closeTogether(count: number): Promise<Figure[]> {
  assert.equal(count % OWNERS.length, 0, "every customer has all of its subscriptions");
  const arrears = await closeInModes(count, "arrears", ["separate", "customer"]);
  const advance = await closeInModes(count, "advance", ["separate", "subscription", "customer"]);
  const name = (mode: string, timing: Timing) =>
    `close of ${count} subscriptions, base in ${timing}, ${mode} ÷ separate`;
  return [
    ratio(name("customer", "arrears"), "s", roundsOf(arrears, "customer"), atMost(0.85)),
    ratio(name("customer", "advance"), "s", roundsOf(advance, "customer"), atMost(0.65)),
    ratio(name("subscription", "advance"), "s", roundsOf(advance, "subscription"), atMost(0.8)),
    ratio(
      "statements of such a close, customer ÷ separate",
      "statements",
      [[statementsOf(arrears, "customer"), statementsOf(arrears, "separate")]],
      null,
    ),
  ];
}

type Closed = { readonly mode: InvoiceGrouping; readonly seconds: number; readonly asked: number };

function roundsOf(closed: readonly Closed[], mode: InvoiceGrouping): Round[] {
  const [own, plain] = [mode, "separate"].map((one) => closed.filter((each) => each.mode === one));
  return (own ?? []).map(({ seconds }, i) => [seconds, plain?.[i]?.seconds ?? Number.NaN]);
}

function statementsOf(closed: readonly Closed[], mode: InvoiceGrouping): number {
  return closed.find((one) => one.mode === mode)?.asked ?? Number.NaN;
}

async function closeInModes(
  count: number,
  timing: Timing,
  modes: readonly InvoiceGrouping[],
): Promise<Closed[]> {
  const closed: Closed[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const mode of modes) closed.push(await closeOnce(count, timing, mode));
  }
  return closed;
}

async function closeOnce(count: number, timing: Timing, mode: InvoiceGrouping): Promise<Closed> {
  const stage = await openStage();
  try {
    const { db } = stage;
    const start = monthsAgo(1);
    await openBooks(stage, start, planOf(timing));
    await addSubscriptions(db, { from: 2, to: count }, start);
    await shareCustomers(db);
    await db.run(sql`
      update projects
         set invoice_grouping = ${mode}, groups_customers = ${mode === "customer"}`);
    await addDays(db, { from: 1, to: count, period_no: 1, start, days: 10, each: 20 });
    await listen(stage);
    await settleTables(db);
    const { made: before } = await invoicesOf(db);
    const counting = countStatements(db);
    const seconds = await close(stage, counting.db, monthsAgo(0));
    const { made, parts } = await invoicesOf(db);
    const each = timing === "advance" ? 2 : 1;
    const expected = { separate: each * count, subscription: count, customer: 0.4 * count };
    assert.equal(made - before, expected[mode], "invoices");
    assert.equal(parts - before, each * count, "parts");
    return { mode, seconds, asked: counting.statements() };
  } finally {
    await stage.end();
  }
}

async function shareCustomers(db: Pool): Promise<void> {
  await db.run(sql`
    update subscriptions s
       set customer_id = c.id
      from customers c
     where c.project_id = s.project_id
       and c.external_id = 'c' || (
         (substr(s.external_id, 2)::integer - 1) / ${OWNERS.length}::integer * ${OWNERS.length}::integer
         + (${OWNERS}::integer[])[1 + (substr(s.external_id, 2)::integer - 1) % ${OWNERS.length}::integer])`);
}

function invoicesOf(db: Pool) {
  return db.one<{ made: number; parts: number }>(sql`
    select count(*) as made, (select count(*) from invoice_parts) as parts from invoices`);
}
