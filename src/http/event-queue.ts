// Writes usage events that arrive together in one statement. Each project has one writer at a time,
// which takes all that waits: an idle service adds no delay, a busy one writes bigger batches.

import { nextArrival } from "../clock.ts";
import { Refusal, refuse } from "../errors.ts";
import { type Arrived, type Outcome, recordUsage } from "../operations/record-usage.ts";
import type { UsageEventInput } from "../schema/events.ts";
import type { Db } from "../store/db.ts";
import type { ProjectSettings } from "../store/tenants.ts";

/** Projects written at once. Two writers of one project would lock the same daily sums in turn. */
const WRITERS_MAX = 4;
const BATCH_MAX = 2_000;
const WAITING_MAX = 10_000;

type Waiting = Arrived & {
  readonly settings: ProjectSettings;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
};

export class EventQueue {
  readonly #db: Db;
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #writing = new Set<string>();
  #count = 0;
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

  /** After all sockets that are readable now have been read, so that their events share a batch. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const project of this.#waiting.keys()) {
        if (this.#writing.size >= WRITERS_MAX) return;
        if (!this.#writing.has(project)) void this.#write(project);
      }
    });
  }

  async #write(project: string): Promise<void> {
    this.#writing.add(project);
    try {
      await this.#record(this.#take(project));
    } finally {
      this.#writing.delete(project);
      if (this.#waiting.size > 0) this.#schedule();
    }
  }

  /** A project with more than one batch waiting is written again after all other projects. */
  #take(project: string): Waiting[] {
    const queue = this.#waiting.get(project) ?? [];
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
      const outcomes = await recordUsage(this.#db, settings, batch);
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
