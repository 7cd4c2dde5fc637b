// Starts and stops everything a worker does, in the thread that calls it.

import type { Context } from "../context.ts";
import { addressPolicy } from "../domain/addresses.ts";
import { ClusterDb, Nodes } from "../store/cluster/cluster-db.ts";
import { ClusterPlacement, ONE_NODE } from "../store/cluster/placement.ts";
import { WORKER_CONNECTION_NAME } from "../store/db/connection-names.ts";
import { type Connection, Pool } from "../store/db/db.ts";
import { listen } from "../store/db/listen.ts";
import { CHANNEL } from "../store/feeds/feed.ts";
import { backlogJob } from "./backlog.ts";
import { billingJob } from "./billing.ts";
import { ClockGuard } from "./clock-guard.ts";
import { Deliverer } from "./deliver-webhooks.ts";
import { Hold } from "./hold.ts";
import { type Job, startLoop, type Workers } from "./loop.ts";
import { registerWorkerMetrics } from "./prometheus.ts";
import {
  analyticsTotalsJob,
  idempotencySweepJob,
  tokenSweepJob,
  webhookSweepJob,
} from "./sweep.ts";
import { watchWalletsJob } from "./watch-wallets.ts";
import { WebhookClient } from "./webhook-client.ts";
import { webhookJobsJob } from "./webhook-jobs.ts";

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

/** Starts the workers with a connection pool that only they use. */
export function startWorkersWithPool(
  context: Omit<Context, "db" | "point" | "placement">,
  connection: Connection,
  spread: boolean,
): Workers {
  const pool = new Pool(connection, POOL);
  // Reads that belong to no project need no place, so the placement may ask on the same pool.
  const placement = spread ? new ClusterPlacement(pool) : ONE_NODE;
  const limit = { max: POOL.max, wait_ms: POOL.lock_timeout_ms };
  const db = spread ? new ClusterDb(pool, new Nodes(placement, limit), limit) : pool;
  const workers = startWorkers({ ...context, db, point: db, placement }, connection);
  const stop = async () => {
    await workers.stop();
    await pool.end();
  };
  return { ...workers, stop };
}

/** Starts every job of a worker. They are stopped in order: results come after the last claims. */
export function startWorkers(context: Context, connection: Connection): Workers {
  registerWorkerMetrics();
  const hold = new Hold(context);
  const guard = new ClockGuard(context);
  const inTime = (job: Job) => hold.unlessHeld(guard.whileRight(job));
  const jobs: Job[] = [
    inTime(billingJob(context)),
    inTime(watchWalletsJob(context)),
    inTime(idempotencySweepJob(context)),
    inTime(tokenSweepJob(context)),
    inTime(webhookSweepJob(context)),
    hold.unlessHeld(webhookJobsJob(context)),
    // Not held: they change no records, only sums and metrics.
    analyticsTotalsJob(context),
    backlogJob(context),
  ];
  const start = (job: Job) => startLoop(job, context);
  const loops = jobs.map(start);
  const deliverer = new Deliverer(context, new WebhookClient(addressPolicy(context.config)));
  const claims = start(hold.unlessHeld(deliverer.jobs.claims));
  const results = start(deliverer.jobs.results);
  deliverer.wakeClaims = claims.wake;
  deliverer.wakeResults = results.wake;
  const listener = listen(connection, CHANNEL, (project) => deliverer.notify(project));
  const stop = async () => {
    await listener.stop();
    await Promise.all([...loops, claims].map((loop) => loop.stop()));
    await results.stop();
    await deliverer.drain();
  };
  return { jobs: () => [...loops, claims, results].map((loop) => loop.lastRun()), stop };
}
