// Takes up, fills and drops long queues of webhook endpoints: a piece for each project in turn, so
// that none holds up another.

import type { Context } from "../context.ts";
import {
  JOB_TURNS,
  type JobReport,
  workOnWebhookJobs,
} from "../operations/webhooks/work-on-jobs.ts";
import { PIECE_MAX } from "../store/feeds/job-pieces.ts";
import * as webhookJobs from "../store/feeds/jobs.ts";
import { BatchLimits } from "./batch-limits.ts";
import { ByNode } from "./by-node.ts";
import { noteJobs } from "./job-notes.ts";
import { addUp, type Job, type TickReport } from "./loop.ts";
import { dutyDone } from "./prometheus.ts";

const PAUSE_MS = 1_000;
const NAME = "webhook_jobs";

export function webhookJobsJob(context: Context): Job {
  const { db, log } = context;
  const byNode = new ByNode(context, NAME);
  const turns = JOB_TURNS.map((kinds) => {
    const limits = new BatchLimits(PIECE_MAX);
    return () =>
      byNode.handle(
        async (all, filter) =>
          (await webhookJobs.listProjects(all, kinds, filter)).map((id) => ({ id })),
        ({ id }) =>
          limits.take(id, {
            work: async (limit) => {
              const report = await db
                .forProject(id)
                .tx((tx) => workOnWebhookJobs(tx, id, kinds, limit));
              noteJobs(log, id, report?.jobs);
              return count(report);
            },
          }),
      );
  });
  return {
    name: NAME,
    description: "Messages of long webhook queues taken up, filled or dropped.",
    pause_ms: PAUSE_MS,
    async tick() {
      const reports: TickReport[] = [];
      for (const turn of turns) reports.push(await turn());
      return addUp(reports);
    },
    drain: () => byNode.drain(),
  };
}

function count(report: JobReport | undefined): Pick<TickReport, "done" | "more"> {
  if (report === undefined) return { done: 0, more: false };
  dutyDone.inc({ duty: report.kind }, report.done);
  return { done: report.done, more: report.worked };
}
