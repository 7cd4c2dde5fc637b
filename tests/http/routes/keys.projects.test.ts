// Tokens that are for some projects of their organization only.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiServer } from "../../../src/service/api-server.ts";
import { type Answer, type App, type Body, type Json, startApp } from "../../support/app.ts";
import { expectError } from "../../support/shapes.ts";

let app: App;
let mine: string;
let other: string;

beforeAll(async () => {
  app = await startApp({ mode: "live" });
  mine = app.profile.project_id;
  await app.post("/v1/workspaces", { slug: "second" });
  const made = await app.post("/v1/projects", { workspace: "second", slug: "other" });
  other = made.project.id;
});
afterAll(() => app.close());

async function key(body: Body, headers: Body = {}): Promise<Json> {
  const { organization_id } = app.profile;
  return app.ok("POST", "/v1/keys", { name: "k", organization_id, ...body }, headers);
}

/** Calls as a token that is for these projects. */
async function as(project_ids: readonly string[], scopes = ["read", "write", "admin"]) {
  const made = await key({ project_ids, scopes });
  const headers = { authorization: `Bearer ${made.token}` };
  const call = (method: string, url: string, body?: unknown, more: Body = {}): Promise<Answer> =>
    app.call(method, url, body, { ...headers, ...more });
  return { made, headers, call };
}

describe("making one", () => {
  test("shows what it is for, as does the list; one without is for all", async () => {
    const made = await key({ project_ids: [mine.toUpperCase(), other] });
    expect(made.project_ids).toEqual([mine, other]);
    expect((await key({})).project_ids).toBeNull();
    const { tokens } = await app.get("/v1/keys");
    expect(tokens.find(({ id }: Json) => id === made.id).project_ids).toEqual([mine, other]);
    expect(tokens.find(({ id }: Json) => id !== made.id).project_ids).toBeNull();
  });

  test("takes projects of the organization only, and at least one", async () => {
    const { organization_id } = app.profile;
    const ask = (project_ids: unknown) =>
      app.call("POST", "/v1/keys", { name: "k", organization_id, project_ids });
    expectError(await ask([mine, crypto.randomUUID()]), 404, "not_found");
    for (const wrong of [[], [mine, mine], ["x"], "x", null]) {
      expectError(await ask(wrong), 422, "validation_error");
    }
  });

  test("is told in the log of its projects alone", async () => {
    const { made } = await as([other]);
    const query = `/v1/billing-events?resource_id=${made.id}`;
    expect((await app.get(query)).billing_events).toEqual([]);
    const there = await app.ok("GET", query, undefined, { "x-project-id": other });
    expect(there.billing_events[0]).toMatchObject({
      event_type: "token.created",
      payload: { project_ids: [other] },
    });
    await app.ok("DELETE", `/v1/keys/${made.id}`);
    const after = await app.ok("GET", query, undefined, { "x-project-id": other });
    expect(after.billing_events).toHaveLength(2);
  });
});

