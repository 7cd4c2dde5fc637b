// Billable metrics.

import { changedFields } from "../../domain/changed-fields.ts";
import { checkMeasure } from "../../domain/metrics.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { type By, emit, type Fact, updated } from "../../operations/emit.ts";
import { Wrapped } from "../../schema/common.ts";
import { Metric, MetricCreate, MetricPatch } from "../../schema/metrics.ts";
import * as metrics from "../../store/catalog/metrics.ts";
import * as priceOverrides from "../../store/catalog/price-overrides.ts";
import type { Tx } from "../../store/db/db.ts";
import { type Route, write } from "../route.ts";
import { pathId } from "../views.ts";
import { codedRoutes } from "./coded-routes.ts";

const tag = "Metrics";
const One = Wrapped("metric", Metric);

const create = write({
  method: "POST",
  path: "/v1/metrics",
  once_by: "code",
  id: "createMetric",
  errors: ["already_exists"],
  tag,
  summary: "Create a billable metric",
  description:
    "Says how events with its code become units. All but its name stays as it is. An archived one with the same code that counts in the same way comes back, under its id.",
  scope: "write",
  project: "required",
  body: MetricCreate,
  reply: [201, One],
  example: { code: "api_calls", name: "API calls", aggregation_type: "sum", field_name: "calls" },
  async handle({ tx, project, by, body, now }) {
    checkMeasure(body, "");
    const inserted = await metrics.insert(tx, project, body, now);
    const metric = inserted ?? (await metrics.restore(tx, project, body, now));
    if (metric === undefined) {
      const existing = await metrics.getByCode(tx, project, body.code);
      throw refuse("already_exists", "A metric with this code exists.", {
        details: [{ field: "code", code: "taken", ...(existing && { existing_id: existing.id }) }],
      });
    }
    const { id: resource_id, code, name, aggregation_type } = metric;
    const fact =
      inserted === undefined
        ? { type: "metric.updated" as const, payload: { code, name, archived_at: null } }
        : { type: "metric.created" as const, payload: { code, aggregation_type } };
    await emit(tx, project, [{ ...fact, resource_id }], by, now);
    return { metric };
  },
});

const patch = write({
  method: "PATCH",
  path: "/v1/metrics/:id",
  id: "updateMetric",
  tag,
  summary: "Rename a metric",
  description:
    "How a metric aggregates never changes: usage was counted by it. Make a new one instead.",
  scope: "write",
  project: "required",
  params: { id: "UUID of the metric." },
  body: MetricPatch,
  reply: [200, One],
  async handle({ tx, project, by, params, body, now }) {
    const before = await metrics.lock(tx, project, pathId(params.id));
    const metric = before && (await metrics.patch(tx, project, before.id, body, now));
    if (before === undefined || metric === undefined) throw notFound("metric");
    const changed = changedFields(before, metric, Object.keys(MetricPatch.properties));
    await emit(tx, project, updated("metric.updated", metric.id, changed), by, now);
    return { metric };
  },
});

async function archive(tx: Tx, project: ProjectId, id: string, by: By, now: Date): Promise<void> {
  const metric = await metrics.lock(tx, project, id);
  if (metric === undefined) throw notFound("metric");
  if (metric.archived_at !== null) return;
  const isOverride = await priceOverrides.isUsed(tx, project, { metric_id: id });
  if (isOverride || (await metrics.isUsed(tx, project, id))) {
    throw refuse(
      "has_dependencies",
      "Live charges, or open periods, measure by this metric. Change those, and wait until these have ended.",
    );
  }
  await metrics.archive(tx, project, id, now);
  const fact: Fact = { type: "metric.archived", resource_id: id, payload: { code: metric.code } };
  await emit(tx, project, [fact], by, now);
}

export const metricRoutes: Route[] = [
  create,
  ...codedRoutes({
    tag,
    path: "/v1/metrics",
    one: "a metric",
    many: "metrics",
    key: "metric",
    keys: "metrics",
    schema: Metric,
    store: metrics,
    ids: { list: "listMetrics", get: "getMetric", archive: "archiveMetric" },
    archive: {
      description:
        "It takes no events from then on. 422 has_dependencies while live charges measure by it, or a live subscription's open period does.",
      errors: ["has_dependencies"],
      act: archive,
    },
  }),
  patch,
];
