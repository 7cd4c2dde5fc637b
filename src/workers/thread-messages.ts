// What the main thread and the workers' thread post to each other.

import type { Snapshot } from "../telemetry.ts";

/** To the workers' thread: stop, or post a snapshot of your metrics. Snapshots are all it posts. */
export type ThreadRequest = "stop" | "metrics";

/** What is used of the workers' thread. */
type Thread = {
  on(event: "message", listener: (snapshot: Snapshot) => void): unknown;
  postMessage(request: ThreadRequest): void;
};

/** How long a scrape waits for the thread, which may be computing a close. */
const ANSWER_MS = 500;

/** Asks the thread for its metrics. When it does not answer in time, its last answer counts. */
export function snapshotsOf(thread: Thread): () => Promise<Snapshot> {
  let latest: Snapshot = [];
  let waiting: (() => void)[] = [];
  thread.on("message", (snapshot: Snapshot) => {
    latest = snapshot;
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
