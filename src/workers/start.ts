// Starts and stops everything a worker does, in this thread or in one of its own.

import { Worker } from "node:worker_threads";
import type { Config } from "../config.ts";
import type { Context } from "../context.ts";
import { addressPolicy } from "../domain/addresses.ts";
import { ClusterDb } from "../store/cluster-db.ts";
import { WORKER_CONNECTION_NAME } from "../store/connection-names.ts";
import { type Connection, Pool } from "../store/db.ts";
import { CHANNEL } from "../store/feed.ts";
import { listen } from "../store/listen.ts";
import { ClusterPlacement, ONE_NODE } from "../store/placement.ts";
import { includeThread } from "../telemetry.ts";
import { backlogJob } from "./backlog.ts";
import { billingJob } from "./billing.ts";
import { Deliverer } from "./deliver-webhooks.ts";
import { Hold } from "./hold.ts";
import { type Job, startLoop } from "./loop.ts";
import { registerWorkerMetrics } from "./prometheus.ts";
import { analyticsTotalsJob, idempotencySweepJob, webhookSweepJob } from "./sweep.ts";
import { snapshotsOf, type ThreadRequest } from "./thread-messages.ts";
import { watchWalletsJob } from "./watch-wallets.ts";
import { WebhookClient } from "./webhook-client.ts";

/**
 * Longer timeouts than for requests (2.3 s and 2 s): a batch of 1,000 closes takes about 0.8 s. Not
 * much longer, because a connection that has gone silent is given up when they are over.
 */
const POOL = {
  max: 4,
  statement_timeout_ms: 8_000,
  lock_timeout_ms: 5_000,
  application_name: WORKER_CONNECTION_NAME,
};

/** Caps the young generation of the thread's heap: same speed, and the process holds 40 MB less. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };

/** What the thread is started with; it opens its own connections. */
export type ThreadData = {
  readonly config: Config;
  readonly connection: Connection;
  /** Whether the projects are spread over the nodes of a cluster. */
  readonly spread: boolean;
  readonly secret_key: Uint8Array;
  readonly activity: SharedArrayBuffer;
};

/**
 * Runs the workers in a thread of their own, for processes that also answer callers: a close
 * computes for tens of milliseconds at a time, and on one thread the p99 of callers was nearly 20
 * times its idle value (decision 9). If the thread fails, the process fails, as with any other
 * unexpected error.
 */
export function startWorkerThread(data: ThreadData): () => Promise<void> {
  const file = new URL("./thread.js", import.meta.url);
  const thread = new Worker(file, { workerData: data, resourceLimits: LIMITS });
  const excludeThread = includeThread(snapshotsOf(thread));
  let stopping = false;
  const exited = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  thread.on("error", (error) => {
    throw error;
  });
  thread.on("exit", (code) => {
    if (!stopping) throw new Error(`The workers' thread ended by itself (${code}).`);
  });
  return async () => {
    stopping = true;
    excludeThread();
    thread.postMessage("stop" satisfies ThreadRequest);
    await exited;
  };
}

/** Starts the workers with a connection pool that only they use. */
export function startWorkersWithPool(
  context: Omit<Context, "db" | "point" | "placement">,
  connection: Connection,
  spread: boolean,
): () => Promise<void> {
  const { portal_auto_invalidate } = context.config;
  const pool = new Pool(connection, { ...POOL, portal_auto_invalidate });
  // Reads that belong to no project need no place, so the placement may ask on the same pool.
  const placement = spread ? new ClusterPlacement(pool) : ONE_NODE;
  const limit = { max: POOL.max, wait_ms: POOL.lock_timeout_ms };
  const db = spread ? new ClusterDb(pool, placement, limit) : pool;
  const stop = startWorkers({ ...context, db, point: db, placement }, connection);
  return async () => {
    await stop();
    await pool.end();
  };
}

/** Starts every job of a worker; the returned function stops them in order. */
export function startWorkers(context: Context, connection: Connection): () => Promise<void> {
  const { log } = context;
  registerWorkerMetrics();
  const hold = new Hold(context);
  const jobs: Job[] = [
    hold.unlessHeld(billingJob(context)),
    hold.unlessHeld(watchWalletsJob(context)),
    hold.unlessHeld(idempotencySweepJob(context)),
    hold.unlessHeld(webhookSweepJob(context)),
    // Not held: they change no records, only sums and metrics.
    analyticsTotalsJob(context),
    backlogJob(context),
  ];
  const loops = jobs.map((job) => startLoop(job, log));
  const deliverer = new Deliverer(context, new WebhookClient(addressPolicy(context.config)));
  const claims = startLoop(hold.unlessHeld(deliverer.jobs.claims), log);
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
