// The rest of bodies whose requests have been answered. It is read and thrown away, because many
// callers write a whole body before they look for the answer.

import type { IncomingMessage } from "node:http";

/**
 * Pieces of 64 KB in one turn of the event loop, of all such bodies together. While 78 refused
 * bodies of 7 MB came in, one more caller's refusal took 49 ms in the median and 137 at most with
 * a piece of each in every turn, and 28 and 98 with 8 pieces.
 */
const PIECES_PER_TURN = 8;

export class UnreadBodies {
  /** Requests with a piece to be read, in order. */
  readonly #waiting: IncomingMessage[] = [];
  #scheduled = false;

  /**
   * Must be called before the answer is written: Node itself would read up to 2 MB of every such
   * body in one turn, and 76 refused ones of 7 MB held everybody else up for 300 ms.
   */
  discard(message: IncomingMessage): void {
    if (message.complete) return;
    message.on("data", () => {
      message.pause();
      this.#wait(message);
    });
    message.resume();
  }

  #wait(message: IncomingMessage): void {
    this.#waiting.push(message);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#readOn());
  }

  #readOn(): void {
    for (const message of this.#waiting.splice(0, PIECES_PER_TURN)) message.resume();
    this.#scheduled = this.#waiting.length > 0;
    if (this.#scheduled) setImmediate(() => this.#readOn());
  }
}
