// Rows of usage events as a test writes them to the store: plain ones, but for what it is about.

import { randomUUID } from "node:crypto";
import type { EventRow } from "../../src/store/usage/recording.ts";

type Told = Pick<EventRow, "subscription_id" | "metric_id" | "at"> & Partial<EventRow>;

/** An event of the first period that counts 1, received when it happened. */
export function eventRow(told: Told): EventRow {
  return {
    key: randomUUID(),
    transaction_id: null,
    period_no: 1,
    received_at: told.at,
    arrival: 1,
    quantity: "1",
    unique_value: null,
    value: null,
    properties: null,
    unbillable: null,
    combination: null,
    is_weighted: false,
    ...told,
  };
}
