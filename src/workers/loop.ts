// Runs a job again and again: at once while there is more to do, else after a pause or when woken.
// Knows what its last run did.

import { type Clock, monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import type { JobRun } from "../schema/jobs.ts";
import { jobFailures, jobLastRun } from "../telemetry.ts";

/** What a tick did. */
export type TickReport = {
  /** How much: of what, the description of the job says. */
  readonly done: number;
  /** Whether more may wait: the loop then goes on at once. */
  readonly more: boolean;
  /** Parts that failed alone, were logged and will be tried again. */
  readonly failed?: number;
};

export type Job = {
  readonly name: string;
  /** What it does, in words for what `done` counts. */
  readonly description: string;
  readonly pause_ms: number;
  /** Delay before each tick, so that work that arrives one by one is done in one batch. */
  readonly gather_ms?: number;
  /** Does a bounded amount of work. */
  tick(): Promise<TickReport>;
  /** Called after the last tick: ends what a tick has left under way. */
  drain?(): Promise<void>;
};

/** Jobs that run, of a process or a thread. */
export type Workers = {
  /** What each did when it last ran. */
  jobs(): readonly JobRun[];
  stop(): Promise<void>;
};

export type Loop = { wake(): void; lastRun(): JobRun; stop(): Promise<void> };

/** The report of a tick in which the job was not to work. */
export const RESTED: TickReport = { done: 0, more: false };

/** How much was done of a project; and whether there may be more, where that says nothing of it. */
export type Turn = number | Pick<TickReport, "done" | "more">;

export function turnOf(turn: Turn): Pick<TickReport, "done" | "more"> {
  return typeof turn === "number" ? untilNothing(turn) : turn;
}

/** The report of a bounded batch: as long as something was done, more may wait. */
export function untilNothing(done: number): TickReport {
  return { done, more: done > 0 };
}

export function addUp(reports: readonly TickReport[]): TickReport {
  return {
    done: reports.reduce((sum, { done }) => sum + done, 0),
    more: reports.some(({ more }) => more),
    failed: reports.reduce((sum, { failed = 0 }) => sum + failed, 0),
  };
}

const FAILURE_PAUSE_MS = 1_000;

export function startLoop(job: Job, context: Pick<Context, "clock" | "log">): Loop {
  const { log, clock } = context;
  const runs = new Runs(job, clock);
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
      const started_ms = monotonicMs();
      try {
        const report = await job.tick();
        runs.note(started_ms, report);
        if (!report.more) await pause(job.pause_ms);
      } catch (error) {
        runs.note(started_ms, undefined);
        jobFailures.inc({ job: job.name });
        log.error({ err: error, job: job.name }, "a job failed and will be tried again");
        await pause(FAILURE_PAUSE_MS);
      }
    }
  };

  const ended = run();
  const wake = () => {
    woken = true;
    endPause?.();
  };
  return {
    wake,
    lastRun: () => runs.last,
    async stop() {
      stopping = true;
      wake();
      await ended;
      await job.drain?.();
    },
  };
}

/** Keeps what is told of the last run of a job. */
class Runs {
  readonly #clock: Clock;
  #last: JobRun;

  constructor({ name, description, pause_ms }: Job, clock: Clock) {
    this.#clock = clock;
    const never = { last_run_at: null, took_ms: null, done: null, failures: 0 };
    this.#last = { name, description, pause_ms, ...never };
    // From 0, because increase() does not see the first value of a series.
    jobFailures.inc({ job: name }, 0);
  }

  get last(): JobRun {
    return this.#last;
  }

  /** Without a report the whole run failed. */
  note(started_ms: number, report: TickReport | undefined): void {
    const { name, failures } = this.#last;
    const isFailed = report === undefined || (report.failed ?? 0) > 0;
    const last_run_at = this.#clock.now();
    this.#last = {
      ...this.#last,
      last_run_at,
      took_ms: Math.round(monotonicMs() - started_ms),
      done: report?.done ?? null,
      failures: isFailed ? failures + 1 : 0,
    };
    jobLastRun.set({ job: name }, last_run_at.getTime() / 1_000);
  }
}
