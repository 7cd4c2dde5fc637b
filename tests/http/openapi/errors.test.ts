// The errors that routes declare are answered: those that follow from a route's shape, and those of
// handlers that no other test meets.

import { afterAll, describe, expect, test } from "vitest";
import { errorsOf } from "../../../src/http/openapi/errors.ts";
import { startApp } from "../../support/app.ts";
import { routeOf } from "../../support/declared-errors.ts";
import { code, makeInvoice, makePlan, makeSubscription, paymentOf } from "../../support/records.ts";
import { UNKNOWN_ID } from "../../support/samples.ts";

const app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
afterAll(() => app.close());

type Sent = { readonly body?: unknown; readonly headers?: Record<string, string> };

/** Makes the call and expects its code, also among those that its route declares. */
async function expectCode(method: string, url: string, wanted: string, sent: Sent = {}) {
  const answer = await app.call(method, url, sent.body, sent.headers);
  expect(answer.body.error.code).toBe(wanted);
  const route = routeOf(method, url);
  expect(route && errorsOf(route)).toContain(wanted);
}

describe("by the shape of the route", () => {
  const json = { "content-type": "application/json" };
  const voiding = `/v1/invoices/${UNKNOWN_ID}/void`;

  test.each<[string, string, string, Sent]>([
    ["DELETE", `/v1/plans/${UNKNOWN_ID}`, "invalid_json", { body: "{", headers: json }],
    ["POST", voiding, "invalid_json", { body: "{", headers: json }],
    ["POST", voiding, "payload_too_large", { body: "x".repeat(2_000_000), headers: json }],
    [
      "POST",
      voiding,
      "unsupported_media_type",
      { body: "x", headers: { "content-type": "text/plain" } },
    ],
    ["GET", "/healthz?a=%00", "validation_error", {}],
    ["GET", "/v1/keys?a=%00", "validation_error", {}],
    [
      "DELETE",
      `/v1/keys/${UNKNOWN_ID}`,
      "validation_error",
      { headers: { "idempotency-key": "x".repeat(300) } },
    ],
  ])("%s %s answers %s", async (method, url, wanted, sent) => {
    await expectCode(method, url, wanted, sent);
  });

  test("the tool endpoint reads its body itself and answers faults in it as JSON-RPC", async () => {
    const answer = await app.call("POST", "/v1/mcp", "{", json);
    expect([answer.status, answer.body.error.code]).toEqual([200, -32700]);
    const route = routeOf("POST", "/v1/mcp");
    expect(route && errorsOf(route)).not.toContain("invalid_json");
  });
});

describe("by the handler", () => {
  test("a project in an unknown workspace is not_found, and a slug twice already_exists", async () => {
    const slug = code("project");
    const body = { workspace: "main", slug, mode: "live" };
    await app.post("/v1/projects", body);
    await expectCode("POST", "/v1/projects", "already_exists", { body });
    const elsewhere = { ...body, workspace: "nowhere" };
    await expectCode("POST", "/v1/projects", "not_found", { body: elsewhere });
  });

  test("the clock of a live project is not moved: live_project", async () => {
    const body = { workspace: "main", slug: code("live"), mode: "live" };
    const { project } = await app.post("/v1/projects", body);
    const headers = { "x-project-id": project.id };
    const at = "2027-01-01T00:00:00.000Z";
    await expectCode("POST", "/v1/clock", "live_project", { body: { frozen_at: at }, headers });
    await expectCode("POST", "/v1/clock/advance", "live_project", { body: { to: at }, headers });
  });

  test("a paid invoice is not voided, and a voided one is not paid", async () => {
    const paid = await makeInvoice(app);
    await app.post("/v1/payments", paymentOf(paid));
    await expectCode("POST", `/v1/invoices/${paid.id}/void`, "invoice_already_paid");
    const voided = await makeInvoice(app);
    await app.post(`/v1/invoices/${voided.id}/void`);
    await expectCode("POST", "/v1/payments", "invoice_voided", { body: paymentOf(voided) });
  });

  test("making an ended subscription active again is under the rules of a start", async () => {
    const plan = await makePlan(app);
    const external_id = code("sub");
    const ended = await makeSubscription(app, { plan_id: plan.id, external_id });
    await app.post(`/v1/subscriptions/${ended.id}/terminate`);
    const successor = await makeSubscription(app, { plan_id: plan.id, external_id });
    const url = `/v1/subscriptions/${ended.id}`;
    const back = { body: { status: "active" } };
    await expectCode("PATCH", url, "already_exists", back);
    await app.post(`/v1/subscriptions/${successor.id}/terminate`);
    await app.ok("DELETE", `/v1/plans/${plan.id}`);
    await expectCode("PATCH", url, "plan_archived", back);
  });

  test("properties that grow beyond their limit by a merge are limit_exceeded", async () => {
    const { id } = await makeSubscription(app, { properties: { a: "x".repeat(9_000) } });
    const body = { properties: { b: "x".repeat(9_000) } };
    await expectCode("PATCH", `/v1/subscriptions/${id}`, "limit_exceeded", { body });
  });
});
