// Removes what has outlived its use and adds up what was noted, a little at a time.

import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import * as analytics from "../store/analytics.ts";
import * as idempotency from "../store/idempotency.ts";
import { removeFinished } from "../store/webhook-retention.ts";
import type { Job } from "./loop.ts";

const PAUSE_MS = 60_000;
const KEYS_KEPT_DAYS = 30;
const BATCH_MAX = 1_000;
const FIGURES_PAUSE_MS = 2_000;
const WEBHOOKS_PAUSE_MS = 600_000;
const WEBHOOKS_KEPT_DAYS = 90;

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

/** Messages that are delivered or given up, and their attempts. */
export function webhookSweepJob({ db, clock }: Context): Job {
  return {
    name: "webhook sweep",
    pause_ms: WEBHOOKS_PAUSE_MS,
    tick() {
      const before = new Date(clock.now().getTime() - WEBHOOKS_KEPT_DAYS * DAY_MS);
      return db.tx((tx) => removeFinished(tx, before, BATCH_MAX));
    },
  };
}

/** Notes of changed figures, added up before there are so many that reading them takes time. */
export function figuresJob({ db }: Context): Job {
  return {
    name: "figures",
    pause_ms: FIGURES_PAUSE_MS,
    tick: () => db.tx((tx) => analytics.addDeltas(tx, BATCH_MAX)),
  };
}
