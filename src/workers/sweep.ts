// The housekeeping jobs: remove records that are past their retention, and fold the noted changes
// of the analytics totals into them, at most 1,000 rows at a time.

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import type { ProjectId } from "../ids.ts";
import { databaseTime } from "../store/db/database-time.ts";
import type { Queryable } from "../store/db/db.ts";
import * as analytics from "../store/feeds/analytics.ts";
import * as jobPieces from "../store/feeds/job-pieces.ts";
import * as retention from "../store/feeds/retention.ts";
import * as idempotency from "../store/tenants/idempotency.ts";
import * as keys from "../store/tenants/keys.ts";
import { BatchLimits } from "./batch-limits.ts";
import { ByNode } from "./by-node.ts";
import { addUp, type Job, type TickReport, type Turn } from "./loop.ts";
import { dutyDone } from "./prometheus.ts";

const PAUSE_MS = 60_000;
export const IDEMPOTENCY_KEPT_DAYS = 30;
export const EXPIRED_TOKENS_KEPT_DAYS = 30;
const BATCH_MAX = 1_000;
const ANALYTICS_PAUSE_MS = 2_000;
const WEBHOOKS_PAUSE_MS = 600_000;
export const WEBHOOKS_KEPT_DAYS = 90;
/** After this, messages that had to stay are looked at again. */
const LOOK_AGAIN_MS = DAY_MS;

/** Removes idempotency keys and their stored answers. */
export function idempotencySweepJob(context: Context): Job {
  const { db } = context;
  const about = {
    name: "idempotency_sweep",
    description: `Idempotency keys removed after ${IDEMPOTENCY_KEPT_DAYS} days.`,
    pause_ms: PAUSE_MS,
  };
  const limits = new BatchLimits(BATCH_MAX);
  return overProjects(context, about, async (byNode) => {
    const before = await daysAgo(db, IDEMPOTENCY_KEPT_DAYS);
    // A scope is a project or an organization, and lives on a node as a project does. While a node
    // is away, those of organizations wait.
    return byNode.handle(
      async (all, filter) =>
        (await idempotency.listOld(all, before, BATCH_MAX, filter)).map((old) => {
          return { id: old.scope_id, old: old.keys };
        }),
      ({ id, old }) =>
        limits.take(id, {
          work: async (limit) =>
            counted(
              "idempotency_sweep",
              await idempotency.remove(db.forProject(id), id, old.slice(0, limit), before),
            ),
        }),
    );
  });
}

/** Removes tokens that nobody can use any more. */
export function tokenSweepJob({ db }: Context): Job {
  const limits = new BatchLimits(BATCH_MAX);
  return {
    name: "token_sweep",
    description: `Tokens removed ${EXPIRED_TOKENS_KEPT_DAYS} days after they expired.`,
    pause_ms: PAUSE_MS,
    async tick() {
      const before = await daysAgo(db, EXPIRED_TOKENS_KEPT_DAYS);
      return limits.take("tokens", {
        work: async (limit) => counted("token_sweep", await keys.removeExpired(db, before, limit)),
      });
    },
  };
}

/**
 * Removes messages that are delivered or given up, and their attempts; first what was queued for an
 * endpoint while it was removed.
 */
export function webhookSweepJob(
  context: Context,
  kept_days = WEBHOOKS_KEPT_DAYS,
  look_again_ms = LOOK_AGAIN_MS,
): Job {
  const { db } = context;
  const about = {
    name: "webhook_sweep",
    description:
      `Webhook messages removed ${kept_days} days after they were delivered or given up, or ` +
      "because their endpoint was removed.",
    pause_ms: WEBHOOKS_PAUSE_MS,
  };
  const drops = new BatchLimits(jobPieces.PIECE_MAX);
  const sweeps = new Sweeps(db, look_again_ms);
  return overProjects(context, about, async (byNode) => {
    const before = await daysAgo(db, kept_days);
    const dropped = await byNode.handle(
      async (all, filter) => withIds(await jobPieces.listWithDropped(all, filter)),
      ({ id }) =>
        drops.take(id, {
          work: async (limit) =>
            counted("drop", await db.forProject(id).tx((tx) => jobPieces.dropPiece(tx, id, limit))),
        }),
    );
    sweeps.begin();
    const removed = await byNode.handle(
      async (all, filter) => withIds(await retention.listWithOld(all, before, filter)),
      ({ id }) => sweeps.next(id, before),
    );
    return addUp([dropped, removed]);
  });
}

/**
 * How far the sweep of each project is. It goes on where it was, so that messages which have to
 * stay, a long queue of an endpoint that is switched off, are not looked at by every piece.
 */
class Sweeps {
  readonly #db: Context["db"];
  readonly #limits = new BatchLimits(BATCH_MAX);
  readonly #last = new Map<ProjectId, string>();
  readonly #look_again_ms: number;
  #began_ms = monotonicMs();

  constructor(db: Context["db"], look_again_ms: number) {
    this.#db = db;
    this.#look_again_ms = look_again_ms;
  }

  /** Called ahead of each round: begins all of them again when it is time. */
  begin(): void {
    if (monotonicMs() - this.#began_ms < this.#look_again_ms) return;
    this.#began_ms = monotonicMs();
    this.#last.clear();
  }

  next(project: ProjectId, before: Date): Promise<Turn> {
    const after = this.#last.get(project);
    const work = async (limit: number) => {
      const { removed, last, more } = await this.#db
        .forProject(project)
        .tx((tx) => retention.removeFinished(tx, project, before, limit, after));
      if (last !== undefined) this.#last.set(project, last);
      counted("webhook_sweep", removed);
      return { done: removed, more };
    };
    return this.#limits.take(project, { work });
  }
}

/** Keeps changes few that are not folded in yet: each read of the analytics adds them up. */
export function analyticsTotalsJob(context: Context): Job {
  const { db } = context;
  const about = {
    name: "analytics_totals",
    description: "Changes folded into the sums of the analytics.",
    pause_ms: ANALYTICS_PAUSE_MS,
  };
  const limits = new BatchLimits(BATCH_MAX);
  return overProjects(context, about, (byNode) =>
    byNode.handle(
      async (all, filter) => withIds(await analytics.listWithDeltas(all, BATCH_MAX, filter)),
      ({ id }) =>
        limits.take(id, {
          work: async (limit) =>
            counted("analytics_totals", await analytics.addDeltas(db.forProject(id), id, limit)),
        }),
    ),
  );
}

function counted(duty: string, done: number): number {
  dutyDone.inc({ duty }, done);
  return done;
}

/** By the clock that all processes share: what one with another removed would be missed by all. */
async function daysAgo(db: Queryable, days: number): Promise<Date> {
  return new Date((await databaseTime(db)).getTime() - days * DAY_MS);
}

function withIds<Id extends string>(ids: readonly Id[]): { readonly id: Id }[] {
  return ids.map((id) => ({ id }));
}

function overProjects(
  context: Context,
  about: Pick<Job, "name" | "description" | "pause_ms">,
  tick: (byNode: ByNode) => Promise<TickReport>,
): Job {
  const byNode = new ByNode(context, about.name);
  return { ...about, tick: () => tick(byNode), drain: () => byNode.drain() };
}
