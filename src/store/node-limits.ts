// What the projects of one node may take of a process: some of its connections, not all. A node
// that hangs, or is away, then fails its own projects and nobody else's.

import { refuse } from "../errors.ts";
import { isUnreachable } from "./failures.ts";

/** A node that is away is tried by one caller at a time, and not more often than this. */
const RETRY_MS = 500;

type Work<T> = () => Promise<T>;
type Waiting = { start(): void; refuse(): void };

/** So much work at once. Who finds no place free waits in line, and is refused after a while. */
export class Semaphore {
  readonly #places: () => number;
  readonly #wait_ms: number;
  #used = 0;
  #waiting: Waiting[] = [];

  /** The number of places is asked for each time: a cluster grows. */
  constructor(places: () => number, wait_ms: number) {
    this.#places = places;
    this.#wait_ms = wait_ms;
  }

  get used(): number {
    return this.#used;
  }

  async run<T>(work: Work<T>): Promise<T> {
    if (this.#used < this.#places()) this.#used += 1;
    else await this.#wait();
    try {
      return await work();
    } finally {
      // The place goes to who has waited longest.
      const next = this.#waiting.shift();
      if (next === undefined) this.#used -= 1;
      else next.start();
    }
  }

  refuseWaiting(): void {
    for (const waiting of this.#waiting.splice(0)) waiting.refuse();
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuseNow = () => {
        clearTimeout(timer);
        this.#waiting = this.#waiting.filter((other) => other !== waiting);
        reject(unavailable());
      };
      const start = () => {
        clearTimeout(timer);
        resolve();
      };
      const waiting = { start, refuse: refuseNow };
      const timer = setTimeout(refuseNow, this.#wait_ms);
      this.#waiting.push(waiting);
    });
  }
}

export type NodeOptions = {
  readonly places: () => number;
  readonly wait_ms: number;
  /** The node was found to be away. */
  readonly onAway: () => void;
};

/** The places of one node, and whether it answers: while it does not, callers are told at once. */
export class NodeLimit {
  readonly #places: Semaphore;
  readonly #onAway: () => void;
  #succeeded = 0;
  /** Work failed, and none has succeeded since. */
  #away = false;
  #resting = false;

  constructor({ places, wait_ms, onAway }: NodeOptions) {
    this.#places = new Semaphore(places, wait_ms);
    this.#onAway = onAway;
  }

  async run<T>(work: Work<T>): Promise<T> {
    if (this.#away && (this.#resting || this.#places.used > 0)) throw unavailable();
    return this.#places.run(() => this.#watched(work));
  }

  async #watched<T>(work: Work<T>): Promise<T> {
    const before = this.#succeeded;
    try {
      const result = await work();
      this.#succeeded += 1;
      this.#away = false;
      return result;
    } catch (error) {
      // One slow statement at a node that meanwhile answers others is no reason to refuse them.
      if (isUnreachable(error) && this.#succeeded === before) this.#rest();
      throw error;
    }
  }

  #rest(): void {
    this.#away = true;
    this.#places.refuseWaiting();
    this.#onAway();
    if (this.#resting) return;
    this.#resting = true;
    setTimeout(() => {
      this.#resting = false;
    }, RETRY_MS).unref();
  }
}

function unavailable() {
  const message = "The part of the database that has this project cannot be reached. Try again.";
  return refuse("unavailable", message, { headers: { "retry-after": "1" } });
}
