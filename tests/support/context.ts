// What handlers and workers are given, made of what a test cares about.

import { ApiActivity } from "../../src/api-activity.ts";
import type { Clock } from "../../src/clock.ts";
import type { Config } from "../../src/config.ts";
import type { Context } from "../../src/context.ts";
import { makeLog } from "../../src/log.ts";
import { ONE_NODE, type Placement } from "../../src/store/cluster/placement.ts";
import type { Db, PointReads } from "../../src/store/db/db.ts";

export function testContext(parts: {
  config: Config;
  db: Db;
  point?: PointReads;
  placement?: Placement;
  clock: Clock;
  secret_key: Buffer;
}): Context {
  const { config, db, point = db, placement = ONE_NODE } = parts;
  const api_activity = new ApiActivity();
  return { api_activity, ...parts, point, placement, log: makeLog(config) };
}
