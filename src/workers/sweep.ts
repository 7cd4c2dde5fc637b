// Removes what has outlived its use, a little at a time.

import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import * as idempotency from "../store/idempotency.ts";
import type { Job } from "./loop.ts";

const PAUSE_MS = 60_000;
const KEYS_KEPT_DAYS = 30;
const BATCH_MAX = 1_000;

export function sweepJob({ db, clock }: Context): Job {
  return {
    name: "sweep",
    pause_ms: PAUSE_MS,
    tick() {
      const before = new Date(clock.now().getTime() - KEYS_KEPT_DAYS * DAY_MS);
      return idempotency.removeOlderThan(db, before, BATCH_MAX);
    },
  };
}
