// What the metrics show of a bound.

import { registry } from "../../src/telemetry.ts";

export type Shown = { readonly level: number | undefined; readonly refusals: number | undefined };

export async function shownBound(bound: string): Promise<Shown> {
  const [level, refusals] = await Promise.all(
    ["dues_bound_level", "dues_bound_refusals_total"].map(async (name) => {
      const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] };
      return values.find(({ labels }) => labels.bound === bound)?.value;
    }),
  );
  return { level, refusals };
}
