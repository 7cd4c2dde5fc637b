// Measures how much work waits for each duty, and for how long, for the metrics of the workers.

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import type { Queryable } from "../store/db/db.ts";
import type { ProjectFilter } from "../store/db/project-filter.ts";
import { COUNTED_MAX, closeBacklog, webhookBacklog } from "../store/work/backlog.ts";
import * as waiting from "../store/work/waiting.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";
import {
  dutyBacklog,
  dutyOldestSeconds,
  oldestUnclosedPeriodSeconds,
  STARTED_BY_CALLS,
  subscriptionsSetAside,
  webhookOldestDueSeconds,
  webhooksDue,
} from "./prometheus.ts";
import { EXPIRED_TOKENS_KEPT_DAYS, IDEMPOTENCY_KEPT_DAYS, WEBHOOKS_KEPT_DAYS } from "./sweep.ts";

const NAME = "backlog";
const PAUSE_MS = 15_000;

/** What waits in a part of the projects. */
type Measure = (db: Queryable, filter: ProjectFilter, now: Date) => Promise<waiting.Waiting>;

const before = (now: Date, days: number) => new Date(now.getTime() - days * DAY_MS);

const MEASURES: Readonly<Record<string, Measure>> = {
  ...Object.fromEntries(
    (Object.keys(waiting.BILLING) as waiting.BillingDuty[]).map((duty): [string, Measure] => [
      duty,
      (db, filter, now) => waiting.waitingFor(db, duty, now, filter),
    ]),
  ),
  idempotency_sweep: (db, filter, now) =>
    waiting.oldIdempotencyKeys(db, before(now, IDEMPOTENCY_KEPT_DAYS), filter),
  webhook_sweep: (db, filter, now) =>
    waiting.oldMessages(db, before(now, WEBHOOKS_KEPT_DAYS), filter),
};

/** A job, and not done at each scrape: /metrics answers at once even when the database does not. */
export function backlogJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  const folding = new Folding(context, byNode);
  return {
    name: NAME,
    description: "Measurements of the work that waits, for /metrics.",
    pause_ms: PAUSE_MS,
    async tick() {
      const now = context.clock.now();
      await measureDeliveries(byNode);
      await measureCloses(byNode, now);
      for (const [duty, measure] of Object.entries(MEASURES)) {
        show(duty, await byNode.list(async (db, filter) => [await measure(db, filter, now)]));
      }
      const expired = before(now, EXPIRED_TOKENS_KEPT_DAYS);
      show("token_sweep", [await waiting.expiredTokens(context.db, expired)]);
      show("analytics_totals", [await folding.measure()]);
      await measureStartedJobs(byNode);
      return { done: 1, more: false };
    },
  };
}

/** Shows what waits for a duty, measured in parts. */
function show(duty: string, parts: readonly waiting.Waiting[]): void {
  dutyBacklog.set({ duty }, sum(parts.map(({ count }) => count)));
  dutyOldestSeconds.set({ duty }, Math.max(0, ...parts.map(({ oldest_s }) => oldest_s)));
}

async function measureDeliveries(byNode: ByNode): Promise<void> {
  const parts = await byNode.list(async (db, filter) => [await webhookBacklog(db, filter)]);
  const due = Math.min(COUNTED_MAX, sum(parts.map((part) => part.due)));
  const oldest_s = Math.max(0, ...parts.map((part) => part.oldest_due_s));
  webhooksDue.set(due);
  webhookOldestDueSeconds.set(oldest_s);
  show("delivery", [{ count: due, oldest_s }]);
}

async function measureCloses(byNode: ByNode, now: Date): Promise<void> {
  const closes = await byNode.list(async (db, filter) => [await closeBacklog(db, now, filter)]);
  subscriptionsSetAside.set(Math.min(COUNTED_MAX, sum(closes.map((part) => part.set_aside))));
  const late_ms = closes.map(({ oldest_ended_at }) =>
    oldest_ended_at === null ? 0 : now.getTime() - oldest_ended_at.getTime(),
  );
  oldestUnclosedPeriodSeconds.set(Math.max(0, ...late_ms) / 1_000);
}

async function measureStartedJobs(byNode: ByNode): Promise<void> {
  const started = await byNode.list(waiting.startedJobs);
  for (const kind of STARTED_BY_CALLS) {
    const ofKind = started.filter((one) => one.kind === kind);
    show(
      kind,
      ofKind.map(({ jobs, oldest_s }) => ({ count: jobs, oldest_s })),
    );
  }
}

/**
 * Changes that wait to be folded do not say since when: one that was there before, and still is,
 * has waited for at least that long.
 */
class Folding {
  readonly #context: Pick<Context, "db">;
  readonly #byNode: ByNode;
  #known: { readonly key: waiting.DeltaKey; readonly seen_ms: number } | undefined;

  constructor(context: Pick<Context, "db">, byNode: ByNode) {
    this.#context = context;
    this.#byNode = byNode;
  }

  async measure(): Promise<waiting.Waiting> {
    const parts = await this.#byNode.list(async (db, filter) => [
      await waiting.unfolded(db, filter),
    ]);
    if (!(await this.#isThere())) {
      const key = parts.find(({ last }) => last !== null)?.last ?? undefined;
      this.#known = key && { key, seen_ms: monotonicMs() };
    }
    const oldest_s = this.#known === undefined ? 0 : (monotonicMs() - this.#known.seen_ms) / 1_000;
    return { count: sum(parts.map(({ count }) => count)), oldest_s };
  }

  async #isThere(): Promise<boolean> {
    if (this.#known === undefined) return false;
    const { key } = this.#known;
    return waiting.isUnfolded(this.#context.db.forProject(key.project_id), key);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
