// What one unit of work costs when the tables behind it have grown a thousandfold: measured at
// four sizes of the same database.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { readConfig } from "../src/config.ts";
import { readSecretKey } from "../src/key-file.ts";
import { sql } from "../src/store/db/sql.ts";
import { startWorkers } from "../src/workers/start.ts";
import { testContext } from "../tests/support/context.ts";
import {
  addDays,
  addDelivered,
  addDue,
  addEvents,
  addInvoices,
  addSubscriptions,
  monthsAgo,
  openBooks,
  settleTables,
} from "./books.ts";
import { close } from "./close.ts";
import type { Ask } from "./load.ts";
import { atMost, type Bench, ratio } from "./report.ts";
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

const SIZES = [10_000, 100_000, 1_000_000, 10_000_000];
const QUICK_SIZES = [10_000, 20_000];
/** Invoices of each customer, and as many events. */
const EACH = 50;
const DAYS = 5;
const ROUNDS = 3;
const SECONDS = 2;
const QUICK_SECONDS = 0.5;
const CLOSED = 1_000;
const DELIVERED = 2_000;
const BATCH = 1_000;
/** Names of subscriptions that are due begin behind all others. */
const DUE_FROM = 1_000_000;
const NAMES = [
  "an event stored",
  "a period closed",
  "a page listed",
  "a usage read",
  "a delivery",
  // Knows no table: when its line is not flat, it was the machine that changed.
  "a bare request",
];

type Site = {
  readonly stage: Stage;
  readonly service: Side;
  readonly sink: Side;
  readonly bare: Side;
  readonly seconds: number;
};

export const benchGrowth: Bench = async ({ quick }) => {
  const stage = await openStage();
  const sink = await startSide("sink", {});
  const bare = await startSide("bare", {});
  const closing = [() => stage.end(), () => sink.stop(), () => bare.stop()];
  const sizes = quick ? QUICK_SIZES : SIZES;
  const lines = NAMES.map((name) => ({ name, costs_ms: [] as number[] }));
  try {
    await openBooks(stage, monthsAgo(0));
    const service = await startService(stage, "api", { WEBHOOK_ALLOW_PRIVATE: "1" });
    closing.push(() => service.stop());
    const seconds = quick ? QUICK_SECONDS : SECONDS;
    const site = { stage, service, sink, bare, seconds };
    const events = ["payment.succeeded"];
    await call(stage, service, "/v1/webhooks", { url: `${sink.url}/hook`, events });
    let before = 0;
    for (const [step, size] of sizes.entries()) {
      await grow(stage, before, size);
      before = size;
      const costs = await costsAt(site, step);
      process.stdout.write(`\ngrowth: ${figure(size)} rows\n`);
      for (const [i, cost_ms] of costs.entries()) {
        lines[i]?.costs_ms.push(cost_ms);
        print(`ms for ${NAMES[i]}`, figure(cost_ms));
      }
    }
  } finally {
    for (const end of closing.reverse()) await end();
  }
  return lines.map(({ name, costs_ms }) => {
    const [first = 1, last = 0] = [costs_ms[0], costs_ms.at(-1)];
    const title = `${name} at ${figure(sizes.at(-1) ?? 0)} rows ÷ at ${figure(sizes[0] ?? 0)}`;
    return ratio(title, "ms", [[last, first]], atMost(1.5));
  });
};

/** From one size to the next, in every table whose size may matter. */
async function grow({ db }: Stage, from_rows: number, to_rows: number): Promise<void> {
  const range = { from: from_rows / EACH + 1, to: to_rows / EACH };
  const start = monthsAgo(0);
  await addSubscriptions(db, { ...range, from: Math.max(2, range.from) }, start);
  await addInvoices(db, { ...range, each: EACH, after: from_rows }, monthsAgo(-1));
  const usage = { ...range, period_no: 1, start, days: DAYS, each: EACH };
  await addDays(db, usage);
  await addEvents(db, usage);
  await addDelivered(db, { from: from_rows + 1, to: to_rows });
  await settleTables(db);
}

