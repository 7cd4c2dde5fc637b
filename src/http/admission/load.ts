// Whether requests wait too long: then new ones are refused at once instead of making all later.

import { monotonicMs } from "../../clock.ts";
import type { Bounds } from "./bound.ts";

/** How long a request may wait for those before it. */
const WAIT_MS = 500;
/** Requests that are never too many at once, however slowly they are answered. */
const RUNNING_MIN = 256;
/** The rate of answers is counted over this time. */
const RATE_MS = 250;

/** Requests that are started within this time are counted together. */
const TOGETHER_MS = 10;

type Started = { readonly at: number; running: number };

/**
 * The requests that are under way, and how fast they are answered. They are counted by when they
 * were started: a set of them would grow and shrink with each, and V8 makes new tables for it in
 * the old part of its heap, 66 bytes a request, a quarter of all that made it clean up there.
 */
export class Load {
  readonly #bounds: Bounds;
  /** Counts in the order of their starts. */
  #started: Started[] = [];
  #running = 0;
  #ended = 0;
  #counted_since = 0;
  #per_ms = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
    bounds.addLevel({ name: "requests", level: () => this.#running });
  }

  /**
   * Throws 503 when more requests run than were lately answered in the time that they may wait, and
   * the oldest has waited for as long: a burst after a pause is taken whole.
   */
  admit(): void {
    if (this.#running < RUNNING_MIN) return;
    const now = monotonicMs();
    if (this.#running < this.#rate(now) * WAIT_MS) return;
    const oldest = this.#started.find(({ running }) => running > 0);
    if (oldest === undefined || now - oldest.at < WAIT_MS) return;
    const message = "The service has more requests than it can answer. Try again.";
    throw this.#bounds.overloaded("requests", message);
  }

  start(): Started {
    const now = monotonicMs();
    let last = this.#started.at(-1);
    if (last === undefined || now - last.at >= TOGETHER_MS) {
      last = { at: now, running: 0 };
      this.#started = [...this.#started.filter(({ running }) => running > 0), last];
    }
    last.running += 1;
    this.#running += 1;
    return last;
  }

  /**
   * Refusals are not counted as answers: fast refusals would look like throughput and raise the
   * limit.
   */
  end(started: Started, isAnswered: boolean): void {
    started.running -= 1;
    this.#running -= 1;
    if (isAnswered) this.#ended += 1;
  }

  /** Answers per millisecond. */
  #rate(now: number): number {
    const ms = now - this.#counted_since;
    if (ms >= RATE_MS) {
      this.#per_ms = this.#ended / ms;
      this.#ended = 0;
      this.#counted_since = now;
    }
    return this.#per_ms;
  }
}
