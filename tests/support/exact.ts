// Whole-number arithmetic of the rules of money, written apart from the service's own so that the
// two can be compared.

/** n / d, half away from zero; d is above 0. */
export function roundedQuotient(n: bigint, d: bigint): bigint {
  const size = n < 0n ? -n : n;
  const rounded = (2n * size + d) / (2n * d);
  return n < 0n ? -rounded : rounded;
}

/** A percentage of up to 4 decimals in ten-thousandths of a percent: "5.5" is 55000. */
export function tenThousandths(percent: string): bigint {
  const [whole = "0", part = ""] = percent.split(".");
  return BigInt(whole) * 10_000n + BigInt(part.padEnd(4, "0"));
}

/** round(cents · percent / 100). */
export function percentOf(cents: number, percent: string): number {
  return Number(roundedQuotient(BigInt(cents) * tenThousandths(percent), 1_000_000n));
}

/** round(amount · part / whole); whole is above 0. */
export function shareOf(amount: number, part: number, whole: number): number {
  return Number(roundedQuotient(BigInt(amount) * BigInt(part), BigInt(whole)));
}

export function sum(amounts: readonly number[]): number {
  return amounts.reduce((all, amount) => all + amount, 0);
}
