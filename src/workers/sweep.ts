// The housekeeping jobs: remove records that are past their retention, and fold the noted changes
// of the analytics totals into them, at most 1,000 rows at a time.

import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import * as analytics from "../store/analytics.ts";
import * as idempotency from "../store/idempotency.ts";
import * as retention from "../store/webhook-retention.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";

const PAUSE_MS = 60_000;
const IDEMPOTENCY_KEPT_DAYS = 30;
const BATCH_MAX = 1_000;
const ANALYTICS_PAUSE_MS = 2_000;
const WEBHOOKS_PAUSE_MS = 600_000;
const WEBHOOKS_KEPT_DAYS = 90;

/** Removes idempotency keys and their stored answers. */
export function idempotencySweepJob(context: Context): Job {
  const { db, clock } = context;
  return overProjects(context, "idempotency_sweep", PAUSE_MS, async (byNode) => {
    const before = new Date(clock.now().getTime() - IDEMPOTENCY_KEPT_DAYS * DAY_MS);
    // A scope is a project or an organization, and lives on a node as a project does. While a node
    // is away, those of organizations wait.
    return byNode.handle(
      async (all, filter) =>
        ofIds(await idempotency.listScopesWithOld(all, before, BATCH_MAX, filter)),
      ({ id }) => idempotency.removeOlderThan(db.forProject(id), id, before, BATCH_MAX),
    );
  });
}

/** Removes messages that are delivered or given up, and their attempts. */
export function webhookSweepJob(context: Context): Job {
  const { db, clock } = context;
  return overProjects(context, "webhook_sweep", WEBHOOKS_PAUSE_MS, async (byNode) => {
    const before = new Date(clock.now().getTime() - WEBHOOKS_KEPT_DAYS * DAY_MS);
    return byNode.handle(
      async (all, filter) => ofIds(await retention.listWithOld(all, before, filter)),
      ({ id }) => db.forProject(id).tx((tx) => retention.removeFinished(tx, id, before, BATCH_MAX)),
    );
  });
}

/** Each read of the analytics adds up the changes that are not folded in yet: keeps them few. */
export function analyticsTotalsJob(context: Context): Job {
  const { db } = context;
  return overProjects(context, "analytics_totals", ANALYTICS_PAUSE_MS, async (byNode) => {
    return byNode.handle(
      async (all, filter) => ofIds(await analytics.listWithDeltas(all, BATCH_MAX, filter)),
      ({ id }) => analytics.addDeltas(db.forProject(id), id, BATCH_MAX),
    );
  });
}

function ofIds<Id extends string>(ids: readonly Id[]): { readonly id: Id }[] {
  return ids.map((id) => ({ id }));
}

function overProjects(
  context: Context,
  name: string,
  pause_ms: number,
  tick: (byNode: ByNode) => Promise<number>,
): Job {
  const byNode = new ByNode(context, name);
  return { name, pause_ms, tick: () => tick(byNode), drain: () => byNode.drain() };
}
