// How much of the processors' time the host gave to others, as Linux counts it. A machine on which
// that is more than a little is not quiet, and both sides of a ratio suffer by chance.

import { readFileSync } from "node:fs";
import { figure } from "./stage.ts";

/** Percent of the time. Above this, what is measured says little. */
const QUIET_MAX = 1;

/** To be asked for the percent since now, which is undefined where the system does not say. */
export function watchStolen(): () => number | undefined {
  const before = readTicks();
  return () => {
    const after = readTicks();
    if (before === undefined || after === undefined || after.all === before.all) return undefined;
    return (100 * (after.stolen - before.stolen)) / (after.all - before.all);
  };
}

/** A warning, where there is reason for one. */
export function noticeOf(stolen: number | undefined): string | undefined {
  if (stolen === undefined || stolen <= QUIET_MAX) return undefined;
  const share = `${figure(stolen)} %`;
  return `The host gave ${share} of the processors' time to others: not a quiet machine.`;
}

/** Ticks of all processors: user, nice, system, idle, iowait, irq, softirq, steal. */
function readTicks(): { all: number; stolen: number } | undefined {
  let text: string;
  try {
    text = readFileSync("/proc/stat", "utf8");
  } catch {
    return undefined;
  }
  const counts = text.split(/\s+/, 9).slice(1).map(Number);
  return { all: counts.reduce((sum, one) => sum + one, 0), stolen: counts[7] ?? 0 };
}
