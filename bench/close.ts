// Subscriptions closed and invoiced: against ready-made rows, by statements, and with much usage
// against little.

import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { readConfig } from "../src/config.ts";
import type { ProjectId } from "../src/ids.ts";
import { registerWebhook } from "../src/operations/webhooks/change.ts";
import type { Db } from "../src/store/db/db.ts";
import { sql } from "../src/store/db/sql.ts";
import { billingJob } from "../src/workers/billing.ts";
import { testContext } from "../tests/support/context.ts";
import { BARS } from "./bars.ts";
import {
  addDays,
  addEvents,
  addSubscriptions,
  monthsAgo,
  openBooks,
  settleTables,
} from "./books.ts";
import { closeTogether } from "./close-together.ts";
import { countStatements } from "./counting.ts";
import { mark, oneShot, openOneShot } from "./one-shot.ts";
import { atMost, type Bench, type Figure, type Round, ratio } from "./report.ts";
import { openStage, SCHEDULER, type Stage } from "./stage.ts";

const SUBSCRIPTIONS = 100_000;
const QUICK_SUBSCRIPTIONS = 4_000;
const ROUNDS = 2;
const DAYS = 10;
const EVENTS_EACH = 1_000;
/** Base fee and four charges. */
const FEES = 5;

export const benchClose: Bench = async ({ quick }) => [
  ...(await wholeClose(quick ? QUICK_SUBSCRIPTIONS : SUBSCRIPTIONS)),
  await muchAgainstLittle(quick ? 100 : 1_000),
  ...(await closeTogether(quick ? QUICK_SUBSCRIPTIONS : SUBSCRIPTIONS)),
];

async function wholeClose(count: number): Promise<Figure[]> {
  const stage = await openStage();
  try {
    const { db } = stage;
    await openBooks(stage, monthsAgo(ROUNDS));
    await addSubscriptions(db, { from: 2, to: count }, monthsAgo(ROUNDS));
    for (let period_no = 1; period_no <= ROUNDS; period_no++) {
      const start = monthsAgo(ROUNDS + 1 - period_no);
      const range = { from: 1, to: count, period_no, start };
      await addDays(db, { ...range, days: DAYS, each: EVENTS_EACH });
    }
    await listen(stage);
    await openOneShot(db);
    await settleTables(db);
    const rounds: Round[] = [];
    const counting = countStatements(db);
    for (let period_no = 1; period_no <= ROUNDS; period_no++) {
      const since = await mark(db);
      const seconds = await close(stage, counting.db, monthsAgo(ROUNDS - period_no));
      await assertClosed(stage, count, period_no);
      rounds.push([seconds, await oneShot(db, since, period_no)]);
    }
    const thousands = (ROUNDS * count) / 1_000;
    const name = `close of ${count} subscriptions, 4 charges, usage, webhooks ÷ one-shot SQL`;
    return [
      ratio(name, "s", rounds, BARS.close),
      ratio(
        "statements per 1,000 invoices in that close",
        "statements",
        [[counting.statements(), thousands]],
        atMost(20),
        "thousands",
      ),
    ];
  } finally {
    await stage.end();
  }
}

/** An endpoint that is told of every invoice and every new period. Nobody delivers here. */
export async function listen({ db, profile }: Stage): Promise<void> {
  const policy = { allow_private: true, allow_loopback: true };
  const events = ["invoice.created" as const, "subscription.period_renewed" as const];
  const wanted = { url: "http://127.0.0.1:9999/hook", events };
  const terms = { policy, secret_key: randomBytes(32) };
  const project = profile.project_id as ProjectId;
  await db.tx((tx) => registerWebhook(tx, project, wanted, terms, SCHEDULER, new Date()));
}

/** Seconds until the worker's job finds nothing left to do. */
export async function close(stage: Stage, db: Db, now: Date): Promise<number> {
  const config = readConfig({ LOG_LEVEL: "error", DUES_DATA: stage.folder });
  const clock = { now: () => now };
  const job = billingJob(testContext({ config, db, clock, secret_key: randomBytes(32) }));
  const start = performance.now();
  while ((await job.tick()).more);
  return (performance.now() - start) / 1_000;
}

export async function assertClosed(
  { db, profile }: Stage,
  count: number,
  period_no: number,
): Promise<void> {
  const project = profile.project_id;
  const found = await db.one<Record<string, number>>(sql`
    select count(*) as invoices, sum(total_cents)::bigint as cents,
           (select count(*) from fees where project_id = ${project}) as fees,
           (select count(*) from webhook_queue where project_id = ${project}) as queued,
           (select count(*)
              from subscriptions
             where project_id = ${project} and period_no = ${period_no + 1}) as renewed
      from invoices
     where project_id = ${project}
       and id in (select invoice_id from invoice_parts
                   where project_id = ${project} and period_no = ${period_no})`);
  // 10.00 + 5.00 + 3 seats of 1.00, 1,500 calls of 0.01 and as many of storage of 0.002.
  const cents = 1_000 + 500 + 300 + 1_500 + 300;
  assert.deepEqual(found, {
    invoices: count,
    cents: count * cents,
    fees: count * FEES * period_no,
    queued: count * 2 * period_no,
    renewed: count,
  });
}

/** Closes equal subscriptions with 1,000 events each and with 10, which are in the table. */
async function muchAgainstLittle(count: number): Promise<Figure> {
  const shapes = [
    { each: 1_000, days: 25 },
    { each: 10, days: 5 },
  ];
  const stages: Stage[] = [];
  try {
    for (const shape of shapes) {
      const stage = await openStage();
      stages.push(stage);
      await openBooks(stage, monthsAgo(ROUNDS + 1));
      await addSubscriptions(stage.db, { from: 2, to: count }, monthsAgo(ROUNDS + 1));
      for (let period_no = 1; period_no <= ROUNDS + 1; period_no++) {
        const start = monthsAgo(ROUNDS + 2 - period_no);
        const usage = { from: 1, to: count, period_no, start, ...shape };
        await addDays(stage.db, usage);
        await addEvents(stage.db, usage);
      }
      await settleTables(stage.db);
    }
    const rounds: number[][] = [];
    for (let period_no = 1; period_no <= ROUNDS + 1; period_no++) {
      const round: number[] = [];
      for (const stage of stages) {
        round.push(await close(stage, stage.db, monthsAgo(ROUNDS + 1 - period_no)));
      }
      // The first one warms up.
      if (period_no > 1) rounds.push(round);
    }
    for (const { db } of stages) {
      const { invoices } = await db.one<{ invoices: number }>(sql`
        select count(*) as invoices from invoices`);
      assert.equal(invoices, count * (ROUNDS + 1), "one invoice each");
    }
    const pairs = rounds.map(([much = 0, little = 1]): Round => [much, little]);
    const name = `close of ${count} at 1,000 events each ÷ at 10`;
    return ratio(name, "s", pairs, atMost(1.2));
  } finally {
    for (const stage of stages) await stage.end();
  }
}
