// Runs a job again and again: at once while it finds work, else after a pause or when woken.

import type { Logger } from "pino";
import { jobFailures } from "../telemetry.ts";

export type Job = {
  readonly name: string;
  readonly pause_ms: number;
  /** Delay before each tick, so that work that arrives one by one is done in one batch. */
  readonly gather_ms?: number;
  /** Does a bounded amount of work and returns how much; after 0 the loop pauses. */
  tick(): Promise<number>;
  /** Called after the last tick: ends what a tick has left under way. */
  drain?(): Promise<void>;
};

export type Loop = { wake(): void; stop(): Promise<void> };

const FAILURE_PAUSE_MS = 1_000;

export function startLoop(job: Job, log: Logger): Loop {
  let stopping = false;
  let woken = false;
  let endPause: (() => void) | undefined;

  /** Ends early when the loop is stopped, and when it is woken unless `ignoreWake`. */
  const pause = (ms: number, ignoreWake = false) =>
    new Promise<void>((resolve) => {
      if (stopping || (woken && !ignoreWake)) return resolve();
      const timer = setTimeout(resolve, ms);
      endPause = () => {
        if (ignoreWake && !stopping) return;
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async () => {
    while (!stopping) {
      if (job.gather_ms !== undefined) await pause(job.gather_ms, true);
      woken = false;
      try {
        if ((await job.tick()) === 0) await pause(job.pause_ms);
      } catch (error) {
        jobFailures.inc({ job: job.name });
        log.error({ err: error, job: job.name }, "a job failed and will be tried again");
        await pause(FAILURE_PAUSE_MS);
      }
    }
  };

  // From 0, because increase() does not see the first value of a series.
  jobFailures.inc({ job: job.name }, 0);
  const done = run();
  const wake = () => {
    woken = true;
    endPause?.();
  };
  return {
    wake,
    async stop() {
      stopping = true;
      wake();
      await done;
      await job.drain?.();
    },
  };
}
