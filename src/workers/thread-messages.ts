// What the main thread and the workers' thread post to each other.

import type { JobRun } from "../schema/jobs.ts";
import type { Snapshot } from "../telemetry.ts";

/** To the workers' thread: stop, or post a snapshot of your metrics. */
export type ThreadRequest = "stop" | "metrics";

/** From the workers' thread: a snapshot that was asked for, or what its jobs did when they ran. */
export type ThreadReport = { readonly metrics: Snapshot } | { readonly jobs: readonly JobRun[] };

/** What is used of the workers' thread. */
type Thread = {
  on(event: "message", listener: (report: ThreadReport) => void): unknown;
  postMessage(request: ThreadRequest): void;
};

/** How often the thread posts what its jobs did: nobody who asks for it waits for the thread. */
export const JOBS_MS = 1_000;

/** The last runs of the thread's jobs, as it posted them last; none before it did. */
export function jobsOf(thread: Thread): () => readonly JobRun[] {
  let latest: readonly JobRun[] = [];
  thread.on("message", (report) => {
    if (!("jobs" in report)) return;
    // What was posted is a copy: its instants are made dates of this thread again.
    latest = report.jobs.map(({ last_run_at: at, ...run }) => {
      return { ...run, last_run_at: at && new Date(at) };
    });
  });
  return () => latest;
}

/** How long a scrape waits for the thread, which may be computing a close. */
const ANSWER_MS = 500;

/** Asks the thread for its metrics. When it does not answer in time, its last answer counts. */
export function snapshotsOf(thread: Thread): () => Promise<Snapshot> {
  let latest: Snapshot = [];
  let waiting: (() => void)[] = [];
  thread.on("message", (report) => {
    if (!("metrics" in report)) return;
    latest = report.metrics;
    for (const resume of waiting) resume();
    waiting = [];
  });
  return async () => {
    thread.postMessage("metrics");
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ANSWER_MS);
      waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
    return latest;
  };
}
