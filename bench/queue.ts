// Jobs claimed and completed per second by the queue of webhooks, without sending anything,
// against graphile-worker with its local queue and batched completion on the same database.

import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { Logger, run, runMigrations } from "graphile-worker";
import type { ProjectId } from "../src/ids.ts";
import { registerWebhook } from "../src/operations/webhooks/change.ts";
import { Pool } from "../src/store/db/db.ts";
import { sql } from "../src/store/db/sql.ts";
import * as attempts from "../src/store/feeds/attempts.ts";
import * as claims from "../src/store/feeds/claims.ts";
import { addDue } from "./books.ts";
import { atLeast, type Bench, type Round, ratio } from "./report.ts";
import { databaseUrl, openStage, SCHEDULER, type Stage } from "./stage.ts";

const JOBS = 20_000;
const ROUNDS = 3;
/** Messages of one claim, and of the other side's local queue. */
const BATCH = 500;
const CONNECTIONS = 4;

export const benchQueue: Bench = async () => {
  const stage = await openStage();
  const db = new Pool(stage.connection, {
    max: CONNECTIONS,
    statement_timeout_ms: 60_000,
    lock_timeout_ms: 10_000,
    application_name: "dues worker",
  });
  try {
    await register(stage);
    await runMigrations(graphileOptions(stage));
    const rounds: Round[] = [];
    // Interleaved, so that both meet the same moods of the machine.
    for (let round = 0; round < ROUNDS; round++) {
      const theirs = await throughGraphile(stage);
      rounds.push([await throughOurs(stage, db), theirs]);
    }
    return [ratio("claim and complete ÷ graphile-worker", "jobs/s", rounds, atLeast(1))];
  } finally {
    await db.end();
    await stage.end();
  }
};

async function register({ db, profile }: Stage): Promise<void> {
  const policy = { allow_private: true, allow_loopback: true };
  const wanted = { url: "http://127.0.0.1:65535/", events: ["payment.succeeded" as const] };
  const terms = { policy, secret_key: randomBytes(32) };
  const project = profile.project_id as ProjectId;
  await db.tx((tx) => registerWebhook(tx, project, wanted, terms, SCHEDULER, new Date()));
}

/** What its documentation advises for throughput. */
function graphileOptions({ connection }: Stage) {
  return {
    connectionString: databaseUrl(connection),
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    preset: {
      worker: {
        concurrentJobs: 24,
        maxPoolSize: CONNECTIONS,
        pollInterval: 2_000,
        preparedStatements: true,
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        localQueue: { size: BATCH, refetchDelay: { durationMs: 10 } },
      },
    },
  };
}

async function throughGraphile(stage: Stage): Promise<number> {
  await stage.db.run(sql`
    select graphile_worker.add_jobs(array(
      select json_populate_record(
               null::graphile_worker.job_spec,
               json_build_object('identifier', 'nothing', 'payload', json_build_object('no', no)))
        from generate_series(1, ${JOBS}::integer) as no))`);
  let done = 0;
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const nothing = () => {
    done += 1;
    if (done === JOBS) finish();
  };
  const start = performance.now();
  const runner = await run({ ...graphileOptions(stage), taskList: { nothing } });
  await finished;
  // The last completions are written before the clock stops.
  await runner.stop();
  const seconds = (performance.now() - start) / 1_000;
  const { left } = await stage.db.one<{ left: number }>(sql`
    select count(*) as left from graphile_worker.jobs`);
  assert.equal(left, 0, "each job of graphile-worker was completed");
  assert.equal(done, JOBS, "each job of graphile-worker was run once");
  return JOBS / seconds;
}

/** Works like a worker: what was taken is recorded while the next is being taken. */
async function throughOurs(stage: Stage, db: Pool): Promise<number> {
  const project = stage.profile.project_id as ProjectId;
  await addDue(stage, { count: JOBS, body: '{"data":{}}' });
  const before = await countAttempts(stage);
  const limits = { total: BATCH, each: BATCH, shares: { new: BATCH, failing: 0 }, endpoints: [] };
  const start = performance.now();
  let done = 0;
  let recording = Promise.resolve(0);
  for (;;) {
    const rows = await claims.claim(db, project, limits);
    done += await recording;
    if (rows.length === 0) break;
    recording = attempts.recordDelivered(db, project, rows.map(deliveredOf));
  }
  const seconds = (performance.now() - start) / 1_000;
  const { left } = await stage.db.one<{ left: number }>(sql`
    select count(*) as left from webhook_queue`);
  assert.deepEqual([done, left], [JOBS, 0], "each delivery was recorded");
  assert.equal((await countAttempts(stage)) - before, JOBS, "each delivery was logged once");
  return JOBS / seconds;
}

async function countAttempts({ db }: Stage): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`select count(*) from webhook_attempts`);
  return count;
}

function deliveredOf(
  row: Pick<claims.Claimed, "endpoint_id" | "message_id" | "event" | "claim" | "attempt">,
): attempts.AttemptResult {
  const { endpoint_id, message_id, event, claim, attempt } = row;
  const outcome = { status: "delivered", http_status: 204, error: null } as const;
  const rest = { duration_ms: 0, response_excerpt: null, retry_ms: null };
  return { endpoint_id, message_id, event, claim, attempt: attempt + 1, ...outcome, ...rest };
}
