// The only reader of the machine's clock. Everything else is handed `now`.

export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };

/** Milliseconds of wall time, for time-ordered ids and caches: never for a billing decision. */
export function wallMs(): number {
  return Date.now();
}

/** Milliseconds that never run backwards, for durations. */
export function monotonicMs(): number {
  return performance.now();
}

let lastArrival = 0;

/**
 * A number, or the first of several that count up: microseconds of wall time, strictly rising in
 * this process. They order events by their arrival.
 */
export function nextArrivals(count = 1): number {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  const first = Math.max(micros, lastArrival + 1);
  lastArrival = first + count - 1;
  return first;
}