describe("another project of the organization", () => {
  test("is to it what a project that does not exist is, also once others have used it", async () => {
    const { call } = await as([other]);
    expect((await app.call("GET", "/v1/customers")).status).toBe(200);
    for (const [method, url, body] of [
      ["GET", "/v1/customers", undefined],
      ["POST", "/v1/customers", { external_id: "x", name: "X" }],
      ["POST", "/v1/events", { transaction_id: "t" }],
      ["GET", "/v1/settings", undefined],
      ["POST", "/v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
    ] as const) {
      const real = await call(method, url, body);
      const none = await call(method, url, body, { "x-project-id": crypto.randomUUID() });
      expectError(real, 404, "not_found");
      expect(real.body.error.message).toBe(none.body.error.message);
    }
    expect((await call("GET", "/v1/customers", undefined, { "x-project-id": other })).status).toBe(
      200,
    );
  });

  test("is the same on a server that has everything in its cache", async () => {
    const { headers } = await as([other]);
    const { context } = app;
    const server = apiServer(context, { draining: false, schema_version: 0, warnings: [] });
    const ask = async (authorization: string, project: string) => {
      const sent = { authorization, "x-project-id": project };
      return (await server.fastify.inject({ url: "/v1/customers", headers: sent })).statusCode;
    };
    const full = `Bearer ${app.profile.token}`;
    for (let round = 0; round < 2; round++) {
      expect(await ask(full, mine)).toBe(200);
      expect(await ask(full, other)).toBe(200);
      expect(await ask(headers.authorization, other)).toBe(200);
      expect(await ask(headers.authorization, mine)).toBe(404);
    }
    await server.fastify.close();
  });

  test("its cached portal views are not purged", async () => {
    const { call } = await as([other]);
    const { customer } = await app.post("/v1/customers", { external_id: "p", name: "P" });
    const view = () => app.call("GET", `/v1/portal/${customer.id}`);
    await view();
    const none = { "x-project-id": undefined };
    expect((await call("DELETE", `/v1/portal-cache/${customer.id}`, undefined, none)).status).toBe(
      200,
    );
    expect((await call("DELETE", "/v1/portal-cache", undefined, none)).body.count).toBe(0);
    expect((await view()).headers["x-portal-cache"]).toBe("hit");
  });
});

describe("the organization", () => {
  const none = { "x-project-id": undefined };

  test("shows it its own projects, their workspaces, and tokens for no others", async () => {
    const { call, made } = await as([other]);
    const { projects } = (await call("GET", "/v1/projects", undefined, none)).body;
    expect(projects.map(({ id }: Json) => id)).toEqual([other]);
    const { workspaces } = (await call("GET", "/v1/workspaces", undefined, none)).body;
    expect(workspaces.map(({ slug }: Json) => slug)).toEqual(["second"]);
    const { tokens } = (await call("GET", "/v1/keys", undefined, none)).body;
    expect(tokens.map(({ id }: Json) => id)).toContain(made.id);
    for (const { project_ids } of tokens) expect(project_ids).toEqual([other]);
    const me = (await call("GET", "/v1/keys/me", undefined, none)).body;
    expect(me.token.project_ids).toEqual([other]);
    // With KEY_CREATION=open it would be enough to make a token for all.
    expect(me.organization).not.toHaveProperty("id");
  });

  test("lets it make no workspaces and no projects", async () => {
    const { call } = await as([other]);
    const workspace = await call("POST", "/v1/workspaces", { slug: "third" }, none);
    expectError(workspace, 403, "forbidden");
    const body = { workspace: "second", slug: "more" };
    expectError(await call("POST", "/v1/projects", body, none), 403, "forbidden");
  });

  test("lets it revoke tokens for no others than its own projects", async () => {
    const { call } = await as([other]);
    for (const { id } of [await key({}), await key({ project_ids: [mine, other] })]) {
      expectError(await call("DELETE", `/v1/keys/${id}`, undefined, none), 404, "not_found");
    }
    const { id } = await key({ project_ids: [other] });
    expect((await call("DELETE", `/v1/keys/${id}`, undefined, none)).status).toBe(204);
  });

  test("an Idempotency-Key of its answers only itself", async () => {
    const [one, two] = [await as([mine]), await as([other])];
    const sent = { ...none, "idempotency-key": "purge" };
    const first = await one.call("DELETE", "/v1/portal-cache", undefined, sent);
    const again = await one.call("DELETE", "/v1/portal-cache", undefined, sent);
    const theirs = await two.call("DELETE", "/v1/portal-cache", undefined, sent);
    expect(first.status).toBe(200);
    expect(again.headers["idempotent-replayed"]).toBe("true");
    expect(theirs.headers).not.toHaveProperty("idempotent-replayed");
  });
});

test("where tokens are made by tokens, it makes some for its own projects and no others", async () => {
  const there = await startApp({ env: { KEY_CREATION: "authenticated" } });
  try {
    const { organization_id, project_id } = there.profile;
    const { project } = await there.post("/v1/projects", { workspace: "main", slug: "more" });
    const ask = (body: Body, headers: Body = {}) =>
      there.call("POST", "/v1/keys", { name: "k", organization_id, ...body }, headers);
    const limited = (await ask({ project_ids: [project_id] })).body;
    const headers = { authorization: `Bearer ${limited.token}` };
    expectError(await ask({}, headers), 403, "forbidden");
    expectError(await ask({ project_ids: [project.id] }, headers), 404, "not_found");
    const unknown = await ask({ project_ids: [crypto.randomUUID()] }, headers);
    expectError(unknown, 404, "not_found");
    expectError(await ask({ project_ids: [project_id, project.id] }, headers), 404, "not_found");
    const made = await ask({ project_ids: [project_id] }, headers);
    expect(made.body.project_ids).toEqual([project_id]);
    const me = await there.call("GET", "/v1/keys/me", undefined, headers);
    expect(me.body.organization.id).toBe(organization_id);
  } finally {
    await there.close();
  }
});
