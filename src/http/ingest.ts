// Gathers usage events that arrive together into one write. A free writer takes everything that
// waits for a project: an idle service adds no delay, a busy one writes bigger batches.

import { nextArrival } from "../clock.ts";
import { Refusal, refuse } from "../errors.ts";
import { type Arrived, type Outcome, recordUsage } from "../operations/record-usage.ts";
import type { UsageEventInput } from "../schema/events.ts";
import type { Db } from "../store/db.ts";
import type { ProjectSettings } from "../store/tenants.ts";

const WRITERS = 2;
const BATCH_MAX = 2_000;
const WAITING_MAX = 10_000;

type Waiting = Arrived & {
  readonly settings: ProjectSettings;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
};

export class IngestQueue {
  readonly #db: Db;
  readonly #waiting = new Map<string, Waiting[]>();
  #count = 0;
  #writing = 0;
  #scheduled = false;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves after the commit, with what became of this one event. */
  push(settings: ProjectSettings, input: UsageEventInput, received_at: Date): Promise<Outcome> {
    if (this.#count >= WAITING_MAX) {
      throw refuse("unavailable", "Too many events are waiting. Try again.", {
        headers: { "retry-after": "1" },
      });
    }
    return new Promise((resolve, reject) => {
      const event = { settings, input, received_at, arrival: nextArrival(), resolve, reject };
      const queue = this.#waiting.get(settings.id);
      if (queue === undefined) this.#waiting.set(settings.id, [event]);
      else queue.push(event);
      this.#count += 1;
      this.#schedule();
    });
  }

  /** After the sockets that are readable now were read: what came together is written together. */
  #schedule(): void {
    if (this.#scheduled || this.#writing >= WRITERS) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#writing < WRITERS && this.#waiting.size > 0) void this.#write();
    });
  }

  async #write(): Promise<void> {
    const batch = this.#take();
    this.#writing += 1;
    try {
      await this.#record(batch);
    } finally {
      this.#writing -= 1;
      if (this.#waiting.size > 0) this.#schedule();
    }
  }

  /** Of the project that waits longest; one with more waiting goes to the end of the line. */
  #take(): Waiting[] {
    const [first] = this.#waiting;
    if (first === undefined) return [];
    const [project, queue] = first;
    const batch = queue.splice(0, BATCH_MAX);
    this.#waiting.delete(project);
    if (queue.length > 0) this.#waiting.set(project, queue);
    this.#count -= batch.length;
    return batch;
  }

  async #record(batch: readonly Waiting[]): Promise<void> {
    const settings = batch.at(-1)?.settings;
    if (settings === undefined) return;
    try {
      const outcomes = await this.#db.tx((tx) => recordUsage(tx, settings, batch));
      batch.forEach((event, i) => {
        event.resolve(outcomes[i] ?? refuse("internal_error", "The event has no outcome."));
      });
    } catch (error) {
      // One event that the database cannot take must not fail the others.
      if (batch.length > 1 && !(error instanceof Refusal)) {
        for (const event of batch) await this.#record([event]);
      } else {
        for (const event of batch) event.reject(error);
      }
    }
  }
}
