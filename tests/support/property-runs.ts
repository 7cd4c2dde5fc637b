// How a property over stories on a service is run.

import type { Parameters } from "fast-check";

/**
 * A failure is told at once, with the seed that repeats it: looking for a shorter story takes
 * minutes, and a test that runs out of time tells neither. Leave `endOnFailure` out to look for it.
 */
export function runs(numRuns: number): Parameters<unknown> {
  return { numRuns, endOnFailure: true };
}