async function costsAt(site: Site, step: number): Promise<number[]> {
  return [
    (await timed(site, { kind: "events", batch: BATCH, subscriptions: 100 })) / BATCH,
    await closingPeriods(site, step),
    await timed(site, { kind: "paths", paths: await pages(site) }),
    await timed(site, { kind: "paths", paths: await usages(site) }),
    await delivering(site),
    await timed({ ...site, service: site.bare }, { kind: "paths", paths: ["/v1/customers/c1"] }),
  ];
}

/** One after the other, so that it is the work that is timed and not the queue for it. */
async function timed({ stage, service, seconds }: Site, ask: Ask): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const mix = [{ ask, times: 1 }];
    const headers = headersOf(stage);
    const result = await load({ url: service.url, headers, connections: 1, seconds, mix });
    assert.equal(result.refused, 0, "nothing is refused");
    // The first one warms up.
    if (round > 0) rounds.push(result.p50_ms);
  }
  return median(rounds);
}

async function pages({ stage, service }: Site): Promise<string[]> {
  const paths: string[] = [];
  for (let n = 1; n <= 20; n++) {
    const path = `/v1/invoices?limit=1&offset=${n * 40}`;
    const { cursor } = await call<{ cursor: string }>(stage, service, path);
    paths.push(`/v1/invoices?limit=10&cursor=${cursor}`);
  }
  return paths;
}

/** Paths of subscriptions to which no event was posted. */
async function usages({ stage, service }: Site): Promise<string[]> {
  const rows = await stage.db.many<{ id: string }>(sql`
    select id
      from subscriptions
     where substr(external_id, 2)::integer between 101 and ${DUE_FROM - 1}
     order by random()
     limit 500`);
  const paths = rows.map(({ id }) => `/v1/subscriptions/${id}/usage`);
  const { usage } = await call<{ usage: { charges: { events: number }[] } }>(
    stage,
    service,
    paths[0] ?? "",
  );
  assert.equal(usage.charges[0]?.events, EACH / 2, "the events of one metric");
  return paths;
}

async function closingPeriods({ stage }: Site, step: number): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const from = DUE_FROM + (step * (ROUNDS + 1) + round) * CLOSED;
    const range = { from, to: from + CLOSED - 1 };
    await addSubscriptions(stage.db, range, monthsAgo(1));
    const usage = { ...range, period_no: 1, start: monthsAgo(1), days: DAYS, each: EACH };
    await addDays(stage.db, usage);
    const before = await count(stage, "invoices");
    const seconds = await close(stage, stage.db, new Date());
    assert.equal((await count(stage, "invoices")) - before, CLOSED, "one invoice each");
    if (round > 0) rounds.push((seconds * 1_000) / CLOSED);
  }
  return median(rounds);
}

/** By a worker that finds its queue full. */
async function delivering({ stage, sink }: Site): Promise<number> {
  const { db } = stage;
  const settings = { LOG_LEVEL: "error", WEBHOOK_ALLOW_PRIVATE: "1", DUES_DATA: stage.folder };
  const config = readConfig(settings);
  const clock = { now: () => new Date() };
  const context = testContext({ config, db, clock, secret_key: readSecretKey(config) });
  const rounds: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const before = await received(sink);
    await addDue(stage, { count: DELIVERED, body: '{"data":{}}' });
    const start = performance.now();
    const { stop } = startWorkers(context, stage.connection);
    while ((await received(sink)) - before < DELIVERED) await pause(10);
    await stop();
    if (round > 0) rounds.push((performance.now() - start) / DELIVERED);
    assert.equal(await count(stage, "webhook_queue"), 0, "each was recorded");
  }
  return median(rounds);
}

async function received(sink: Side): Promise<number> {
  const answer = await fetch(`${sink.url}/count`);
  return ((await answer.json()) as { count: number }).count;
}

async function count({ db }: Stage, table: "invoices" | "webhook_queue"): Promise<number> {
  const text = `select count(*) as count from ${table}`;
  return (await db.one<{ count: number }>({ text, values: [] })).count;
}
