// The housekeeping jobs: remove records that are past their retention, and fold the noted changes
// of the analytics totals into them, at most 1,000 rows at a time.

import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import * as analytics from "../store/analytics.ts";
import * as idempotency from "../store/idempotency.ts";
import * as retention from "../store/webhook-retention.ts";
import type { Job } from "./loop.ts";

const PAUSE_MS = 60_000;
const IDEMPOTENCY_KEPT_DAYS = 30;
const BATCH_MAX = 1_000;
const ANALYTICS_PAUSE_MS = 2_000;
const WEBHOOKS_PAUSE_MS = 600_000;
const WEBHOOKS_KEPT_DAYS = 90;

/** Removes idempotency keys and their stored answers. */
export function idempotencySweepJob({ db, clock }: Context): Job {
  return {
    name: "idempotency_sweep",
    pause_ms: PAUSE_MS,
    async tick() {
      const before = new Date(clock.now().getTime() - IDEMPOTENCY_KEPT_DAYS * DAY_MS);
      let removed = 0;
      for (const scope of await idempotency.listScopesWithOld(db, before, BATCH_MAX)) {
        removed += await idempotency.removeOlderThan(db, scope, before, BATCH_MAX);
      }
      return removed;
    },
  };
}

/** Removes messages that are delivered or given up, and their attempts. */
export function webhookSweepJob({ db, clock }: Context): Job {
  return {
    name: "webhook_sweep",
    pause_ms: WEBHOOKS_PAUSE_MS,
    async tick() {
      const before = new Date(clock.now().getTime() - WEBHOOKS_KEPT_DAYS * DAY_MS);
      let removed = 0;
      for (const project of await retention.listWithOld(db, before)) {
        removed += await db.tx((tx) => retention.removeFinished(tx, project, before, BATCH_MAX));
      }
      return removed;
    },
  };
}

/** Each read of the analytics adds up the changes that are not folded in yet: keeps them few. */
export function analyticsTotalsJob({ db }: Context): Job {
  return {
    name: "analytics_totals",
    pause_ms: ANALYTICS_PAUSE_MS,
    async tick() {
      let added = 0;
      for (const project of await analytics.listWithDeltas(db, BATCH_MAX)) {
        added += await analytics.addDeltas(db, project, BATCH_MAX);
      }
      return added;
    },
  };
}
