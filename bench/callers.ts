// What callers notice of a close: their answers at a steady pace while the process that gives them
// also closes many periods, against the same when nothing else is done.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "../src/store/db/sql.ts";
import {
  addDays,
  addSubscriptions,
  freezeClocks,
  monthsAgo,
  openBooks,
  settleTables,
} from "./books.ts";
import type { Load } from "./load.ts";
import { atMost, type Bench, ratio } from "./report.ts";
import {
  beginLoad,
  figure,
  headersOf,
  load,
  median,
  openStage,
  print,
  type Side,
  type Stage,
  startService,
} from "./stage.ts";

const SUBSCRIPTIONS = 100_000;
const QUICK_SUBSCRIPTIONS = 4_000;
const USAGE = { period_no: 1, days: 10, each: 1_000 };
/** Enough that those who wait do not hold up those who come. */
const CONNECTIONS = 256;
const PER_SECOND = 150;
const SECONDS = 5;
const PATIENCE_SECONDS = 600;
const ON_TIME = monthsAgo(0);
const AN_HOUR_EARLY = new Date(ON_TIME.getTime() - 3_600_000);
const KINDS = "customer / usage / list / event";

/** Without webhooks: their receiver would take a core of the machine that is measured. */
export const benchCallers: Bench = async ({ quick }) => {
  const count = quick ? QUICK_SUBSCRIPTIONS : SUBSCRIPTIONS;
  const stage = await openStage();
  const closing = [() => stage.end()];
  try {
    const start = monthsAgo(1);
    await openBooks(stage, start);
    await addSubscriptions(stage.db, { from: 2, to: count }, start);
    await addDays(stage.db, { from: 1, to: count, start, ...USAGE });
    await settleTables(stage.db);
    await freezeClocks(stage.db, AN_HOUR_EARLY);
    const service = await startService(stage, "all");
    closing.push(() => service.stop());
    const calls = await callsOf(stage, service);
    await load({ ...calls, seconds: 2 });
    const before = await load(calls);
    const during = beginLoad({ ...calls, seconds: PATIENCE_SECONDS });
    await freezeClocks(stage.db, ON_TIME);
    while ((await closed(stage)) < count) await pause(250);
    during.stop();
    const busy = await during.result;
    const after = await load(calls);
    for (const [when, { each }] of Object.entries({ idle: before, closing: busy })) {
      print(`p99 of ${KINDS}, ${when}`, each.map((one) => figure(one.p99_ms)).join(" / "));
    }
    assert.equal(before.refused + busy.refused + after.refused, 0, "nobody is refused");
    const { invoices } = await stage.db.one<{ invoices: number }>(sql`
      select count(*) as invoices from invoices`);
    assert.equal(invoices, count, "one invoice each");
    const idle = median([before.p99_ms, after.p99_ms]);
    const name = `API p99 while a close of ${count} runs ÷ idle`;
    return [ratio(name, "ms", [[busy.p99_ms, idle]], atMost(3))];
  } finally {
    for (const end of closing.reverse()) await end();
  }
};

/** Two reads for each event that is sent. */
async function callsOf(stage: Stage, service: Side): Promise<Load> {
  const rows = await stage.db.many<{ id: string; customer_id: string }>(sql`
    select id, customer_id from subscriptions order by random() limit 500`);
  const reads: ((row: { id: string; customer_id: string }) => string)[] = [
    ({ customer_id }) => `/v1/customers/${customer_id}`,
    ({ id }) => `/v1/subscriptions/${id}/usage`,
    ({ customer_id }) => `/v1/invoices?customer_id=${customer_id}`,
  ];
  return {
    url: service.url,
    headers: headersOf(stage),
    connections: CONNECTIONS,
    seconds: SECONDS,
    per_second: PER_SECOND,
    mix: [
      ...reads.map((path) => {
        return { ask: { kind: "paths" as const, paths: rows.map(path) }, times: 2 };
      }),
      {
        ask: { kind: "events", batch: 1, subscriptions: 100, at: ON_TIME.toISOString() },
        times: 3,
      },
    ],
  };
}

/** By the counter of invoices: to count the rows would slow down what is measured. */
async function closed({ db }: Stage): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select coalesce(sum(last), 0)::bigint as count from invoice_counters`);
  return count;
}
