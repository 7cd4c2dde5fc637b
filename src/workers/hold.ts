// Keeps jobs from running while the database is held after a restore (`dues resume` ends that).

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { heldSince } from "../store/backup/installation.ts";
import { type Job, RESTED } from "./loop.ts";
import { held } from "./prometheus.ts";

const ASK_MS = 1_000;

/** Whether a restored database is held, for all jobs of a worker. */
export class Hold {
  readonly #db: Context["db"];
  readonly #log: Context["log"];
  #ended = false;
  #asked_ms = Number.NEGATIVE_INFINITY;
  #warned = false;

  constructor({ db, log }: Pick<Context, "db" | "log">) {
    this.#db = db;
    this.#log = log;
  }

  /** The job, which does nothing for as long as the hold lasts. */
  unlessHeld(job: Job): Job {
    return { ...job, tick: async () => ((await this.#lasts()) ? RESTED : job.tick()) };
  }

  /** Once it has ended nobody asks again: a backup is restored only where there is no service. */
  async #lasts(): Promise<boolean> {
    if (this.#ended) return false;
    if (monotonicMs() - this.#asked_ms < ASK_MS) return true;
    const since = await heldSince(this.#db);
    this.#asked_ms = monotonicMs();
    this.#ended = since === null;
    held.set(this.#ended ? 0 : 1);
    // One line when it is found to be held, and one when that has ended.
    if (this.#ended === this.#warned) this.#logChange(since);
    return !this.#ended;
  }

  #logChange(since: Date | null): void {
    this.#warned = since !== null;
    if (since === null) this.#log.info("resumed");
    else this.#log.warn({ held_since: since }, "held after a restore: run dues resume");
  }
}
