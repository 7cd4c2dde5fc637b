// Billable metrics: how events turn into units.

import Type, { type Static } from "typebox";
import { Nullable, OneOf, Reference, Text, Timestamp, Uuid } from "./common.ts";

export const AGGREGATIONS = ["sum", "count", "count_unique", "max", "latest"] as const;
export type AggregationType = (typeof AGGREGATIONS)[number];
/** The aggregations that cannot do without a property to read. */
export const FIELD_REQUIRED: readonly AggregationType[] = ["sum", "max", "count_unique"];

export const Metric = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    aggregation_type: OneOf(AGGREGATIONS),
    field_name: Nullable(Type.String()),
    created_at: Timestamp,
    updated_at: Timestamp,
    archived_at: Nullable(Timestamp),
  },
  { title: "Metric" },
);
export type Metric = Static<typeof Metric>;

export const MetricCreate = Type.Object({
  code: Reference,
  name: Text,
  aggregation_type: OneOf(AGGREGATIONS),
  field_name: Type.Optional(Nullable(Text)),
});
export type MetricCreate = Static<typeof MetricCreate>;

export const MetricPatch = Type.Object({ name: Text });
export type MetricPatch = Static<typeof MetricPatch>;
