// Room for request bodies: bytes that are coming in, and large bodies that are being worked on.

import { Bound, type Bounds } from "./bound.ts";

/** Four of the largest, about what is worked on in 5 s on two cores. */
const RECEIVED_MAX = 32 * 1024 * 1024;
/** 7 MB take 65 ms to parse, and their 10,000 events hold about 50 MB until all are stored. */
const LARGE_BYTES = 1024 * 1024;
const LARGE_AT_WORK = 2;
/** Two of 10,000 events each take up to 3 s on a busy machine; no caller is to wait for over 5. */
const LARGE_WAIT_MS = 2_000;
const TOO_MANY_LARGE =
  "Too many large bodies are being worked on. Try again in a moment, or send smaller ones.";

export class BodyRoom {
  readonly #bounds: Bounds;
  readonly #received: Bound;
  /** Who waits for a turn, in order. */
  readonly #line = new Set<() => void>();
  #atWork = 0;

  constructor(bounds: Bounds) {
    const message = "Too much is being sent at once. Try again in a moment.";
    this.#bounds = bounds;
    this.#received = new Bound(bounds, "body_bytes", RECEIVED_MAX, message);
    bounds.addLevel({ name: "large_bodies", level: () => this.#atWork + this.#line.size });
  }

  /** For bytes that are to come in; throws 503 when there is no room for them. */
  take(bytes: number): void {
    this.#received.take(bytes);
  }

  give(bytes: number): void {
    this.#received.give(bytes);
  }

  /** When a large body may be worked on; what it resolves to ends that. Throws 503. */
  turn(bytes: number): Promise<() => void> | undefined {
    return bytes <= LARGE_BYTES ? undefined : this.#turnOfLarge();
  }

  async #turnOfLarge(): Promise<() => void> {
    if (this.#atWork >= LARGE_AT_WORK) await this.#waitInLine();
    else this.#atWork += 1;
    return () => this.#next();
  }

  #waitInLine(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const leave = () => {
        this.#line.delete(begin);
        reject(this.#bounds.overloaded("large_bodies", TOO_MANY_LARGE));
      };
      const timer = setTimeout(leave, LARGE_WAIT_MS);
      this.#line.add(begin);
    });
  }

  #next(): void {
    const [next] = this.#line;
    if (next === undefined) this.#atWork -= 1;
    else {
      this.#line.delete(next);
      next();
    }
  }
}
