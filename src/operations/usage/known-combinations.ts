// Keeps the combinations of dimensions per subscription, metric and period within their bound.
// Those that are known cost nothing; for others the database is asked. A guard, not a count: events
// that are under way together may pass it.

import { COMBINATIONS_MAX } from "../../domain/dimensions.ts";
import { type Refusal, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as usageSums from "../../store/usage/sums.ts";

type Combined = {
  readonly combination: string | null;
  readonly subscription: { readonly id: string } | undefined;
  readonly metric: { readonly id: string } | undefined;
  readonly period_no: number;
  readonly unbillable: string | null;
  refusal: Refusal | undefined;
};

/** Periods whose combinations are remembered; beyond it all are forgotten. */
const REMEMBERED_MAX = 10_000;

export class CombinationMemory {
  readonly #known = new Map<string, Set<string>>();

  of(key: string): ReadonlySet<string> | undefined {
    return this.#known.get(key);
  }

  makeRoomFor(periods: number): void {
    if (this.#known.size + periods > REMEMBERED_MAX) this.#known.clear();
  }

  add(key: string, combination: string): void {
    const found = this.#known.get(key) ?? new Set();
    this.#known.set(key, found.add(combination));
  }
}

/** Refuses the events that would open one combination too many. Asks the database at most once. */
export async function refuseTooMany(
  db: Queryable,
  known: CombinationMemory,
  project: ProjectId,
  events: readonly Combined[],
): Promise<void> {
  if (events.every(({ combination }) => combination === null)) return;
  const unknown = events.flatMap((event) => {
    const { combination, subscription, metric, period_no } = event;
    if (combination === null || event.refusal !== undefined || event.unbillable !== null) return [];
    if (subscription === undefined || metric === undefined) return [];
    const period = { subscription_id: subscription.id, metric_id: metric.id, period_no };
    const key = keyOf(project, period);
    return known.of(key)?.has(combination) ? [] : [{ event, combination, period, key }];
  });
  if (unknown.length === 0) return;
  const periods = [...new Map(unknown.map(({ key, period }) => [key, period])).values()];
  known.makeRoomFor(periods.length);
  for (const row of await usageSums.listCombinations(db, project, periods)) {
    known.add(keyOf(project, row), row.combination);
  }
  for (const { event, combination, key } of unknown) {
    const found = known.of(key);
    if (found?.has(combination)) continue;
    if (found !== undefined && found.size >= COMBINATIONS_MAX) event.refusal = tooMany();
    else known.add(key, combination);
  }
}

function keyOf(project: ProjectId, period: usageSums.MetricPeriod): string {
  return `${project} ${period.subscription_id} ${period.metric_id} ${period.period_no}`;
}

function tooMany(): Refusal {
  return refuse(
    "limit_exceeded",
    `properties: the metric has ${COMBINATIONS_MAX} combinations of dimensions in this ` +
      "period already. Send fewer distinct values.",
  );
}
