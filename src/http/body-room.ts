// Room for request bodies: bytes that are coming in, and large bodies that are being worked on.

import { Bound } from "./bound.ts";

const RECEIVED_MAX = 48 * 1024 * 1024;
/** 7 MB take 65 ms to parse, and their 10,000 events hold about 50 MB until all are stored. */
const LARGE_BYTES = 1024 * 1024;
const LARGE_AT_WORK = 2;
const LARGE_MAX = 6;

export class BodyRoom {
  readonly #received = new Bound(
    "body_bytes",
    RECEIVED_MAX,
    "Too much is being sent at once. Try again in a moment.",
  );
  readonly #large = new Bound(
    "large_bodies",
    LARGE_MAX,
    "Too many large bodies are being worked on. Try again in a moment, or send smaller ones.",
  );
  readonly #line: (() => void)[] = [];
  #atWork = 0;

  /** For bytes that came in; throws 503 when there is no room for them. */
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
    this.#large.take(1);
    if (this.#atWork >= LARGE_AT_WORK) {
      await new Promise<void>((resolve) => this.#line.push(resolve));
    } else {
      this.#atWork += 1;
    }
    return () => this.#next();
  }

  #next(): void {
    this.#large.give(1);
    const next = this.#line.shift();
    if (next === undefined) this.#atWork -= 1;
    else next();
  }
}
