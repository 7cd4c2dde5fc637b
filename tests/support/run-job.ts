// Runs a job of the workers by hand, as its loop would without the pauses.

import type { Job } from "../../src/workers/loop.ts";

/** Tick after tick, as long as more may wait. Returns how much was done. */
export async function runToEnd(job: Pick<Job, "tick">): Promise<number> {
  let total = 0;
  for (;;) {
    const { done, more } = await job.tick();
    total += done;
    if (!more) return total;
  }
}
