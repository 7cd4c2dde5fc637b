// The housekeeping jobs: remove records that are past their retention, and fold the noted changes
// of the analytics totals into them, at most 1,000 rows at a time.

import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import { databaseTime } from "../store/db/database-time.ts";
import type { Queryable } from "../store/db/db.ts";
import * as analytics from "../store/feeds/analytics.ts";
import * as jobPieces from "../store/feeds/job-pieces.ts";
import * as retention from "../store/feeds/retention.ts";
import * as idempotency from "../store/tenants/idempotency.ts";
import * as keys from "../store/tenants/keys.ts";
import { ByNode } from "./by-node.ts";
import { addUp, type Job, type TickReport, untilNothing } from "./loop.ts";

const PAUSE_MS = 60_000;
const IDEMPOTENCY_KEPT_DAYS = 30;
const EXPIRED_TOKENS_KEPT_DAYS = 30;
const BATCH_MAX = 1_000;
const ANALYTICS_PAUSE_MS = 2_000;
const WEBHOOKS_PAUSE_MS = 600_000;
export const WEBHOOKS_KEPT_DAYS = 90;

/** Removes idempotency keys and their stored answers. */
export function idempotencySweepJob(context: Context): Job {
  const { db } = context;
  const about = {
    name: "idempotency_sweep",
    description: `Idempotency keys removed after ${IDEMPOTENCY_KEPT_DAYS} days.`,
    pause_ms: PAUSE_MS,
  };
  return overProjects(context, about, async (byNode) => {
    const before = await daysAgo(db, IDEMPOTENCY_KEPT_DAYS);
    // A scope is a project or an organization, and lives on a node as a project does. While a node
    // is away, those of organizations wait.
    return byNode.handle(
      async (all, filter) =>
        withIds(await idempotency.listScopesWithOld(all, before, BATCH_MAX, filter)),
      ({ id }) => idempotency.removeOlderThan(db.forProject(id), id, before, BATCH_MAX),
    );
  });
}

/** Removes tokens that nobody can use any more. */
export function tokenSweepJob({ db }: Context): Job {
  return {
    name: "token_sweep",
    description: `Tokens removed ${EXPIRED_TOKENS_KEPT_DAYS} days after they expired.`,
    pause_ms: PAUSE_MS,
    async tick() {
      const before = await daysAgo(db, EXPIRED_TOKENS_KEPT_DAYS);
      return untilNothing(await keys.removeExpired(db, before, BATCH_MAX));
    },
  };
}

/**
 * Removes messages that are delivered or given up, and their attempts; first what was queued for an
 * endpoint while it was removed.
 */
export function webhookSweepJob(context: Context, kept_days = WEBHOOKS_KEPT_DAYS): Job {
  const { db } = context;
  const about = {
    name: "webhook_sweep",
    description:
      `Webhook messages removed ${kept_days} days after they were delivered or given up, or ` +
      "because their endpoint was removed.",
    pause_ms: WEBHOOKS_PAUSE_MS,
  };
  return overProjects(context, about, async (byNode) => {
    const before = await daysAgo(db, kept_days);
    const dropped = await byNode.handle(
      async (all, filter) => withIds(await jobPieces.listWithDropped(all, filter)),
      ({ id }) => db.forProject(id).tx((tx) => jobPieces.dropPiece(tx, id)),
    );
    const removed = await byNode.handle(
      async (all, filter) => withIds(await retention.listWithOld(all, before, filter)),
      ({ id }) => db.forProject(id).tx((tx) => retention.removeFinished(tx, id, before, BATCH_MAX)),
    );
    return addUp([dropped, removed]);
  });
}

/** Keeps changes few that are not folded in yet: each read of the analytics adds them up. */
export function analyticsTotalsJob(context: Context): Job {
  const { db } = context;
  const about = {
    name: "analytics_totals",
    description: "Changes folded into the sums of the analytics.",
    pause_ms: ANALYTICS_PAUSE_MS,
  };
  return overProjects(context, about, (byNode) =>
    byNode.handle(
      async (all, filter) => withIds(await analytics.listWithDeltas(all, BATCH_MAX, filter)),
      ({ id }) => analytics.addDeltas(db.forProject(id), id, BATCH_MAX),
    ),
  );
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
