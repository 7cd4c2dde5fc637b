// The level of metrics that are weighted sums: all changes so far, by combination. It outlives
// periods, so each period starts with what the one before left.

import { add, decimal, formatDecimal, isZero } from "./decimal.ts";
import type { Levels, MetricUsage } from "./usage-fees.ts";

/** The levels with the changes of the usage added; levels of 0 are left out. */
export function levelsAfter(levels: Levels, usage: readonly MetricUsage[]): Levels {
  const changes = usage.filter(({ moment }) => moment !== null && moment !== undefined);
  if (changes.length === 0) return levels;
  const after: Record<string, Record<string, string>> = structuredClone(levels);
  for (const { metric_id, combination, sum } of changes) {
    after[metric_id] ??= {};
    const ofMetric = after[metric_id];
    const key = combination ?? "";
    const level = add(decimal(ofMetric[key] ?? "0"), decimal(sum ?? "0"));
    if (isZero(level)) delete ofMetric[key];
    else ofMetric[key] = formatDecimal(level);
  }
  return after;
}

/** The levels behind the usage; null as long as no metric has had a level. */
export function levelsBehind(levels: Levels | null, usage: readonly MetricUsage[]): Levels | null {
  const after = levelsAfter(levels ?? {}, usage);
  return levels === null && Object.keys(after).length === 0 ? null : after;
}
