// Billable metrics: how events turn into units.

import Type, { type Static } from "typebox";
import { Name, Nullable, OneOf, Patterned, Reference, Text, Timestamp, Uuid } from "./common.ts";

export const AGGREGATIONS = [
  "sum",
  "count",
  "count_unique",
  "max",
  "latest",
  "weighted_sum",
] as const;
export type AggregationType = (typeof AGGREGATIONS)[number];
/** The aggregations that cannot do without a property to read. */
export const FIELD_REQUIRED: readonly AggregationType[] = [
  "sum",
  "max",
  "count_unique",
  "weighted_sum",
];
/** Measures of a level that lasts: unit-hours, or the average of the period. */
export const WEIGHTS = ["hour", "period"] as const;
export const DIMENSIONS_MAX = 4;
export const Dimension = Patterned(
  "^[A-Za-z0-9_.-]{1,64}$",
  "have 1 to 64 letters, digits, dots, hyphens and underscores",
);

export const Metric = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    aggregation_type: OneOf(AGGREGATIONS),
    field_name: Nullable(Type.String()),
    dimensions: Type.Array(Type.String(), {
      description: "Event properties by which usage is kept apart. Never changes.",
    }),
    weighted_by: Nullable(OneOf(WEIGHTS, "Of a weighted_sum: unit-hours, or the average.")),
    created_at: Timestamp,
    updated_at: Timestamp,
    archived_at: Nullable(Timestamp),
  },
  { title: "Metric" },
);
export type Metric = Static<typeof Metric>;

export const MetricCreate = Type.Object({
  code: Reference,
  name: Name,
  aggregation_type: OneOf(
    AGGREGATIONS,
    "weighted_sum is a level that lasts: each event changes it.",
  ),
  field_name: Type.Optional(Nullable(Text)),
  dimensions: Type.Optional(
    Type.Array(Dimension, {
      maxItems: DIMENSIONS_MAX,
      uniqueItems: true,
      description: "Event properties by which usage is kept apart, so that each can have a price.",
    }),
  ),
  weighted_by: Type.Optional(
    Nullable(OneOf(WEIGHTS, "weighted_sum: unit-hours, or the average of the period.")),
  ),
});
export type MetricCreate = Static<typeof MetricCreate>;

export const MetricPatch = Type.Object({ name: Name });
export type MetricPatch = Static<typeof MetricPatch>;
