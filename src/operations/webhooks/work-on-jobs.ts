// One piece of what is done with the queue of a webhook endpoint: see store/feeds/job-pieces.ts.

import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import { notification } from "../../store/feeds/feed.ts";
import * as jobPieces from "../../store/feeds/job-pieces.ts";
import * as webhookJobs from "../../store/feeds/jobs.ts";
import * as webhooks from "../../store/feeds/webhooks.ts";
import type { BatchReport, JobNote } from "../batch-report.ts";

/** The kinds that take turns; a drop is apart, for it may wait for what is being sent. */
const MOVING = ["resume", "replay"] as const;
const DROPPING = ["drop"] as const;
export const JOB_TURNS = [MOVING, DROPPING] as const;

/** What was done: nothing where other workers have all there is. */
export type JobReport = {
  readonly kind: webhookJobs.JobKind;
  /** Whether a piece was done: it may have had no rows to do. */
  readonly worked: boolean;
} & Pick<BatchReport, "done" | "jobs">;

export async function workOnWebhookJobs(
  tx: Tx,
  project: ProjectId,
  kinds: readonly webhookJobs.JobKind[],
  limit: number,
): Promise<JobReport | undefined> {
  const job = await webhookJobs.lockNext(tx, project, kinds);
  if (job === undefined) return undefined;
  const { kind, endpoint_id } = job;
  const { done, rest, waits = false } = await nextPiece(tx, project, job, limit);
  if (rest === undefined) await webhookJobs.end(tx, project, endpoint_id, [kind]);
  else await webhookJobs.moveOn(tx, project, rest);
  if (kind !== "drop") await tx.run(notification(project));
  return { kind, worked: !waits, done, jobs: notesOf(job, done, rest === undefined) };
}

function notesOf(job: webhookJobs.Taken, done: number, isEnd: boolean): JobNote[] {
  const { kind, endpoint_id, total, is_new } = job;
  const note = { kind, endpoint_id, total };
  return [
    ...(is_new ? [{ ...note, became: "started", done: job.done } as const] : []),
    ...(isEnd ? [{ ...note, became: "ended", done: job.done + done } as const] : []),
  ];
}

type Next = jobPieces.Piece<webhookJobs.Job> & { readonly waits?: boolean };

async function nextPiece(
  tx: Tx,
  project: ProjectId,
  job: webhookJobs.Taken,
  limit: number,
): Promise<Next> {
  const { endpoint_id } = job;
  if (job.kind === "drop") return dropPiece(tx, project, job, limit);
  if (job.kind === "resume") {
    const { done, rest } = await jobPieces.resumePiece(tx, project, endpoint_id, job, limit);
    return { done, rest: rest && { endpoint_id, kind: "resume", ...rest } };
  }
  const endpoint = await webhooks.get(tx, project, endpoint_id);
  if (endpoint === undefined) return { done: 0, rest: undefined };
  const { done, rest } = await jobPieces.replayPiece(tx, project, endpoint, job, limit);
  return { done, rest: rest && { endpoint_id, kind: "replay", ...rest } };
}

/** What is being sent at this moment is waited for: its result is written like any other. */
async function dropPiece(
  tx: Tx,
  project: ProjectId,
  { endpoint_id, done: before }: { readonly endpoint_id: string } & webhookJobs.Drop,
  limit: number,
): Promise<Next> {
  const done = await jobPieces.dropPiece(tx, project, limit);
  const waits = done === 0 && (await jobPieces.hasQueue(tx, project, endpoint_id));
  if (done === 0 && !waits) return { done, rest: undefined };
  return { done, waits, rest: { endpoint_id, kind: "drop", done: before + done } };
}
