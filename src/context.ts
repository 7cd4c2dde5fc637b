// What HTTP handlers and workers are given: configuration, database, clock, log and secret key.

import type { Logger } from "pino";
import type { ApiActivity } from "./api-activity.ts";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Placement } from "./store/cluster/placement.ts";
import type { Db, PointReads } from "./store/db/db.ts";

export type Context = {
  readonly config: Config;
  readonly db: Db;
  /**
   * Two connections that all requests share, without waiting for each other's answers. Only for
   * reads of a row or two by key: a slow statement would delay everyone behind it.
   */
  readonly point: PointReads;
  /** Which node of a cluster has a project; plain PostgreSQL is one node. */
  readonly placement: Placement;
  readonly api_activity: ApiActivity;
  readonly clock: Clock;
  readonly log: Logger;
  /** The key that signs cursors and encrypts webhook secrets in the database. */
  readonly secret_key: Buffer;
};
