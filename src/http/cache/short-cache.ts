// What the database said a moment ago: kept for less than a second, by a clock that cannot be set.
// What it does not have is kept apart, so that made-up keys push out nothing but one another.

import { monotonicMs } from "../../clock.ts";

/** A revoked token is refused everywhere within a second, so nothing is good for longer. */
export const CACHED_MS = 900;
export const KNOWN_MAX = 10_000;
export const UNKNOWN_MAX = 1_000;

type Cached<T> = { readonly value: T; readonly until_ms: number; readonly round: number };

/** Concurrent misses of one key share one question. */
export class ShortCache<T> {
  readonly #known = new Map<string, Cached<T>>();
  readonly #unknown = new Map<string, Cached<T | undefined>>();
  readonly #asking = new Map<string, Promise<T | undefined>>();
  /** Raised by `forget`: what was asked for in an earlier round is no longer good. */
  #round = 0;

  get size(): { readonly known: number; readonly unknown: number } {
    return { known: this.#known.size, unknown: this.#unknown.size };
  }

  get(key: string, ask: () => Promise<T | undefined>): Promise<T | undefined> {
    const known = this.peek(key);
    if (known !== undefined) return Promise.resolve(known);
    if (this.isUnknown(key)) return Promise.resolve(undefined);
    const before = this.#asking.get(key);
    if (before !== undefined) return before;
    const until_ms = monotonicMs() + CACHED_MS;
    const round = this.#round;
    const asked = ask().then((value) => {
      this.#keep(key, { value, until_ms, round });
      return value;
    });
    this.#asking.set(key, asked);
    const end = () => {
      if (this.#asking.get(key) === asked) this.#asking.delete(key);
    };
    asked.then(end, end);
    return asked;
  }

  /** The cached value, without asking; undefined when there is none. */
  peek(key: string, now_ms = monotonicMs()): T | undefined {
    const cached = this.#known.get(key);
    return cached !== undefined && this.#isGood(cached, now_ms) ? cached.value : undefined;
  }

  /** Whether the database said, just now, that there is no such thing. */
  isUnknown(key: string): boolean {
    const cached = this.#unknown.get(key);
    return cached !== undefined && this.#isGood(cached, monotonicMs());
  }

  /** Whether there was a value when it was last asked for, however long ago. */
  wasKnown(key: string): boolean {
    return this.#known.has(key);
  }

  /** Whether the database is being asked at this moment: `get` would wait for that answer. */
  isAsking(key: string): boolean {
    return this.#asking.has(key);
  }

  /** Has everything asked for anew, also what is being asked for at this moment. */
  forget(): void {
    this.#round += 1;
    this.#asking.clear();
  }

  #isGood({ until_ms, round }: Cached<unknown>, now_ms: number): boolean {
    return round === this.#round && now_ms < until_ms;
  }

  #keep(key: string, cached: Cached<T | undefined>): void {
    this.#known.delete(key);
    this.#unknown.delete(key);
    if (isKnown(cached)) keepNewest(this.#known, KNOWN_MAX).set(key, cached);
    else keepNewest(this.#unknown, UNKNOWN_MAX).set(key, cached);
  }
}

function isKnown<T>(cached: Cached<T | undefined>): cached is Cached<T> {
  return cached.value !== undefined;
}

/** Makes room for one more: a map is in the order in which its keys were set. */
function keepNewest<K, V>(map: Map<K, V>, max: number): Map<K, V> {
  for (const oldest of map.keys()) {
    if (map.size < max) break;
    map.delete(oldest);
  }
  return map;
}
