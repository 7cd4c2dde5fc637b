// Billable metrics.

import { checkMeasure } from "../../domain/metrics.ts";
import { refuse } from "../../errors.ts";
import { emit } from "../../operations/emit.ts";
import { CodeQuery, ListOrOne, Wrapped } from "../../schema/common.ts";
import { Metric, MetricCreate, MetricPatch } from "../../schema/metrics.ts";
import * as metrics from "../../store/metrics.ts";
import * as priceOverrides from "../../store/price-overrides.ts";
import { point, type Route, read, write } from "../route.ts";
import { byCaller, pathId } from "../views.ts";

const tag = "Metrics";

const createMetric = write({
  method: "POST",
  path: "/v1/metrics",
  once_by: "code",
  id: "createMetric",
  errors: ["already_exists"],
  tag,
  summary: "Create a billable metric",
  description: "Says how events with its code become units. All but its name stays as it is.",
  scope: "write",
  project: "required",
  body: MetricCreate,
  reply: [201, Wrapped("metric", Metric)],
  example: { code: "api_calls", name: "API calls", aggregation_type: "sum", field_name: "calls" },
  async handle({ tx, project, actor, body, now }) {
    checkMeasure(body, "");
    const metric = await metrics.insert(tx, project, body, now);
    if (metric === undefined) {
      const existing = await metrics.getByCode(tx, project, body.code);
      throw refuse("already_exists", "A metric with this code exists.", {
        details: [{ field: "code", code: "taken", ...(existing && { existing_id: existing.id }) }],
      });
    }
    const payload = { code: metric.code, aggregation_type: metric.aggregation_type };
    const fact = { type: "metric.created" as const, resource_id: metric.id, payload };
    await emit(tx, project, [fact], byCaller(actor), now);
    return { metric };
  },
});

const listMetrics = read({
  method: "GET",
  path: "/v1/metrics",
  id: "listMetrics",
  tag,
  summary: "List metrics, or find one by code",
  description: "Newest first, the live ones. With code the answer is that metric.",
  scope: "read",
  project: "required",
  query: CodeQuery("metric"),
  reply: [200, ListOrOne("metrics", { key: "code", one: "metric" }, Metric)],
  async handle({ db, project, query }) {
    if (query.code === undefined) {
      return { metrics: await metrics.list(db, project, query.archived === "1"), has_more: false };
    }
    const metric = await metrics.getByCode(db, project, query.code);
    if (metric === undefined) throw refuse("not_found", "No metric has this code.");
    return { metric };
  },
});

const getMetric = point({
  method: "GET",
  path: "/v1/metrics/:id",
  id: "getMetric",
  tag,
  summary: "Get a metric",
  description: "Archived ones too.",
  scope: "read",
  project: "required",
  params: { id: "UUID of the metric." },
  reply: [200, Wrapped("metric", Metric)],
  async handle({ db, project, params }) {
    const metric = await metrics.get(db, project, pathId(params.id));
    if (metric === undefined) throw refuse("not_found", "No metric has this id.");
    return { metric };
  },
});

const patchMetric = write({
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
  reply: [200, Wrapped("metric", Metric)],
  async handle({ tx, project, actor, params, body, now }) {
    const metric = await metrics.patch(tx, project, pathId(params.id), body, now);
    if (metric === undefined) throw refuse("not_found", "No metric has this id.");
    const fact = {
      type: "metric.updated" as const,
      resource_id: metric.id,
      payload: { name: metric.name },
    };
    await emit(tx, project, [fact], byCaller(actor), now);
    return { metric };
  },
});

const archiveMetric = write({
  method: "DELETE",
  path: "/v1/metrics/:id",
  id: "archiveMetric",
  errors: ["has_dependencies"],
  tag,
  summary: "Archive a metric",
  description:
    "It takes no events from then on. 422 has_dependencies while live charges measure by it.",
  scope: "write",
  project: "required",
  params: { id: "UUID of the metric." },
  reply: [204, null],
  async handle({ tx, project, actor, params, now }) {
    const metric = await metrics.lock(tx, project, pathId(params.id));
    if (metric === undefined) throw refuse("not_found", "No metric has this id.");
    if (metric.archived_at !== null) return;
    const isOverride = await priceOverrides.isUsed(tx, project, { metric_id: metric.id });
    if (isOverride || (await metrics.isUsed(tx, project, metric.id))) {
      throw refuse("has_dependencies", "Live charges measure by this metric. Change those first.");
    }
    await metrics.archive(tx, project, metric.id, now);
    const fact = {
      type: "metric.archived" as const,
      resource_id: metric.id,
      payload: { code: metric.code },
    };
    await emit(tx, project, [fact], byCaller(actor), now);
  },
});

export const metricRoutes: Route[] = [
  createMetric,
  listMetrics,
  getMetric,
  patchMetric,
  archiveMetric,
];
