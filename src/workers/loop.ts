// Runs a job again and again: at once while there is work, else after a pause or when woken.
// The only place with timers.

import type { Logger } from "pino";

/** Does a bounded piece of work and returns how much it did; 0 when there was none. */
export type Job = {
  readonly name: string;
  readonly pause_ms: number;
  tick(): Promise<number>;
};

export type Loop = { wake(): void; stop(): Promise<void> };

const FAILURE_PAUSE_MS = 1_000;

export function startLoop(job: Job, log: Logger): Loop {
  let stopping = false;
  let woken = false;
  let rouse: (() => void) | undefined;

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (stopping || woken) return resolve();
      const timer = setTimeout(resolve, ms);
      rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const run = async () => {
    while (!stopping) {
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
