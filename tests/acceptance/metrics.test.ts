// Billable metrics, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { makeMetric } from "../support/records.ts";
import { expectError, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

test("POST /v1/metrics: body code, name, aggregation_type, field_name; 201 {metric}", async () => {
  const body = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
  const made = await api.post("/v1/metrics", body);
  expect(made.status).toBe(201);
  expect(made.body.metric).toMatchObject(body);
  expect(made.body.metric.id).toMatch(UUID);
});

test.each(["sum", "count", "count_unique", "max", "latest"])(
  "aggregation_type: enum sum, count, count_unique, max, latest (%s)",
  async (aggregation_type) => {
    expect(await makeMetric(api, { aggregation_type })).toMatchObject({ aggregation_type });
  },
);

test("another aggregation_type fails schema validation", async () => {
  const body = { code: "p95", name: "P95", aggregation_type: "percentile", field_name: "ms" };
  expectError(await api.post("/v1/metrics", body), 422, "validation_error");
});

test.each(["sum", "max", "count_unique"])("field_name is required for %s", async (type) => {
  const body = { code: `without-field-${type}`, name: "X", aggregation_type: type };
  const refused = await api.post("/v1/metrics", body);
  expectError(refused, 422, "validation_error");
  expect(refused.body.error.details[0].field).toBe("field_name");
});

test.each(["count", "latest"])("field_name is not required for %s", async (type) => {
  const body = { code: `without-field-${type}`, name: "X", aggregation_type: type };
  const made = await api.post("/v1/metrics", body);
  expect(made.status).toBe(201);
  expect(made.body.metric.field_name).toBeNull();
});

test("GET /v1/metrics: 200 {metrics:[...]}; with code, 200 {metric}", async () => {
  const metric = await makeMetric(api);
  const listed = await api.get("/v1/metrics");
  expect(listed.status).toBe(200);
  expect(listed.body.metrics).toContainEqual(metric);
  const found = await api.get(`/v1/metrics?code=${metric.code}`);
  expect([found.status, found.body]).toEqual([200, { metric }]);
});

test("GET /v1/metrics lists all of them, not a page of ten", async () => {
  const made = await Promise.all(Array.from({ length: 12 }, () => makeMetric(api)));
  const { metrics } = (await api.get("/v1/metrics")).body;
  expect(metrics).toEqual(expect.arrayContaining(made));
});

test("GET /v1/metrics/:id: a metric", async () => {
  const metric = await makeMetric(api);
  const found = await api.get(`/v1/metrics/${metric.id}`);
  expect([found.status, found.body]).toEqual([200, { metric }]);
});

test("code is a stable identifier: a second metric of the same code is refused", async () => {
  const metric = await makeMetric(api);
  const again = { code: metric.code, name: "Other", aggregation_type: "count" };
  const refused = await api.post("/v1/metrics", again);
  expectError(refused, 409, "already_exists");
  expect(refused.body.error.details[0].existing_id).toBe(metric.id);
});
