// Runs a job again and again: at once while there is work, else after a pause or when woken.
// The only place with timers.

import type { Logger } from "pino";

/** Does a bounded piece of work and returns how much it did; 0 when there was none. */
export type Job = {
  readonly name: string;
  readonly pause_ms: number;
  /** Waited before each piece, so that what comes one by one is done together. */
  readonly gather_ms?: number;
  tick(): Promise<number>;
};

export type Loop = { wake(): void; stop(): Promise<void> };

const FAILURE_PAUSE_MS = 1_000;

export function startLoop(job: Job, log: Logger): Loop {
  let stopping = false;
  let woken = false;
  let rouse: (() => void) | undefined;

  /** Ends early when the loop is stopped, and when it is woken unless it is to last. */
  const pause = (ms: number, isToLast = false) =>
    new Promise<void>((resolve) => {
      if (stopping || (woken && !isToLast)) return resolve();
      const timer = setTimeout(resolve, ms);
      rouse = () => {
        if (isToLast && !stopping) return;
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
        log.error({ err: error, job: job.name }, "a job failed and will be tried again");
        await pause(FAILURE_PAUSE_MS);
      }
    }
  };

  const done = run();
  const wake = () => {
    woken = true;
    rouse?.();
  };
  return {
    wake,
    async stop() {
      stopping = true;
      wake();
      await done;
    },
  };
}
