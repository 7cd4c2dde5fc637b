// The error table, the limits and the versioning rules, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { makeCustomer } from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

test("every error response has the body {error: {code, message, retryable}}", async () => {
  const answers = [
    await api.call("GET", "/v1/customers", undefined, { authorization: undefined }),
    await api.call("GET", "/v1/customers", undefined, { "x-project-id": undefined }),
    await api.get(`/v1/customers/${UNKNOWN_ID}`),
    await api.post("/v1/customers", {}),
    await api.get("/v1/nowhere"),
    await api.call("PUT", "/v1/customers", {}),
  ];
  expect(answers.map(({ status }) => status)).toEqual([401, 400, 404, 422, 404, 405]);
  for (const { status, body } of answers) {
    expectError({ status, body }, status, body.error.code);
    expect(body.error.retryable).toBe(false);
  }
});

test("unauthorized 401: token missing or invalid", async () => {
  const answer = await api.as({ token: "dues_wrong" }).get("/v1/customers");
  expectError(answer, 401, "unauthorized");
});

test("forbidden 403: token lacks the required scope", async () => {
  const { token } = await service.token(["events"]);
  expectError(await api.as({ token }).get("/v1/customers"), 403, "forbidden");
});

test("not_found 404: resource does not exist (for example a plan)", async () => {
  for (const kind of ["customers", "metrics", "catalog", "plans", "subscriptions", "invoices"]) {
    expectError(await api.get(`/v1/${kind}/${UNKNOWN_ID}`), 404, "not_found");
  }
  expectError(await api.get("/v1/plans?code=unheard"), 404, "not_found");
});

test("not_found 404: PATCH of a customer or plan with an unknown id", async () => {
  expectError(await api.patch(`/v1/customers/${UNKNOWN_ID}`, { name: "X" }), 404, "not_found");
  expectError(await api.patch(`/v1/plans/${UNKNOWN_ID}`, { name: "X" }), 404, "not_found");
});

test("missing_project 400: the project header is required and absent (including on list endpoints)", async () => {
  for (const kind of ["customers", "subscriptions", "invoices", "payments", "billing-events"]) {
    const without = { "x-project-id": undefined };
    const answer = await api.call("GET", `/v1/${kind}`, undefined, without);
    expectError(answer, 400, "missing_project");
  }
});

test("validation_error 422: a PATCH with no fields, or a non-UUID customer_id", async () => {
  const customer = await makeCustomer(api);
  expectError(await api.patch(`/v1/customers/${customer.id}`, {}), 422, "validation_error");
  const body = { customer_id: "acme", plan_id: UNKNOWN_ID };
  expectError(await api.post("/v1/subscriptions", body), 422, "validation_error");
});

test("the form of validation detail: field, code and message of each fault", async () => {
  const body = { external_id: 5, email: "nobody", currency: "usd" };
  const { error } = (await api.post("/v1/customers", body)).body;
  const fields = error.details.map((detail: { field: string }) => detail.field);
  expect(new Set(fields)).toEqual(new Set(["name", "external_id", "email", "currency"]));
});

test("all timestamps are ISO 8601 UTC strings with milliseconds", async () => {
  const customer = await makeCustomer(api);
  expect(new Date(customer.created_at).toISOString()).toBe(customer.created_at);
});

test("bodies and responses are JSON", async () => {
  const answer = await api.get("/v1/customers");
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  const text = await api.call("POST", "/v1/customers", {}, { "content-type": "text/plain" });
  expectError(text, 415, "unsupported_media_type");
});

test("versioning: all API paths begin with /v1", async () => {
  expect((await api.get("/v1/customers")).status).toBe(200);
  expectError(await api.get("/customers"), 404, "not_found");
  expectError(await api.get("/v2/customers"), 404, "not_found");
});

test("limits: the default page is 10 records, the largest 1000", async () => {
  for (let i = 0; i < 11; i++) await makeCustomer(api);
  expect((await api.ok("GET", "/v1/customers")).customers).toHaveLength(10);
  expect((await api.get("/v1/customers?limit=1000")).status).toBe(200);
});
