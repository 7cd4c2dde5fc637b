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

/** Microseconds of wall time, strictly rising in this process: orders events by their arrival. */
export function nextArrival(): number {
  const micros = Math.round((performance.timeOrigin + performance.now()) * 1000);
  lastArrival = Math.max(micros, lastArrival + 1);
  return lastArrival;
}
