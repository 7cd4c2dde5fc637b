// What the metrics show of a bound.

import { Registry } from "prom-client";
import type { Bounds } from "../../src/http/admission/bound.ts";

export type Shown = { readonly level: number | undefined; readonly refusals: number | undefined };

export async function shownBound(bounds: Bounds, bound: string): Promise<Shown> {
  const registry = new Registry();
  bounds.showIn(registry);
  const [level, refusals] = await Promise.all(
    ["dues_bound_level", "dues_bound_refusals_total"].map(async (name) => {
      const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] };
      return values.find(({ labels }) => labels.bound === bound)?.value;
    }),
  );
  return { level, refusals };
}
