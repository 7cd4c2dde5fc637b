// What the doors hand inward: every field visible in the type, nothing looked up elsewhere.

import type { Logger } from "pino";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Db, Queryable } from "./store/db.ts";

export type Context = {
  readonly config: Config;
  readonly db: Db;
  /** For reads of a row or two by their key, and nothing else: callers share its connections. */
  readonly point: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
  /** Signs cursors and encrypts what must not be read at rest. */
  readonly secret_key: Buffer;
};
