// Keeps jobs that go by the time from running while the process's clock and the database's differ.

import type { Context } from "../context.ts";
import { clockFault } from "../store/db/database-time.ts";
import { type Job, RESTED } from "./loop.ts";
import { clockDiffers } from "./prometheus.ts";

/** Whether the clocks differ, for all jobs of a worker. */
export class ClockGuard {
  readonly #context: Pick<Context, "db" | "clock" | "config" | "log">;
  #fault: string | undefined;

  constructor(context: Pick<Context, "db" | "clock" | "config" | "log">) {
    this.#context = context;
  }

  /** The job, which does nothing while the clocks differ. They are compared before each tick. */
  whileRight(job: Job): Job {
    return { ...job, tick: async () => ((await this.#differs()) ? RESTED : job.tick()) };
  }

  async #differs(): Promise<boolean> {
    const { db, clock, config, log } = this.#context;
    const before = this.#fault;
    this.#fault = await clockFault(db, clock, config.clock_skew_limit_ms);
    clockDiffers.set(this.#fault === undefined ? 0 : 1);
    // One line when they begin to differ, and one when they agree again.
    if (before === undefined && this.#fault !== undefined) log.error(this.#fault);
    if (before !== undefined && this.#fault === undefined) log.info("the clocks agree again");
    return this.#fault !== undefined;
  }
}
