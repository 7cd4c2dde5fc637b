// Events through the API, durable and counted: against a route that does nothing, against
// COPY of the same rows, with repeats, and what they take on disk.

import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { sql } from "../src/store/db/sql.ts";
import { BARS } from "./bars.ts";
import { addSubscriptions, monthsAgo, openBooks } from "./books.ts";
import { copyIn } from "./copy.ts";
import type { Ask, LoadResult } from "./load.ts";
import {
  amount,
  atLeast,
  atMost,
  type Bench,
  type Figure,
  type Options,
  type Round,
  ratio,
} from "./report.ts";
import {
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

const CONNECTIONS = 64;
const SUBSCRIPTIONS = 100;
const ROUNDS = 5;
const SECONDS = 4;
/** Until V8 has compiled both sides for good, which takes the service some 60,000 events. */
const WARM_UP_SECONDS = 10;
const BATCH = 1_000;
const BATCH_CONNECTIONS = 4;
const COPY_ROWS = 100_000;
const SINGLE: Ask = { kind: "events", batch: 1, subscriptions: SUBSCRIPTIONS };
const BATCHED: Ask = { kind: "events", batch: BATCH, subscriptions: SUBSCRIPTIONS };
const REPEATED: Ask = { ...BATCHED, repeats: true };

export const benchIngest: Bench = async (options) => {
  const stage = await openStage();
  const service = await startService(stage, "api");
  const bare = await startSide("bare", {});
  try {
    const start = monthsAgo(0);
    await openBooks(stage, start);
    await addSubscriptions(stage.db, { from: 2, to: SUBSCRIPTIONS }, start);
    return [
      ...(await singles(stage, service, bare, options)),
      ...(await batches(stage, service, options)),
    ];
  } finally {
    await service.stop();
    await bare.stop();
    await stage.end();
  }
};

async function singles(stage: Stage, service: Side, bare: Side, { quick }: Options) {
  const seconds = quick ? 1 : SECONDS;
  const warm_up = quick ? 1 : WARM_UP_SECONDS;
  for (const side of [service, bare]) await send(stage, side, SINGLE, CONNECTIONS, warm_up);
  const before = await stored(stage);
  const ours: Measured[] = [];
  const theirs: Measured[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await measured(stage, service, seconds));
    theirs.push(await measured(stage, bare, seconds));
  }
  const after = await stored(stage);
  const accepted = ours.reduce((sum, { events }) => sum + events, 0);
  assert.equal(after.events - before.events, accepted, "every answered event is stored once");
  assert.equal(after.counted - before.counted, accepted, "and counted once");
  print("CPU per request of the bare route, µs", figure(median(cpu(theirs))));
  const rounds = (field: "per_second" | "p99_ms") =>
    ours.map((one, i): Round => [one[field], theirs[i]?.[field] ?? 0]);
  const commits: Round = [after.commits - before.commits, accepted];
  return [
    ratio(
      `POST /v1/events ÷ bare Fastify POST, ${CONNECTIONS} connections`,
      "requests/s",
      rounds("per_second"),
      BARS.single_events,
    ),
    amount("CPU per event of the answering process", "µs", median(cpu(ours)), BARS.event_cpu_us),
    ratio("its p99 ÷ p99 of the bare route", "ms", rounds("p99_ms"), BARS.event_p99),
    // Every transaction leaves its own mark (xmin) on the rows it wrote.
    ratio("commits per accepted event", "commits", [commits], atMost(0.06), "events"),
  ];
}

type Measured = LoadResult & { readonly cpu_us: number };

function cpu(rounds: readonly Measured[]): number[] {
  return rounds.map(({ cpu_us }) => cpu_us);
}

/** With what the answering process computed per event. */
async function measured(stage: Stage, side: Side, seconds: number): Promise<Measured> {
  const before = side.cpuMs() ?? 0;
  const result = await send(stage, side, SINGLE, CONNECTIONS, seconds);
  const cpu_us = (((side.cpuMs() ?? 0) - before) * 1_000) / result.events;
  return { ...result, cpu_us };
}

