// One piece of what is done with the queue of a webhook endpoint: see store/feeds/job-pieces.ts.

import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import { notification } from "../../store/feeds/feed.ts";
import * as jobPieces from "../../store/feeds/job-pieces.ts";
import * as webhookJobs from "../../store/feeds/jobs.ts";
import * as webhooks from "../../store/feeds/webhooks.ts";

/** Returns how many pieces were done: one, or none where other workers have all there are. */
export async function workOnWebhookJobs(tx: Tx, project: ProjectId): Promise<number> {
  const job = await webhookJobs.lockNext(tx, project);
  if (job === undefined) return 0;
  if (job.kind === "drop") return dropQueue(tx, project, job.endpoint_id);
  const rest = await nextPiece(tx, project, job);
  if (rest === undefined) await webhookJobs.end(tx, project, job.endpoint_id, [job.kind]);
  else await webhookJobs.moveOn(tx, project, rest);
  await tx.run(notification(project));
  return 1;
}

type Moving = Exclude<webhookJobs.Job, { kind: "drop" }>;

async function nextPiece(
  tx: Tx,
  project: ProjectId,
  job: Moving,
): Promise<webhookJobs.Job | undefined> {
  const { endpoint_id } = job;
  if (job.kind === "resume") {
    const rest = await jobPieces.resumePiece(tx, project, endpoint_id, job);
    return rest && { endpoint_id, kind: "resume", ...rest };
  }
  const endpoint = await webhooks.get(tx, project, endpoint_id);
  if (endpoint === undefined) return undefined;
  const rest = await jobPieces.replayPiece(tx, project, endpoint, job);
  return rest && { endpoint_id, kind: "replay", ...rest };
}

/** What is being sent at this moment is waited for: its result is written like any other. */
async function dropQueue(tx: Tx, project: ProjectId, endpoint_id: string): Promise<number> {
  const dropped = await jobPieces.dropPiece(tx, project);
  if (dropped > 0) return 1;
  if (await jobPieces.hasQueue(tx, project, endpoint_id)) return 0;
  await webhookJobs.end(tx, project, endpoint_id, ["drop"]);
  return 1;
}
