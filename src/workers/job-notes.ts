// Tells the log of jobs that calls have started: one line when a worker takes one up, and one when
// it has ended, with how much it did. `dues doctor` and /readyz tell of them in between.

import type { Context } from "../context.ts";
import type { JobNote } from "../operations/batch-report.ts";

const SAYS = {
  started: "a job that a call asked for has started",
  ended: "a job that a call asked for has ended",
};

export function noteJobs(
  log: Context["log"],
  project_id: string,
  notes: readonly JobNote[] | undefined,
): void {
  for (const { became, ...note } of notes ?? []) log.info({ project_id, ...note }, SAYS[became]);
}
