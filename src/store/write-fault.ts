// Remembers that the database answers and takes no writes, because its disk is full for example:
// readiness tells it, while reads go on.

import { writeFaultOf } from "./failures.ts";

/** After that nothing is known: nobody may have tried to write since. */
const KEPT_MS = 60_000;

export class WriteFault {
  #why: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Undefined once a write was done. */
  get why(): string | undefined {
    return this.#why;
  }

  note(error: unknown): void {
    const why = writeFaultOf(error);
    if (why === undefined) return;
    clearTimeout(this.#timer);
    this.#why = why;
    this.#timer = setTimeout(() => this.forget(), KEPT_MS).unref();
  }

  forget(): void {
    if (this.#why === undefined) return;
    clearTimeout(this.#timer);
    this.#why = undefined;
  }
}
