// Measures how much work waits, for the metrics of the workers.

import type { Context } from "../context.ts";
import { COUNTED_MAX, closeBacklog, webhookBacklog } from "../store/work/backlog.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";
import {
  oldestUnclosedPeriodSeconds,
  subscriptionsSetAside,
  webhookOldestDueSeconds,
  webhooksDue,
} from "./prometheus.ts";

const NAME = "backlog";
const PAUSE_MS = 15_000;

/** A job, and not done at each scrape: /metrics answers at once even when the database does not. */
export function backlogJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  return {
    name: NAME,
    description: "Measurements of the work that waits, for /metrics.",
    pause_ms: PAUSE_MS,
    async tick() {
      const now = context.clock.now();
      const webhooks = await byNode.list(async (db, filter) => [await webhookBacklog(db, filter)]);
      webhooksDue.set(Math.min(COUNTED_MAX, sum(webhooks.map(({ due }) => due))));
      webhookOldestDueSeconds.set(Math.max(0, ...webhooks.map((part) => part.oldest_due_s)));
      const closes = await byNode.list(async (db, filter) => [await closeBacklog(db, now, filter)]);
      subscriptionsSetAside.set(Math.min(COUNTED_MAX, sum(closes.map((part) => part.set_aside))));
      const late_ms = closes.map(({ oldest_ended_at }) =>
        oldest_ended_at === null ? 0 : now.getTime() - oldest_ended_at.getTime(),
      );
      oldestUnclosedPeriodSeconds.set(Math.max(0, ...late_ms) / 1_000);
      return { done: 1, more: false };
    },
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
