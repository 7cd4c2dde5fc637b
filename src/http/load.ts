// Whether requests wait too long: then new ones are refused at once instead of making all later.

import { monotonicMs } from "../clock.ts";
import { overloaded, showLevel } from "./bound.ts";

/** How long a request may wait for those before it. */
const WAIT_MS = 500;
/** So many at once are never too many, however slowly they are answered. */
const RUNNING_MIN = 256;
/** Over this time the rate of answers is counted. */
const RATE_MS = 250;

type Started = { readonly at: number };

export class Load {
  /** In the order in which they were started. */
  readonly #running = new Set<Started>();
  #ended = 0;
  #counted_since = 0;
  #per_ms = 0;

  constructor() {
    showLevel({ name: "requests", level: () => this.#running.size });
  }

  /**
   * Throws 503 when more requests run than were lately answered in the time that they may wait, and
   * the oldest has waited for as long: a burst after a pause is taken whole.
   */
  admit(): void {
    if (this.#running.size < RUNNING_MIN) return;
    const now = monotonicMs();
    if (this.#running.size < this.#rate(now) * WAIT_MS) return;
    const [oldest] = this.#running;
    if (oldest === undefined || now - oldest.at < WAIT_MS) return;
    throw overloaded("requests", "The service has more requests than it can answer. Try again.");
  }

  start(): Started {
    const started = { at: monotonicMs() };
    this.#running.add(started);
    return started;
  }

  /** What was refused behind this bound is no answer: a storm of those would raise the bound. */
  end(started: Started, isAnswered: boolean): void {
    this.#running.delete(started);
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
