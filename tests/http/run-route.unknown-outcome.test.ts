// The answer to a commit was lost: only what is done once, however often it is sent, is said to be
// worth a repeat.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpServer } from "../../src/http/server.ts";
import { apiServer } from "../../src/service/api-server.ts";
import { type App, startApp } from "../support/app.ts";
import { testContext } from "../support/context.ts";
import { MortalDb } from "../support/crash.ts";
import { code, makeAddOn, makeCustomer, makePlan } from "../support/records.ts";

const KEYED = { "idempotency-key": "once" };

let app: App;
let server: HttpServer;
let db: MortalDb;
let ids: Record<"add_on" | "customer" | "plan", string>;
beforeAll(async () => {
  app = await startApp({ mode: "live" });
  db = new MortalDb(app.context.db);
  const { secret_key } = app.context;
  const context = testContext({ ...app.context, db, secret_key });
  server = apiServer(context, { draining: false, schema_version: 1, warnings: [] });
  ids = {
    add_on: (await makeAddOn(app)).id,
    customer: (await makeCustomer(app)).id,
    plan: (await makePlan(app)).id,
  };
});
afterAll(async () => {
  await server.fastify.close();
  await app.close();
});

async function send(method: "POST" | "PATCH", url: string, payload: object, headers = {}) {
  db.arm({ statement: 1, when: "lost" });
  const { token, project_id } = app.profile;
  const own = { authorization: `Bearer ${token}`, "x-project-id": project_id };
  const answer = await server.fastify.inject({
    method,
    url,
    payload,
    headers: { ...own, ...headers },
  });
  expect(answer.statusCode).toBe(503);
  expect(answer.json().error.code).toBe("unavailable");
  return answer;
}

test("an add-on may have been applied: it is not to be sent again unseen", async () => {
  const path = `/v1/addons/${ids.add_on}/apply`;
  const answer = await send("POST", path, { customer_id: ids.customer });
  expect(answer.json().error).toMatchObject({ retryable: false });
  expect(answer.json().error.message).toContain("Idempotency-Key");
  expect(answer.headers["retry-after"]).toBe(undefined);
  const keyed = await send("POST", path, { customer_id: ids.customer }, KEYED);
  expect(keyed.json().error.retryable).toBe(true);
});

test("a token is made anew by every call without a key", async () => {
  const body = { name: "t", organization_id: app.profile.organization_id };
  expect((await send("POST", "/v1/keys", body)).json().error.retryable).toBe(false);
  expect((await send("POST", "/v1/keys", body, KEYED)).json().error.retryable).toBe(true);
});

test("what the caller's own id tells apart may be repeated, with that id", async () => {
  const { customer: customer_id, plan: plan_id } = ids;
  const named = { external_id: code("c"), name: "C" };
  expect((await send("POST", "/v1/customers", named)).json().error.retryable).toBe(true);
  const wanted = { customer_id, plan_id };
  expect((await send("POST", "/v1/subscriptions", wanted)).json().error.retryable).toBe(false);
  const own = { ...wanted, external_id: code("s") };
  expect((await send("POST", "/v1/subscriptions", own)).json().error.retryable).toBe(true);
});

test("a change may be repeated", async () => {
  const answer = await send("PATCH", `/v1/customers/${ids.customer}`, { name: "D" });
  expect(answer.json().error.retryable).toBe(true);
});
