// Generated from the OpenAPI document: the types of Metrics. Do not edit.

import type { Page } from "./common.ts";

export type Metric = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly aggregation_type: "sum" | "count" | "count_unique" | "max" | "latest";
  readonly field_name: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
};

export type CreateMetricBody = {
  readonly code: string;
  readonly name: string;
  readonly aggregation_type: "sum" | "count" | "count_unique" | "max" | "latest";
  readonly field_name?: string | null;
};

export type ListMetricsQuery = {
  /** Answers {metric} instead of a list. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type ListMetricsReply = Page & { readonly metrics: readonly Metric[] };

export type UpdateMetricBody = { readonly name: string };
