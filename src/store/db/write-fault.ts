// Remembers that the database answers and takes no writes, because its disk is full for example:
// readiness tells it, while reads go on.

import { writeFaultOf } from "./failures.ts";

/** How long a fault counts: nobody may have tried to write since. */
const KEPT_MS = 60_000;

/** `node` is its host and port, where there are several. */
export type WriteFaultAt = { readonly node?: string; readonly why: string };

export class WriteFault {
  #why: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** Why writes failed; undefined once one was done. */
  get why(): string | undefined {
    return this.#why;
  }

  async watch<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.note(error);
      throw error;
    }
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
