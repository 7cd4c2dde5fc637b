// Lets callers through one after the other. Strangers who ask again as soon as they are answered,
// be it with a refusal, would otherwise ask thousands of times a second, and everybody else's calls
// would wait behind theirs.

/** Two hundred who never stop asking are told after four seconds each. */
const EVERY_MS = 20;
/** Who comes beyond this is let through at once: holding connections must have a bound. */
const HELD_MAX = 500;

export class Turnstile {
  readonly #held: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** Resolves when it is the caller's turn: at once, unless others came just before. */
  turn(): Promise<void> {
    if (this.#held.length >= HELD_MAX) return Promise.resolve();
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => this.#next(), EVERY_MS);
      this.#timer.unref();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#held.push(resolve);
    });
  }

  #next(): void {
    const next = this.#held.shift();
    if (next === undefined) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    next?.();
  }
}
