// Who waits for a connection of a pool: so many, and none behind one that has waited too long.

import { unavailable } from "./failures.ts";

/** Made once: an error notes where it was made, about 24 µs of each refusal by a profile. */
const TOO_MANY = unavailable("Too many requests wait for the database.", undefined);

export class WaitingLine {
  readonly #max: number;
  readonly #late_ms: number;
  /** Callers that wait, in the order in which they came. */
  readonly #waiting = new Set<{ isLate: boolean }>();
  #refused = 0;

  constructor({ max, late_ms }: { max: number; late_ms: number }) {
    this.#max = max;
    this.#late_ms = late_ms;
  }

  get stats() {
    return { waiting: this.#waiting.size, refused: this.#refused };
  }

  /** Throws 503 when whoever comes now would wait too long. */
  admit(): void {
    const [first] = this.#waiting;
    if (!first?.isLate && this.#waiting.size < this.#max) return;
    this.#refused += 1;
    throw TOO_MANY;
  }

  async wait<T>(connect: () => Promise<T>): Promise<T> {
    const waiting = { isLate: false };
    this.#waiting.add(waiting);
    const timer = setTimeout(() => Object.assign(waiting, { isLate: true }), this.#late_ms);
    try {
      return await connect();
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(waiting);
    }
  }
}
