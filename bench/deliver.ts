// Webhooks delivered per second through the queue, against a bare loop of posts to the same
// receiver; and how long a message takes from its commit to its receipt.

import { strict as assert } from "node:assert";
import { createHmac, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { Agent, request } from "undici";
import { readConfig } from "../src/config.ts";
import type { Context } from "../src/context.ts";
import type { ProjectId } from "../src/ids.ts";
import { emit } from "../src/operations/emit.ts";
import { registerWebhook } from "../src/operations/webhooks/change.ts";
import { Pool } from "../src/store/db/db.ts";
import { sql } from "../src/store/db/sql.ts";
import { startWorkers } from "../src/workers/start.ts";
import { testContext } from "../tests/support/context.ts";
import { factOf } from "../tests/support/facts.ts";
import { BARS } from "./bars.ts";
import { addDue } from "./books.ts";
import { amount, atMost, type Bench, type Figure, type Round, ratio } from "./report.ts";
import { figure, openStage, print, SCHEDULER, type Side, type Stage, startSide } from "./stage.ts";

const MESSAGES = 10_000;
const ROUNDS = 3;
const CONNECTIONS = 32;
const PACED = 1_000;
const PER_SECOND = 200;
const WORKER_POOL = {
  max: 4,
  statement_timeout_ms: 60_000,
  lock_timeout_ms: 10_000,
  application_name: "dues worker",
};
const BODY = JSON.stringify({
  event: "payment.succeeded",
  created_at: "2026-01-01T00:00:00.000Z",
  data: { payment: { id: "x".repeat(36), amount_cents: 4_900 }, pad: "x".repeat(400) },
});

export const benchDeliver: Bench = async () => {
  const stage = await openStage();
  const sink = await startSide("sink", {});
  const closing = [() => stage.end(), () => sink.stop()];
  try {
    // Connections of their own, as the worker of a service has.
    const db = new Pool(stage.connection, WORKER_POOL);
    closing.push(() => db.end());
    const context = contextOf(db);
    await register(stage, context, sink);
    return [await compare(stage, context, sink), await paced(stage, context, sink)];
  } finally {
    for (const close of closing.reverse()) await close();
  }
};

function contextOf(db: Pool): Context {
  const config = readConfig({ LOG_LEVEL: "error", WEBHOOK_ALLOW_PRIVATE: "1" });
  const clock = { now: () => new Date() };
  return testContext({ config, db, clock, secret_key: randomBytes(32) });
}

async function register(stage: Stage, { db, secret_key }: Context, sink: Side): Promise<void> {
  const terms = { policy: { allow_private: true, allow_loopback: true }, secret_key };
  const wanted = { url: `${sink.url}/hook`, events: ["payment.succeeded" as const] };
  const project = stage.profile.project_id as ProjectId;
  await db.tx((tx) => registerWebhook(tx, project, wanted, terms, SCHEDULER, new Date()));
}

/** Interleaved, so that both meet the same moods of the machine. */
async function compare(stage: Stage, context: Context, sink: Side) {
  const rounds: Round[] = [];
  // Until both sides' code is compiled: the queue's first round takes twice as long as its second.
  await bareLoop(sink, MESSAGES);
  await throughQueue(stage, context, sink);
  for (let round = 0; round < ROUNDS; round++) {
    const bare = await bareLoop(sink, MESSAGES);
    rounds.push([await throughQueue(stage, context, sink), bare]);
  }
  return ratio("deliveries/s ÷ bare undici loop", "deliveries/s", rounds, BARS.deliveries);
}

/** The least that any client must do: sign and post, so many at a time. */
async function bareLoop(sink: Side, count: number): Promise<number> {
  const dispatcher = new Agent({ connections: CONNECTIONS, pipelining: 1 });
  const start = performance.now();
  let sent = 0;
  const post = async () => {
    while (sent < count) {
      const id = String(sent++);
      const answer = await request(`${sink.url}/hook`, {
        dispatcher,
        method: "POST",
        headers: {
          "content-type": "application/json; charset=utf-8",
          "user-agent": "bench",
          "x-service-event": "payment.succeeded",
          "x-service-signature": createHmac("sha256", "secret").update(BODY).digest("hex"),
          "webhook-id": id,
          "webhook-timestamp": "1767225600",
          "webhook-signature": createHmac("sha256", "k").update(id).update(BODY).digest("base64"),
        },
        body: BODY,
      });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, post));
  const seconds = (performance.now() - start) / 1_000;
  await dispatcher.close();
  return count / seconds;
}

/** The queue is full when the worker starts, and empty when the clock stops. */
async function throughQueue(stage: Stage, context: Context, sink: Side) {
  await addDue(stage, { count: MESSAGES, body: BODY });
  const before = await countAt(sink);
  const start = performance.now();
  const { stop } = startWorkers(context, stage.connection);
  // Asked of the receiver: counting the queue would be work for the database that is measured.
  while ((await countAt(sink)) - before < MESSAGES) await pause(20);
  // The last results are written before the clock stops.
  await stop();
  const seconds = (performance.now() - start) / 1_000;
  const { left } = await stage.db.one<{ left: number }>(sql`
    select count(*) as left from webhook_queue`);
  assert.equal(left, 0, "each was recorded");
  assert.equal((await countAt(sink)) - before, MESSAGES, "each came once");
  return MESSAGES / seconds;
}

async function countAt(sink: Side): Promise<number> {
  const answer = await request(`${sink.url}/count`);
  return ((await answer.body.json()) as { count: number }).count;
}

/** Commits at a steady pace; the receiver notes when each came in. */
async function paced(stage: Stage, context: Context, sink: Side): Promise<Figure> {
  const project = stage.profile.project_id as ProjectId;
  const { stop } = startWorkers(context, stage.connection);
  const committed = new Map<number, number>();
  const wall = () => performance.timeOrigin + performance.now();
  const from = wall() + 200;
  const commits: Promise<void>[] = [];
  const commit = async (no: number) => {
    const webhook = { event: "payment.succeeded" as const, data: { no, pad: "x".repeat(400) } };
    const fact = factOf("payment.recorded", project, webhook);
    await stage.db.tx((tx) => emit(tx, project, [fact], SCHEDULER, new Date()));
    committed.set(no, wall());
  };
  for (let no = 0; no < PACED; no++) {
    await pause(Math.max(0, from + (no * 1_000) / PER_SECOND - wall()));
    commits.push(commit(no));
  }
  await Promise.all(commits);
  let arrived: [no: number, at: number][] = [];
  while (arrived.length < PACED) {
    await pause(50);
    const answer = await request(`${sink.url}/arrivals`);
    arrived = (await answer.body.json()) as [number, number][];
  }
  await stop();
  const waits = arrived.map(([no, at]) => at - (committed.get(no) ?? 0)).toSorted((a, b) => a - b);
  const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0;
  print("p50 / p99 of that, ms", `${figure(at(0.5))} / ${figure(at(0.99))}`);
  return amount(`commit to receipt at ${PER_SECOND}/s, p95`, "ms", at(0.95), atMost(50));
}
