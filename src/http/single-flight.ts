// Computes portal views: one at a time for a customer, however many ask at once, and never more
// than the budget. A view is public, so a stranger's clicks must not become the database's load.

import { Buckets, type Rate } from "./rate-limit.ts";

const PER_CUSTOMER: Rate = { burst: 2, per_minute: 2 * 60 };
const PER_PROCESS: Rate = { burst: 20, per_minute: 20 * 60 };

type Flight<T> = {
  readonly result: Promise<T>;
  /** Starts when `result` is through: who arrives meanwhile joins this one. */
  next: Promise<T> | undefined;
};

export class Flights<T> {
  readonly #flights = new Map<string, Flight<T>>();
  readonly #perCustomer = new Buckets(PER_CUSTOMER);
  readonly #perProcess = new Buckets(PER_PROCESS);

  /** A view that is not kept anywhere: any computation that is under way will do. */
  any(key: string, compute: () => Promise<T>): Promise<T> {
    return this.#flights.get(key)?.result ?? this.#start(key, compute);
  }

  /**
   * A view computed from now on: 429 when the customer's budget has none left. Who joins one, or is
   * refused, costs no query.
   */
  async fresh(key: string, compute: () => Promise<T>): Promise<T> {
    const running = this.#flights.get(key);
    if (running?.next !== undefined) return running.next;
    this.#perCustomer.take(key);
    if (running === undefined) return this.#start(key, compute);
    running.next = running.result.then(
      () => this.#start(key, compute),
      () => this.#start(key, compute),
    );
    return running.next;
  }

  /** The process's share of a refresh: taken once the customer is known to exist. */
  takeShare(): void {
    this.#perProcess.take("all");
  }

  #start(key: string, compute: () => Promise<T>): Promise<T> {
    const flight: Flight<T> = { result: compute(), next: undefined };
    this.#flights.set(key, flight);
    const land = () => {
      if (this.#flights.get(key) === flight && flight.next === undefined) this.#flights.delete(key);
    };
    flight.result.then(land, land);
    return flight.result;
  }
}
