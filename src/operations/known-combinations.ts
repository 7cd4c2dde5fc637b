// Keeps the combinations of dimensions per subscription, metric and period within their bound.
// Those that are known cost nothing; for others the database is asked. A guard, not a count: events
// that are under way together may pass it.

import { COMBINATIONS_MAX } from "../domain/dimensions.ts";
import { type Refusal, refuse } from "../errors.ts";
import type { Queryable } from "../store/db.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as usageSums from "../store/usage-sums.ts";

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
const known = new Map<string, Set<string>>();

/** Refuses the events that would open one combination too many. */
export async function refuseTooMany(
  db: Queryable,
  project: ProjectId,
  events: readonly Combined[],
): Promise<void> {
  for (const event of events) {
    const { combination, subscription, metric, period_no } = event;
    if (combination === null || event.refusal !== undefined || event.unbillable !== null) continue;
    if (subscription === undefined || metric === undefined) continue;
    const key = `${project} ${subscription.id} ${metric.id} ${period_no}`;
    if (known.get(key)?.has(combination)) continue;
    const period = { subscription_id: subscription.id, metric_id: metric.id, period_no };
    const found = new Set([
      ...(known.get(key) ?? []),
      ...(await usageSums.listCombinations(db, project, period)),
    ]);
    if (!found.has(combination) && found.size >= COMBINATIONS_MAX) {
      event.refusal = refuse(
        "limit_exceeded",
        `properties: the metric has ${COMBINATIONS_MAX} combinations of dimensions in this ` +
          "period already. Send fewer distinct values.",
      );
      continue;
    }
    if (known.size >= REMEMBERED_MAX) known.clear();
    known.set(key, found.add(combination));
  }
}
