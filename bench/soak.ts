// Mixed traffic for minutes at 70 % of what the machine can do: events one by one and in batches,
// reads, periods that end, webhooks. What must not drift: answer times, memory, queue, tables.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { type Sql, sql } from "../src/store/db/sql.ts";
import { addSubscriptions, monthsAgo, openBooks, settleTables } from "./books.ts";
import type { Load, LoadResult } from "./load.ts";
import { amount, atMost, type Bench, type Figure, ratio } from "./report.ts";
import {
  call,
  figure,
  headersOf,
  load,
  median,
  openStage,
  print,
  type Side,
  type Stage,
  startService,
  startSide,
} from "./stage.ts";

const SUBSCRIPTIONS = 2_000;
const CONNECTIONS = 32;
const SHARE = 0.7;
const BURST_SECONDS = 10;
const MINUTE_S = 60;
/** So many periods end every few seconds, besides what is asked. */
const DUE = 100;
const DUE_PAUSE_MS = 5_000;
/** Told of each close: the invoice and the new period. */
const MESSAGES_EACH = 2;
const WAITING_MAX = 1_000;

type Site = {
  readonly stage: Stage;
  readonly api: Side;
  readonly worker: Side;
  readonly sink: Side;
};

type Minute = {
  readonly asked: LoadResult;
  readonly api_mb: number;
  readonly worker_mb: number;
  readonly waiting: number;
  readonly queue_kb: number;
  readonly dead_share: number;
};

export const benchSoak: Bench = async ({ quick, minutes }) => {
  const stage = await openStage();
  const closing = [() => stage.end()];
  const seconds = quick ? 5 : MINUTE_S;
  try {
    await openBooks(stage, monthsAgo(0));
    await addSubscriptions(stage.db, { from: 2, to: SUBSCRIPTIONS }, monthsAgo(0));
    await settleTables(stage.db);
    const site = await openSite(stage, closing);
    const asking = await mixOf(site);
    const due = keepDue(stage);
    const burst = await load({ ...asking, seconds: quick ? 2 : BURST_SECONDS });
    const per_second = burst.per_second * SHARE;
    process.stdout.write(`\nsoak: ${minutes} minutes at ${figure(per_second)} requests/s\n`);
    const told: Minute[] = [];
    for (let minute = 1; minute <= minutes; minute++) {
      const asked = await load({ ...asking, seconds, per_second });
      told.push(await lookAt(site, asked));
      printMinute(minute, told.at(-1));
    }
    const closed = await due.stop();
    await assertConserved(site, [burst, ...told.map(({ asked }) => asked)], closed);
    return verdict(told);
  } finally {
    for (const end of closing.reverse()) await end();
  }
};

async function openSite(stage: Stage, closing: (() => Promise<void>)[]): Promise<Site> {
  const start = async (side: Promise<Side>) => {
    const started = await side;
    closing.push(() => started.stop());
    return started;
  };
  const env = { WEBHOOK_ALLOW_PRIVATE: "1", TRUST_PROXY: "1" };
  const sink = await start(startSide("sink", {}));
  const api = await start(startService(stage, "api", env));
  const worker = await start(startService(stage, "worker", env));
  const events = ["invoice.created", "subscription.period_renewed"];
  await call(stage, api, "/v1/webhooks", { url: `${sink.url}/hook`, events });
  return { stage, api, worker, sink };
}

/** Twelve single events, one batch of a hundred and seven reads, over and over. */
async function mixOf({ stage, api }: Site): Promise<Load> {
  const rows = await stage.db.many<{ id: string; customer_id: string }>(sql`
    select id, customer_id from subscriptions order by random() limit 500`);
  const paths = rows.flatMap(({ id, customer_id }) => [
    `/v1/customers/${customer_id}`,
    `/v1/subscriptions/${id}/usage`,
    `/v1/subscriptions/${id}`,
    `/v1/invoices?customer_id=${customer_id}`,
    "/v1/invoices?limit=10",
    `/v1/portal/${customer_id}`,
  ]);
  return {
    url: api.url,
    headers: headersOf(stage),
    connections: CONNECTIONS,
    seconds: 0,
    mix: [
      { ask: { kind: "events", batch: 1, subscriptions: SUBSCRIPTIONS }, times: 12 },
      { ask: { kind: "events", batch: 100, subscriptions: SUBSCRIPTIONS }, times: 1 },
      { ask: { kind: "paths", paths }, times: 7 },
    ],
  };
}

