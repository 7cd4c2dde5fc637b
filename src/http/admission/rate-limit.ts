// Rate limits of this process, as token buckets: so many at once, so many a minute after that.

import { isIPv6 } from "node:net";
import { monotonicMs } from "../../clock.ts";
import { refuse } from "../../errors.ts";

const BUCKETS_MAX = 50_000;
const MINUTE_MS = 60_000;

export type Rate = { readonly burst: number; readonly per_minute: number };

/** What counts as one caller: an IPv4 address, or the 2^64 IPv6 addresses that come together. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1];
  if (mapped !== undefined) return mapped;
  const [before = "", after] = ip.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  const groups = [...head, ...zeros, ...tail].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}

export class RateLimit {
  readonly #rate: Rate;
  readonly #countRefusal: (() => void) | undefined;
  readonly #buckets = new Map<string, { left: number; at: number }>();

  /** `countRefusal` is for one that all callers together share, which stands for a bound. */
  constructor(rate: Rate, countRefusal?: () => void) {
    this.#rate = rate;
    this.#countRefusal = countRefusal;
  }

  /** Takes one, or throws 429 saying when the next one is there. */
  take(key: string, now_ms = monotonicMs()): void {
    const { burst, per_minute } = this.#rate;
    const bucket = this.#buckets.get(key) ?? { left: burst, at: now_ms };
    const refilled = bucket.left + ((now_ms - bucket.at) * per_minute) / MINUTE_MS;
    const left = Math.min(burst, refilled);
    if (left < 1) {
      this.#countRefusal?.();
      const wait_s = Math.max(1, Math.ceil(((1 - left) * 60) / per_minute));
      throw refuse("rate_limited", `Too many requests. Try again in ${wait_s} s.`, {
        headers: { "retry-after": String(wait_s) },
      });
    }
    // All callers begin anew, which is rare, and cheaper than to find out which are full again.
    if (this.#buckets.size >= BUCKETS_MAX) this.#buckets.clear();
    this.#buckets.set(key, { left: left - 1, at: now_ms });
  }

  /** Undoes a `take`: what it was for need not be counted. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.left = Math.min(this.#rate.burst, bucket.left + 1);
  }
}
