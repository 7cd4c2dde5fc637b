// Healthy endpoints at a steady pace, with and without one beside them that hangs and has many
// messages waiting: from the commit to the receipt.

import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { startWorkers } from "../../src/workers/start.ts";
import { type App, startApp } from "../support/app.ts";
import { emitPayments, register } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";

const PACE_MS = 50;
const P99_MS_MAX = 1_000;

export type Terms = {
  readonly healthy: number;
  readonly waiting: number;
  readonly events: number;
  readonly rounds: number;
};

/** Medians of the 99th percentiles, taken in turns: the machine's moods meet both alike. */
export async function fairRun(terms: Terms): Promise<{ alone_ms: number; beside_ms: number }> {
  const app = await startApp();
  const receiver = await Receiver.start();
  const hanging = createServer(() => {});
  await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
  for (let i = 0; i < terms.healthy; i++) await register(app, receiver.url(`/${i}`));
  const hung = await hangBeside(app, hanging, terms.waiting);
  const { stop } = startWorkers(app.context, app.connection);
  const alone: number[] = [];
  const beside: number[] = [];
  try {
    for (let round = 0; round < terms.rounds; round++) {
      await app.patch(`/v1/webhooks/${hung}`, { enabled: false });
      alone.push(await pace(app, receiver, terms));
      await app.patch(`/v1/webhooks/${hung}`, { enabled: true });
      beside.push(await pace(app, receiver, terms));
    }
  } finally {
    hanging.close();
    await stop();
    await receiver.close();
    await app.close();
  }
  expect(Math.max(...beside)).toBeLessThanOrEqual(P99_MS_MAX);
  return { alone_ms: median(alone), beside_ms: median(beside) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** An endpoint that takes connections and never answers, with many messages before the new ones. */
async function hangBeside(
  app: App,
  hanging: ReturnType<typeof createServer>,
  waiting: number,
): Promise<string> {
  const address = hanging.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { id } = await register(app, `http://127.0.0.1:${port}/hang`);
  await app.context.db.run(sql`
    insert into webhook_messages (project_id, position, id, event, body, created_at)
    select a.project_id, -n, gen_random_uuid(), 'payment.succeeded', '{}', statement_timestamp()
      from project_anchors a
     cross join generate_series(1, ${waiting}::integer) as n
     where a.project_id = ${app.profile.project_id}`);
  await app.context.db.run(sql`
    insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
    select m.project_id, ${id}::uuid, m.id, statement_timestamp()
      from webhook_messages m
     where m.project_id = ${app.profile.project_id} and m.position < 0`);
  return id;
}

/** 20 events a second; the 99th percentile of commit to receipt, over all healthy endpoints. */
async function pace(app: App, receiver: Receiver, { healthy, events }: Terms): Promise<number> {
  const from = receiver.received.length;
  const committed = new Map<number, number>();
  for (let no = 0; no < events; no++) {
    const next = performance.now() + PACE_MS;
    await emitPayments(app, no, 1);
    committed.set(no, performance.now());
    // The pace is the load itself, not a wait for something to happen.
    await pause(Math.max(0, next - performance.now()));
  }
  await receiver.until(from + healthy * events, P99_MS_MAX * 30);
  const waits = receiver.received
    .slice(from)
    .map(({ body, at }) => at - (committed.get(body.data.no) ?? 0))
    .toSorted((a, b) => a - b);
  return waits[Math.floor(waits.length * 0.99)] ?? Number.POSITIVE_INFINITY;
}
