// Random numbers that are the same for the same seed (mulberry32), so that a demo can be told
// about: "customer 7 is overdue" holds on every machine.

export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number;
  pick<T>(from: readonly [T, ...T[]]): T;
  chance(share: number): boolean;
};

/** Each name gives a sequence of its own: what one part draws does not change another. */
export function randomOf(seed: number, name: string): Random {
  let state = seed >>> 0;
  for (const char of name) state = Math.imul(state ^ (char.codePointAt(0) ?? 0), 0x9e3779b1);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    int,
    pick: (from) => from[int(0, from.length - 1)] ?? from[0],
    chance: (share) => next() < share,
  };
}
