// Everything a worker does, started and stopped together: here, or in a thread of its own.

import { Worker } from "node:worker_threads";
import type { Config } from "../config.ts";
import type { Context } from "../context.ts";
import { addressPolicy } from "../domain/addresses.ts";
import { type Connection, Pool } from "../store/db.ts";
import { listen } from "../store/listen.ts";
import { CHANNEL } from "../store/webhooks.ts";
import { billingJob } from "./billing.ts";
import { Deliverer } from "./deliver-webhooks.ts";
import { type Job, startLoop } from "./loop.ts";
import { figuresJob, sweepJob, webhookSweepJob } from "./sweep.ts";
import { Sender } from "./webhook-client.ts";

/** A close may take longer than a request. */
const POOL = {
  max: 4,
  statement_timeout_ms: 60_000,
  lock_timeout_ms: 10_000,
  application_name: "dues worker",
};

/** For what is short-lived: as fast with this little, and the process holds 40 MB less. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };

/** What a thread is given: it opens connections of its own. */
export type Orders = {
  readonly config: Config;
  readonly connection: Connection;
  readonly secret_key: Uint8Array;
};

/**
 * Beside an API: what workers compute must not keep callers waiting. A thread that fails takes the
 * process along, as any other failure that nobody expected.
 */
export function startThread(orders: Orders): () => Promise<void> {
  const file = new URL("./thread.js", import.meta.url);
  const thread = new Worker(file, { workerData: orders, resourceLimits: LIMITS });
  let stopping = false;
  const gone = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  thread.on("error", (error) => {
    throw error;
  });
  thread.on("exit", (code) => {
    if (!stopping) throw new Error(`The workers' thread ended by itself (${code}).`);
  });
  return async () => {
    stopping = true;
    thread.postMessage("stop");
    await gone;
  };
}

/** With a pool for the workers alone. */
export function startWork(
  context: Omit<Context, "db" | "point">,
  connection: Connection,
): () => Promise<void> {
  const { portal_auto_invalidate } = context.config;
  const db = new Pool(connection, { ...POOL, portal_auto_invalidate });
  const stop = startWorkers({ ...context, db, point: db }, connection);
  return async () => {
    await stop();
    await db.end();
  };
}

/** Starts every job of a worker; returns what stops them, in order. */
export function startWorkers(context: Context, connection: Connection): () => Promise<void> {
  const { log } = context;
  const jobs: Job[] = [
    billingJob(context),
    sweepJob(context),
    webhookSweepJob(context),
    figuresJob(context),
  ];
  const loops = jobs.map((job) => startLoop(job, log));
  const deliverer = new Deliverer(context, new Sender(addressPolicy(context.config)));
  const claims = startLoop(deliverer.jobs.claims, log);
  const results = startLoop(deliverer.jobs.results, log);
  deliverer.wakeClaims = claims.wake;
  deliverer.wakeResults = results.wake;
  const listener = listen(connection, CHANNEL, (project) => deliverer.notify(project));
  return async () => {
    await listener.stop();
    await Promise.all([...loops, claims].map((loop) => loop.stop()));
    await results.stop();
    await deliverer.drain();
  };
}
