// Whether this process is answering requests, in memory that the workers' thread shares with the
// one that answers: the billing worker then closes one batch at a time (decision 9).

import { wallMs } from "./clock.ts";

/** How long a request counts that has been answered: the next one may be on its way. */
const ACTIVE_MS = 250;

export class ApiActivity {
  /** Memory that is handed to the workers' thread, which makes its own view of it. */
  readonly shared: SharedArrayBuffer;
  readonly #running: Int32Array;
  readonly #lastEnd: Float64Array;

  constructor(shared = new SharedArrayBuffer(16)) {
    this.shared = shared;
    this.#running = new Int32Array(shared, 0, 1);
    this.#lastEnd = new Float64Array(shared, 8, 1);
  }

  begin(): void {
    Atomics.add(this.#running, 0, 1);
  }

  end(): void {
    Atomics.sub(this.#running, 0, 1);
    this.#lastEnd[0] = wallMs();
  }

  /** Whether requests are being answered; never in a worker process, which answers nobody. */
  get active(): boolean {
    return Atomics.load(this.#running, 0) > 0 || wallMs() - (this.#lastEnd[0] ?? 0) < ACTIVE_MS;
  }
}
