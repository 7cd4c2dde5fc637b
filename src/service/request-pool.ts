// The connections that requests use, and how long they wait for what: within 5 seconds a request is
// answered, also when the database is away or something holds it up.

import type { Config } from "../config.ts";
import { limitByNode } from "../store/cluster/cluster-db.ts";
import { API_CONNECTION_NAME } from "../store/db/connection-names.ts";
import { type Connection, Pool } from "../store/db/db.ts";
import { Pipeline } from "../store/db/pipeline.ts";
import { type Opening, withMigrated } from "./open-store.ts";

/**
 * A request waits for a connection for at most LOCK_MS, and then for no statement longer than this
 * and the 0.3 s by which a silent connection is found: 503 within 5 s when the database is away.
 */
const STATEMENT_MS = 2_300;
const LOCK_MS = 2_000;
/** Two waits for a lock, and half a second for connections: a request is answered within 5 s. */
const TRIES_MS = 4_500;
/** When somebody has waited so long for a connection, whoever comes is refused at once. */
const QUEUE_MS = 1_000;
const PIPELINES = 2;

const REQUESTS = {
  statement_timeout_ms: STATEMENT_MS,
  lock_timeout_ms: LOCK_MS,
  tries_ms: TRIES_MS,
  application_name: API_CONNECTION_NAME,
};

export function requestPool(connection: Connection, config: Config): Pool {
  return new Pool(connection, { ...REQUESTS, max: config.pool_max, queue_ms: QUEUE_MS });
}

/** Opens and migrates the configured database, runs `work` on connections to it, closes both. */
export function withRequestPool<T>(
  config: Config,
  how: Omit<Opening, "hold">,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  return withMigrated(config, how, async ({ connection }) => {
    const pool = requestPool(connection, config);
    try {
      return await work(pool);
    } finally {
      await pool.end();
    }
  });
}

/** What handlers read and write through; `spread`: over the nodes of a cluster. */
export function requestAccess(
  pool: Pool,
  connection: Connection,
  { pool_max }: Config,
  spread: boolean,
) {
  const pipeline = () => new Pipeline(connection, { ...REQUESTS, max: PIPELINES });
  return limitByNode(pool, pipeline, { max: pool_max, wait_ms: LOCK_MS }, spread);
}
