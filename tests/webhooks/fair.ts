// Healthy endpoints at a steady pace, with and without one beside them that hangs and has many
// messages waiting: from the commit to the receipt.

import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { startWorkers } from "../../src/main.ts";
import { sql } from "../../src/store/sql.ts";
import { type App, startApp } from "../support/app.ts";
import { register, tell } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";

const PACE_MS = 50;
const P99_MS_MAX = 1_000;
const RATIO_MAX = 1.2;
/** Below this the machine's own noise decides. */
const NOISE_MS = 40;

export type Terms = {
  readonly healthy: number;
  readonly waiting: number;
  readonly events: number;
};

export async function fairRun(terms: Terms): Promise<{ alone_ms: number; beside_ms: number }> {
  const app = await startApp();
  const receiver = await Receiver.start();
  const hanging = createServer(() => {});
  await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
  for (let i = 0; i < terms.healthy; i++) await register(app, receiver.url(`/${i}`));
  const stop = startWorkers(app.context, app.connection);
  try {
    await pace(app, receiver, terms);
    const alone_ms = await pace(app, receiver, terms);
    await hangBeside(app, hanging, terms.waiting);
    const beside_ms = await pace(app, receiver, terms);
    expect(beside_ms).toBeLessThanOrEqual(P99_MS_MAX);
    expect(beside_ms).toBeLessThanOrEqual(Math.max(alone_ms * RATIO_MAX, NOISE_MS));
    return { alone_ms, beside_ms };
  } finally {
    hanging.close();
    await stop();
    await receiver.close();
    await app.close();
  }
}

/** An endpoint that takes connections and never answers, with many messages before the new ones. */
async function hangBeside(app: App, hanging: ReturnType<typeof createServer>, waiting: number) {
  const address = hanging.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { id } = await register(app, `http://127.0.0.1:${port}/hang`);
  await app.context.db.run(sql`
    with message as (
      insert into webhook_messages (project_id, id, event, body, created_at)
      select ${app.profile.project_id}, gen_random_uuid(), 'payment.succeeded', '{}',
             clock_timestamp()
        from generate_series(1, ${waiting}::integer)
      returning project_id, id)
    insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
    select project_id, ${id}, id, clock_timestamp()
      from message`);
}

/** 20 events a second; the 99th percentile of commit to receipt, over all healthy endpoints. */
async function pace(app: App, receiver: Receiver, { healthy, events }: Terms): Promise<number> {
  const from = receiver.received.length;
  const committed = new Map<number, number>();
  for (let no = 0; no < events; no++) {
    const next = performance.now() + PACE_MS;
    await tell(app, no, 1);
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