/** Adds subscriptions whose first period is over, until it is told to stop. */
function keepDue({ db }: Stage): { stop(): Promise<number> } {
  let next = SUBSCRIPTIONS + 1;
  let stopped = false;
  const adding = (async () => {
    while (!stopped) {
      await addSubscriptions(db, { from: next, to: next + DUE - 1 }, monthsAgo(1));
      next += DUE;
      await pause(DUE_PAUSE_MS);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await adding;
      return next - SUBSCRIPTIONS - 1;
    },
  };
}

const HOT: Sql = sql`('usage_days', 'subscriptions', 'webhook_queue', 'portal_views')`;

async function lookAt({ stage, api, worker }: Site, asked: LoadResult): Promise<Minute> {
  assert.equal(asked.refused, 0, "nothing is refused");
  const found = await stage.db.one<Pick<Minute, "waiting" | "queue_kb" | "dead_share">>(sql`
    select (select count(*) from webhook_queue) as waiting,
           pg_total_relation_size('webhook_queue') / 1024 as queue_kb,
           (sum(n_dead_tup) / greatest(sum(n_dead_tup + n_live_tup), 1))::float8 as dead_share
      from pg_stat_user_tables
     where relname in ${HOT}`);
  return { asked, api_mb: api.rssMb() ?? 0, worker_mb: worker.rssMb() ?? 0, ...found };
}

function printMinute(minute: number, told: Minute | undefined): void {
  if (told === undefined) return;
  const { asked, api_mb, worker_mb, waiting, queue_kb, dead_share } = told;
  const p99s = asked.each.map(({ p99_ms }) => figure(p99_ms)).join(" / ");
  print(
    `minute ${minute}: p99 of events / batches / reads`,
    `${p99s} ms; RSS ${figure(api_mb)} + ${figure(worker_mb)} MB; ${waiting} waiting, ` +
      `queue ${figure(queue_kb)} kB; ${figure(dead_share * 100)} % dead`,
  );
}

/** What was answered is stored, what was due is closed, what was closed is told. */
async function assertConserved(
  { stage: { db }, sink }: Site,
  asked: readonly LoadResult[],
  closed: number,
): Promise<void> {
  const events = asked.reduce((sum, one) => sum + one.events, 0);
  let now = { events: 0, counted: 0, invoices: 0, waiting: 1 };
  while (now.waiting > 0 || now.invoices < closed) {
    await pause(500);
    now = await db.one(sql`
      select (select count(*) from usage_events) as events,
             (select sum(events)::bigint from usage_days) as counted,
             (select count(*) from invoices) as invoices,
             (select count(*) from webhook_queue) as waiting`);
  }
  assert.deepEqual(now, { events, counted: events, invoices: closed, waiting: 0 });
  const answer = await fetch(`${sink.url}/count`);
  const { count } = (await answer.json()) as { count: number };
  assert.equal(count, closed * MESSAGES_EACH, "each was told once");
}

/** From the second minute on: the first one warms up. */
function verdict(told: readonly Minute[]): Figure[] {
  const steady = told.slice(told.length > 1 ? 1 : 0);
  if (steady.length === 0) return [];
  const worst = (value: (minute: Minute) => number) => Math.max(...steady.map(value));
  const p99s = steady.map(({ asked }) => asked.p99_ms);
  return [
    ratio(
      "p99 of the worst minute ÷ of the middle one, from minute 2",
      "ms",
      [[Math.max(...p99s), median(p99s)]],
      atMost(1.5),
    ),
    grown("RSS of the API", steady, ({ api_mb }) => api_mb),
    grown("RSS of the worker", steady, ({ worker_mb }) => worker_mb),
    amount(
      "waiting deliveries at the end of a minute, at most",
      "deliveries",
      worst(({ waiting }) => waiting),
      atMost(WAITING_MAX),
    ),
    // What is dead has been found by then and is used again.
    ratio(
      "size of the queue's table at the end ÷ at half-time",
      "kB",
      [[steady.at(-1)?.queue_kb ?? 0, steady[Math.floor(steady.length / 2)]?.queue_kb ?? 1]],
      atMost(1.5),
    ),
    amount(
      "dead rows of the busiest tables, largest share",
      "of all rows",
      worst(({ dead_share }) => dead_share),
      atMost(0.5),
    ),
  ];
}

/** Three minutes against three: memory swings with each collection, and a moment says nothing. */
function grown(name: string, steady: readonly Minute[], value: (minute: Minute) => number): Figure {
  const middle = (minutes: readonly Minute[]) => median(minutes.map(value));
  return ratio(
    `${name} in the last three minutes ÷ in minutes 2 to 4`,
    "MB",
    [[middle(steady.slice(-3)), middle(steady.slice(0, 3))]],
    atMost(1.1),
  );
}
