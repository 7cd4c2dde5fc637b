// What the service holds in memory: after a long day against after its first minute, and at most
// in any of the benches.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "../src/store/db/sql.ts";
import { addSubscriptions, monthsAgo, openBooks } from "./books.ts";
import { amount, atMost, type Bench, type Figure, ratio } from "./report.ts";
import {
  headersOf,
  load,
  openStage,
  type Peak,
  type Side,
  type Stage,
  startService,
} from "./stage.ts";

const WARM = { events: 20_000, closes: 2_000 };
const FULL = { events: 1_000_000, closes: 100_000 };
const QUICK = { events: 20_000, closes: 4_000 };
/** How many subscriptions have events. */
const SUBSCRIPTIONS = 100;
const BATCH = 1_000;
const RSS_MAX_MB = 350;

export const benchMemory: Bench = async ({ quick }) => {
  const stage = await openStage();
  const lastMonth = monthsAgo(1);
  await openBooks(stage, lastMonth);
  await addSubscriptions(stage.db, { from: 2, to: SUBSCRIPTIONS }, lastMonth);
  const service = await startService(stage, "all");
  try {
    await work(stage, service, WARM, { after: SUBSCRIPTIONS, start: lastMonth });
    const warm = service.rssMb();
    const day = quick ? QUICK : FULL;
    await work(stage, service, day, { after: SUBSCRIPTIONS + WARM.closes, start: lastMonth });
    const later = service.rssMb();
    if (warm === undefined || later === undefined) return [];
    const name = `RSS after ${day.events} events and ${day.closes} closes ÷ after warm-up`;
    return [ratio(name, "MB", [[later, warm]], atMost(1.5))];
  } finally {
    await service.stop();
    await stage.end();
  }
};

/** Events first, then periods that have ended; all of it is done when this returns. */
async function work(
  stage: Stage,
  service: Side,
  { events, closes }: { events: number; closes: number },
  { after, start }: { after: number; start: Date },
): Promise<void> {
  const before = await counts(stage);
  const sent = await load({
    url: service.url,
    headers: headersOf(stage),
    connections: 4,
    seconds: 600,
    requests: events / BATCH,
    mix: [{ ask: { kind: "events", batch: BATCH, subscriptions: SUBSCRIPTIONS }, times: 1 }],
  });
  assert.equal(sent.refused, 0, "nothing is refused");
  await addSubscriptions(stage.db, { from: after + 1, to: after + closes }, start);
  let now = await counts(stage);
  while (now.open > 0) {
    await pause(500);
    now = await counts(stage);
  }
  assert.equal(now.events - before.events, sent.events, "every event is stored once");
  assert.equal(now.invoices, now.subscriptions, "one invoice for each that was due");
}

function counts({ db }: Stage) {
  return db.one<{ events: number; invoices: number; subscriptions: number; open: number }>(sql`
    select (select count(*) from usage_events) as events,
           (select count(*) from invoices) as invoices, count(*) as subscriptions,
           count(*) filter (where period_no = 1) as open
      from subscriptions`);
}

/** The largest of all processes of the service that ran in this run. */
export function memoryFigure(peaks: readonly Peak[]): Figure[] {
  const mine = peaks.filter(({ file }) => file === "service").map(({ peak_mb }) => peak_mb);
  if (mine.length === 0) return [];
  const name = `RSS of the service, the most of ${mine.length} processes in all benches`;
  return [amount(name, "MB", Math.max(...mine), atMost(RSS_MAX_MB))];
}
