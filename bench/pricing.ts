// What pricing costs: a close by tiers against one by a price per unit, a close with changes of
// plan against one without, and events since there are dimensions.

import { strict as assert } from "node:assert";
import { createPlan } from "../src/operations/change-plan.ts";
import { SCHEDULER } from "../src/operations/emit.ts";
import type { PlanCreate } from "../src/schema/plans.ts";
import { sql } from "../src/store/sql.ts";
import type { ProjectId } from "../src/store/tenants.ts";
import { addDays, addSubscriptions, monthsAgo, openBooks, settleTables } from "./books.ts";
import { close, listen } from "./close.ts";
import { benchEvents } from "./pricing-events.ts";
import { atMost, type Bench, type Figure, type Round, ratio } from "./report.ts";
import { openStage, type Stage } from "./stage.ts";

const SUBSCRIPTIONS = 100_000;
const QUICK_SUBSCRIPTIONS = 2_000;
const CHANGING = 10_000;
const QUICK_CHANGING = 1_000;
const ROUNDS = 3;
const DAYS = 10;
const EVENTS_EACH = 1_000;
/** Half of the events are calls, of three units each. */
const CALLS = (EVENTS_EACH / 2) * 3;
const TIERS = 10;

export const benchPricing: Bench = async (options) => {
  const { quick } = options;
  return [
    await tieredClose(quick ? QUICK_SUBSCRIPTIONS : SUBSCRIPTIONS),
    await changingClose(quick ? QUICK_CHANGING : CHANGING),
    ...(await benchEvents(options)),
  ];
};

const STANDARD: Partial<PlanCreate> = {
  charges: [{ type: "standard", metric_ref: "calls", rate: "0.01" }],
};

/** Ten tiers, all of which the usage reaches, at prices that add up to the same amount. */
const GRADUATED: Partial<PlanCreate> = {
  charges: [
    {
      type: "graduated",
      metric_ref: "calls",
      tiers: Array.from({ length: TIERS }, (_, i) => ({
        up_to: i === TIERS - 1 ? null : String(((i + 1) * CALLS) / TIERS),
        rate: "0.01",
      })),
    },
  ],
};

async function tieredClose(count: number): Promise<Figure> {
  const name = `close of ${count} subscriptions, one charge: graduated of ${TIERS} tiers ÷ standard`;
  return compareCloses(name, count, [GRADUATED, STANDARD], atMost(1.15), async () => {});
}

/** Every subscription of the first side goes to another plan at each period's end, and back. */
async function changingClose(count: number): Promise<Figure> {
  const name = `close of ${count} subscriptions, all changing their plan ÷ none`;
  return compareCloses(name, count, [STANDARD, STANDARD], atMost(1.25), async (stage) => {
    const { db } = stage;
    const other = await otherPlan(stage);
    await db.run(sql`
      update subscriptions
         set scheduled_plan_id = case when plan_id = ${other} then p.id else ${other} end
        from plans p
       where p.code = 'p'`);
    await db.run(sql`vacuum analyze subscriptions`);
  });
}

async function otherPlan({ db, profile }: Stage): Promise<string> {
  const project = profile.project_id as ProjectId;
  const found = await db.maybeOne<{ id: string }>(sql`select id from plans where code = 'other'`);
  if (found !== undefined) return found.id;
  const terms = { code: "other", name: "Other", interval: "monthly" as const };
  const wanted = { ...terms, amount_cents: 1_000, amount_currency: "USD", ...STANDARD };
  const { plan } = await db.tx((tx) =>
    createPlan(tx, project, wanted, SCHEDULER, monthsAgo(ROUNDS + 2)),
  );
  return plan.id;
}

/** The same months of two projects, closed in turns; `prepare` is done to the first before each. */
async function compareCloses(
  name: string,
  count: number,
  plans: readonly [Partial<PlanCreate>, Partial<PlanCreate>],
  bar: Figure["bar"],
  prepare: (stage: Stage) => Promise<void>,
): Promise<Figure> {
  const stages: Stage[] = [];
  try {
    for (const plan of plans) stages.push(await openSide(plan, count));
    const rounds: Round[] = [];
    for (let period_no = 1; period_no <= ROUNDS; period_no++) {
      const seconds = [0, 0];
      // Who is first changes: the other finds the server's caches full of its rows.
      for (const i of period_no % 2 === 1 ? [0, 1] : [1, 0]) {
        const stage = stages[i];
        if (stage === undefined) throw new Error("A side is missing.");
        if (i === 0) await prepare(stage);
        seconds[i] = await close(stage, stage.db, monthsAgo(ROUNDS - period_no));
        await assertBilled(stage, count, period_no);
      }
      rounds.push([seconds[0] ?? 0, seconds[1] ?? 1]);
    }
    return ratio(name, "s", rounds, bar);
  } finally {
    for (const stage of stages) await stage.end();
  }
}

async function openSide(plan: Partial<PlanCreate>, count: number): Promise<Stage> {
  const stage = await openStage();
  const { db } = stage;
  await openBooks(stage, monthsAgo(ROUNDS), plan);
  await addSubscriptions(db, { from: 2, to: count }, monthsAgo(ROUNDS));
  for (let period_no = 1; period_no <= ROUNDS; period_no++) {
    const start = monthsAgo(ROUNDS + 1 - period_no);
    await addDays(db, { from: 1, to: count, period_no, start, days: DAYS, each: EVENTS_EACH });
  }
  await listen(stage);
  await settleTables(db);
  return stage;
}

/** 10.00 and 1,500 calls at 0.01 each, of every subscription. */
async function assertBilled({ db }: Stage, count: number, period_no: number): Promise<void> {
  const found = await db.one<{ invoices: number; cents: number }>(sql`
    select count(*) as invoices, coalesce(sum(total_cents), 0)::bigint as cents
      from invoices
     where period_no = ${period_no}`);
  assert.deepEqual(found, { invoices: count, cents: count * (1_000 + CALLS) });
}
