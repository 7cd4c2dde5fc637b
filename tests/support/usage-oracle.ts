// The units of a period straight from its events: what the sums of its days, which the service
// keeps and bills from, are compared with.

import { add, type Decimal, decimal, integer, max, ZERO } from "../../src/domain/decimal.ts";
import type { AggregationType } from "../../src/schema/metrics.ts";

/** A usage event with what it counts. */
export type CountedUsage = {
  readonly at: Date;
  /** The order in which events came in: it decides between equal instants. */
  readonly arrival: bigint;
  readonly quantity: string | null;
  readonly unique_value: string | null;
};

/** The units of all events together; of a weighted sum, the change of its level. */
export function unitsOfEvents(type: AggregationType, events: readonly CountedUsage[]): Decimal {
  const newestFirst = events.toSorted(
    (a, b) => b.at.getTime() - a.at.getTime() || (a.arrival < b.arrival ? 1 : -1),
  );
  const quantities = newestFirst.flatMap(({ quantity }) =>
    quantity === null ? [] : [decimal(quantity)],
  );
  const [newest, ...older] = quantities;
  switch (type) {
    case "sum":
    case "weighted_sum":
      return quantities.reduce(add, ZERO);
    case "count":
      return integer(events.length);
    case "count_unique":
      return integer(new Set(events.flatMap(({ unique_value }) => unique_value ?? [])).size);
    case "max":
      return newest === undefined ? ZERO : older.reduce(max, newest);
    case "latest":
      return newest ?? ZERO;
  }
}
