// Writes usage events that arrive together in one statement. Each project has one writer at a time,
// which takes all that waits: an idle service adds no delay, a busy one writes bigger batches.
// On a cluster it rests after each for a moment, so that those it answered are in the next batch.

import { nextArrivals } from "../clock.ts";
import type { Context } from "../context.ts";
import { Refusal, refuse } from "../errors.ts";
import type { Arrived } from "../operations/usage/draft.ts";
import type { UsageMemory } from "../operations/usage/memory.ts";
import { recordUsage } from "../operations/usage/record.ts";
import type { EventAccepted, UsageEventInput } from "../schema/events.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import type { Bounds } from "./admission/bound.ts";

/** Projects written at once. Two writers of one project would lock the same daily sums in turn. */
const WRITERS_MAX = 4;
/** How many of the writers the projects of one node may have, when a cluster has several. */
const NODE_WRITERS_MAX = 2;
const BATCH_MAX = 2_000;
const WAITING_MAX = 10_000;
/** The pause between two looks at what waits, in which its times are counted. */
const LOOK_MS = 250;
/** An event is answered by then, also when it waits behind writes that the database lets hang. */
const ANSWER_LOOKS = 4_000 / LOOK_MS;
/** No more events of a project are taken once the first of them has waited for longer. */
const WAIT_LOOKS = 500 / LOOK_MS;
/**
 * Without a rest half of the callers are written while the other half sends. That is best on one
 * PostgreSQL: with rests 64 callers stored 4,530 instead of 5,550 events/s. On a cluster most of a
 * write costs the same for any number of events, so one batch of all costs less than two of a half
 * each: 32 callers stored 2,620 instead of 2,380. A rest is at most this share of the write.
 */
const REST_SHARE = 1 / 2;
const REST_MAX_MS = 5;

type Waiting = Arrived & {
  readonly settings: ProjectSettings;
  /** How many looks there had been when it came: by them it is known how long it waits. */
  readonly came_at: number;
  resolve(accepted: EventAccepted): void;
  reject(error: unknown): void;
};

type Rest = {
  readonly timer: NodeJS.Timeout;
  /** When so many wait, all are back and the rest is over. */
  readonly callers: number;
};

type Writing = { readonly node: string | undefined; readonly batch: readonly Waiting[] };

export class EventQueue {
  readonly #context: Pick<Context, "db" | "placement" | "config">;
  readonly #memory: UsageMemory;
  readonly #bounds: Bounds;
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #writing = new Map<string, Writing>();
  readonly #resting = new Map<string, Rest>();
  #count = 0;
  #scheduled = false;
  #looks = 0;
  #looking: NodeJS.Timeout | undefined;

  constructor(
    context: Pick<Context, "db" | "placement" | "config">,
    memory: UsageMemory,
    bounds: Bounds,
  ) {
    this.#context = context;
    this.#memory = memory;
    this.#bounds = bounds;
    bounds.addLevel({ name: "events", level: () => this.#count });
  }

  /** Resolves after the commit, with what became of this one event; rejects when it is refused. */
  push(
    settings: ProjectSettings,
    input: UsageEventInput,
    received_at: Date,
  ): Promise<EventAccepted> {
    if (this.#count >= WAITING_MAX || this.#waitsLong(settings.id)) {
      throw this.#bounds.overloaded("events", "Too many events are waiting. Try again.");
    }
    return new Promise((resolve, reject) => {
      const arrival = nextArrivals();
      const came_at = this.#looks;
      const event = { settings, input, received_at, arrival, came_at, resolve, reject };
      const queue = this.#waiting.get(settings.id);
      if (queue === undefined) this.#waiting.set(settings.id, [event]);
      else queue.push(event);
      this.#count += 1;
      this.#endRestIfAllAreBack(settings.id);
      this.#looking ??= setInterval(() => this.#look(), LOOK_MS);
      this.#schedule();
    });
  }

  #waitsLong(project: string): boolean {
    const first = this.#waiting.get(project)?.[0];
    return first !== undefined && this.#looks - first.came_at > WAIT_LOOKS;
  }

  /** Writes once all sockets that are readable now have been read: their events share a batch. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (const project of this.#waiting.keys()) {
        if (this.#writing.size >= WRITERS_MAX) return;
        if (!this.#writing.has(project) && !this.#resting.has(project))
          this.#writeUnlessNodeIsBusy(project);
      }
    });
  }

  /** A node that hangs must not have all the writers. */
  #writeUnlessNodeIsBusy(project: string): void {
    const { placement } = this.#context;
    const node = placement.recall(project);
    if (placement.nodes > 1) {
      const ofNode = [...this.#writing.values()].filter((writing) => writing.node === node);
      if (ofNode.length >= NODE_WRITERS_MAX) return;
    }
    void this.#write(project, node);
  }

  async #write(project: string, node: string | undefined): Promise<void> {
    const batch = this.#take(project);
    this.#writing.set(project, { node, batch });
    const started = performance.now();
    try {
      await this.#record(batch);
    } finally {
      this.#writing.delete(project);
      this.#rest(project, batch.length, performance.now() - started);
      if (this.#waiting.size > 0) this.#schedule();
    }
  }

  #rest(project: string, answered: number, took_ms: number): void {
    if (this.#context.placement.nodes === 1) return;
    const callers = answered + (this.#waiting.get(project)?.length ?? 0);
    const wake = () => {
      this.#resting.delete(project);
      this.#schedule();
    };
    const timer = setTimeout(wake, Math.min(took_ms * REST_SHARE, REST_MAX_MS));
    this.#resting.set(project, { timer, callers });
  }

  #endRestIfAllAreBack(project: string): void {
    const rest = this.#resting.get(project);
    if (rest === undefined || (this.#waiting.get(project)?.length ?? 0) < rest.callers) return;
    clearTimeout(rest.timer);
    this.#resting.delete(project);
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

  /** Refuses what is late. A write that is under way may still succeed: a repeat counts once. */
  #look(): void {
    this.#looks += 1;
    for (const [project, queue] of this.#waiting) {
      const late = this.#refuseLate(queue);
      this.#count -= late;
      if (late === queue.length) this.#waiting.delete(project);
      else queue.splice(0, late);
    }
    for (const { batch } of this.#writing.values()) this.#refuseLate(batch);
    if (this.#count > 0 || this.#writing.size > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Returns how many were late: the first have waited longest. */
  #refuseLate(events: readonly Waiting[]): number {
    const onTime = events.findIndex(({ came_at }) => this.#looks - came_at < ANSWER_LOOKS);
    const late = onTime < 0 ? events.length : onTime;
    if (late === 0) return 0;
    const refusal = refuse("unavailable", "The event could not be stored in time. Try again.", {
      headers: { "retry-after": "1" },
    });
    for (const event of events.slice(0, late)) event.reject(refusal);
    return late;
  }

  async #record(batch: readonly Waiting[]): Promise<void> {
    const settings = batch.at(-1)?.settings;
    if (settings === undefined) return;
    const { db: all, config } = this.#context;
    try {
      const db = all.forProject(settings.id);
      const outcomes = await recordUsage(db, this.#memory, settings, batch, config);
      batch.forEach((event, i) => {
        const outcome = outcomes[i] ?? refuse("internal_error", "The event has no outcome.");
        if (outcome instanceof Refusal) event.reject(outcome);
        else event.resolve(outcome);
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
