// What documents call a plan and its charges.

import type { Names, PlanVersion, PricedCharge } from "./pricing.ts";

/** Names as they are now, by id; of catalog items by code. */
export type NameBook = {
  readonly plans: ReadonlyMap<string, string>;
  readonly metrics: ReadonlyMap<string, string>;
  readonly items: ReadonlyMap<string, string>;
};

/**
 * Names on the lines of a price list. `then` are those of an earlier invoice, by charge id, "" for
 * the plan: they count before the ones of now.
 */
export function namesOf(
  book: NameBook,
  list: Pick<PlanVersion, "plan_id" | "plan_code">,
  then: Readonly<Record<string, string>> = {},
): Names {
  const { metrics, items, plans } = book;
  return {
    plan: then[""] ?? plans.get(list.plan_id) ?? list.plan_code,
    ofCharge: ({ id, name, metric_id, metric_code, catalog_item_code }: PricedCharge) =>
      then[id] ??
      name ??
      (metric_id === null
        ? (items.get(catalog_item_code ?? "") ?? catalog_item_code ?? "Fee")
        : (metrics.get(metric_id) ?? metric_code ?? "Fee")),
  };
}
