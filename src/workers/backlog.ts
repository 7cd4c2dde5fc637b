// Measures how much work waits, for the metrics of the workers.

import type { Context } from "../context.ts";
import { closeBacklog, webhookBacklog } from "../store/backlog.ts";
import type { Job } from "./loop.ts";
import {
  oldestUnclosedPeriodSeconds,
  subscriptionsSetAside,
  webhookOldestDueSeconds,
  webhooksDue,
} from "./prometheus.ts";

const PAUSE_MS = 15_000;

/** A job, and not done at each scrape: /metrics answers at once even when the database does not. */
export function backlogJob({ db, clock }: Context): Job {
  return {
    name: "backlog",
    pause_ms: PAUSE_MS,
    async tick() {
      const now = clock.now();
      const webhooks = await webhookBacklog(db);
      webhooksDue.set(webhooks.due);
      webhookOldestDueSeconds.set(webhooks.oldest_due_s);
      const { set_aside, oldest_ended_at } = await closeBacklog(db, now);
      subscriptionsSetAside.set(set_aside);
      const late_ms = oldest_ended_at === null ? 0 : now.getTime() - oldest_ended_at.getTime();
      oldestUnclosedPeriodSeconds.set(late_ms / 1_000);
      // 0, so that the loop sleeps the full pause.
      return 0;
    },
  };
}