async function batches(stage: Stage, service: Side, { quick }: Options): Promise<Figure[]> {
  const seconds = quick ? 1 : SECONDS;
  const through = async (ask: Ask): Promise<number> => {
    const before = await stored(stage);
    const result = await send(stage, service, ask, BATCH_CONNECTIONS, seconds);
    const after = await stored(stage);
    assert.equal(after.events - before.events, result.events, "every new event is stored once");
    assert.equal(after.counted - before.counted, result.events, "and counted once");
    return result.per_second * BATCH;
  };
  // Neither is measured while its code is being compiled.
  await through(BATCHED);
  await through(REPEATED);
  const unique: number[] = [];
  const repeated: number[] = [];
  const copied: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    unique.push(await through(BATCHED));
    copied.push(await copy(stage, quick ? COPY_ROWS / 10 : COPY_ROWS));
    repeated.push(await through(REPEATED));
  }
  const against = (above: number[], below: number[]) =>
    above.map((one, i): Round => [one, below[i] ?? 0]);
  return [
    ratio(
      `batches of ${BATCH} over HTTP ÷ COPY of the same rows into the same table`,
      "events/s",
      against(unique, copied),
      atLeast(0.35),
    ),
    ratio(
      "batches with 50 % duplicates ÷ all unique",
      "events/s",
      against(repeated, unique),
      atLeast(0.8),
    ),
    await bytesPerEvent(stage),
  ];
}

const COPIED =
  "project_id, key, transaction_id, subscription_id, metric_id, period_no, at, received_at, " +
  "arrival, quantity, unique_value, value, properties, unbillable";

/** Rows as the service writes them, of a tenant that nobody asks for: same table, same indexes. */
async function copy({ connection, db }: Stage, count: number): Promise<number> {
  const project = randomUUID();
  const { subscription_id, metric_id } = await db.one<Record<string, string>>(sql`
    select subscription_id, metric_id from usage_events limit 1`);
  const start = randomUUID().slice(0, 13);
  const at = new Date().toISOString();
  const rows = Array.from({ length: count }, (_, n) => {
    const key = `${start}-7000-8000-${n.toString(16).padStart(12, "0")}`;
    const fields = [project, key, "\\N", subscription_id, metric_id, 1, at, at, n, 3];
    return `${fields.join("\t")}\t\\N\t\\N\t{"n": "3", "region": "eu-west"}\t\\N\n`;
  });
  const bytes = Buffer.from(rows.join(""));
  const from = performance.now();
  await copyIn(connection, `copy usage_events (${COPIED}) from stdin`, bytes);
  const seconds = (performance.now() - from) / 1_000;
  const found = await db.one<{ rows: number }>(sql`
    select count(*) as rows from usage_events where project_id = ${project}`);
  assert.equal(found.rows, count, "every row was copied");
  return count / seconds;
}

async function bytesPerEvent({ db }: Stage): Promise<Figure> {
  const { bytes, events } = await db.one<{ bytes: number; events: number }>(sql`
    select pg_total_relation_size('usage_events') as bytes, count(*) as events
      from usage_events`);
  return amount("disk per event, all indexes", "bytes", bytes / events, atMost(400));
}

async function send(
  stage: Stage,
  side: Side,
  ask: Ask,
  connections: number,
  seconds: number,
): Promise<LoadResult> {
  const mix = [{ ask, times: 1 }];
  const result = await load({
    url: side.url,
    headers: headersOf(stage),
    connections,
    seconds,
    mix,
  });
  assert.equal(result.refused, 0, "nothing is refused");
  return result;
}

/** Rows as they are: what was answered must be there, once. */
function stored({ db, profile }: Stage) {
  return db.one<{ events: number; counted: number; commits: number }>(sql`
    select count(*) as events, count(distinct xmin::text) as commits,
           (select coalesce(sum(events), 0)::bigint from usage_days) as counted
      from usage_events
     where project_id = ${profile.project_id}`);
}
