// One computation per key at a time, however many callers ask for it at once.

import { isUnavailable } from "../../store/db/failures.ts";

type Flight<T> = {
  readonly result: Promise<T>;
  /** Starts when `result` has ended: callers who want a fresh result meanwhile share this one. */
  next: Promise<T> | undefined;
};

export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  /** How many keys are computed for. */
  get count(): number {
    return this.#flights.size;
  }

  /**
   * The result of a computation that begins after this call. `admit` may refuse by throwing; it is
   * asked for the caller who starts a computation, not for those who share it.
   */
  async fresh(key: string, admit: () => void, compute: () => Promise<T>): Promise<T> {
    const running = this.#flights.get(key);
    if (running?.next !== undefined) return running.next;
    admit();
    if (running === undefined) return this.#start(key, compute);
    const start = () => this.#start(key, compute);
    // When the database is away, another wait for it would be as long again.
    running.next = running.result.then(start, (error) => {
      if (!isUnavailable(error)) return start();
      this.#flights.delete(key);
      throw error;
    });
    return running.next;
  }

  #start(key: string, compute: () => Promise<T>): Promise<T> {
    const flight: Flight<T> = { result: compute(), next: undefined };
    this.#flights.set(key, flight);
    const end = () => {
      if (this.#flights.get(key) === flight && flight.next === undefined) this.#flights.delete(key);
    };
    flight.result.then(end, end);
    return flight.result;
  }
}
