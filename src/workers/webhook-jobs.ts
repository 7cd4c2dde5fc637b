// Takes up, fills and drops long queues of webhook endpoints: a piece for each project in turn, so
// that none holds up another.

import type { Context } from "../context.ts";
import { workOnWebhookJobs } from "../operations/webhooks/work-on-jobs.ts";
import * as webhookJobs from "../store/feeds/jobs.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";

const PAUSE_MS = 1_000;
const NAME = "webhook_jobs";

export function webhookJobsJob(context: Context): Job {
  const { db } = context;
  const byNode = new ByNode(context, NAME);
  return {
    name: NAME,
    description: "Pieces of long webhook queues taken up, filled or dropped.",
    pause_ms: PAUSE_MS,
    tick: () =>
      byNode.handle(
        async (all, filter) => (await webhookJobs.listProjects(all, filter)).map((id) => ({ id })),
        ({ id }) => db.forProject(id).tx((tx) => workOnWebhookJobs(tx, id)),
      ),
    drain: () => byNode.drain(),
  };
}
