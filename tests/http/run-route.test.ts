// Running a route: what a handler can rely on, whatever the way in.

import { afterAll, beforeAll, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { Gate } from "../../src/http/request/auth.ts";
import { type Route, type RouteRequest, read, write } from "../../src/http/route.ts";
import { portalRefusal } from "../../src/http/routes/portal.ts";
import { routeRunner } from "../../src/http/run-route.ts";
import { unavailable } from "../../src/store/db/failures.ts";
import { sql } from "../../src/store/db/sql.ts";
import { type App, startApp } from "../support/app.ts";
import { jittery } from "../support/jittery.ts";
import { code } from "../support/records.ts";

let app: App;
beforeAll(async () => {
  app = await startApp({ mode: "live" });
});
afterAll(() => app.close());

function requestFor(route: Route): RouteRequest {
  return {
    id: "r",
    method: route.method,
    url: route.path,
    headers: {
      authorization: `Bearer ${app.profile.token}`,
      "x-project-id": app.profile.project_id,
    },
    params: {},
    query: {},
    ip: "127.0.0.1",
    readBody: async () => ({ json: undefined }),
  };
}

const shape = {
  method: "POST",
  path: "/v1/probe",
  id: "probe",
  tag: "Probe",
  summary: "Probe",
  scope: "write",
  project: "required",
  reply: [204, null],
} as const;

test("what is to happen after a commit happens once it can be seen by others", async () => {
  const { project_id } = app.profile;
  const seen: unknown[] = [];
  const name = code("name");
  const route = write({
    ...shape,
    async handle({ tx, context, afterCommit }) {
      await tx.run(sql`update projects set name = ${name} where id = ${project_id}`);
      afterCommit(() => {
        const asked = sql`select name from projects where id = ${project_id}`;
        seen.push(context.db.one<{ name: string }>(asked));
      });
    },
  });
  const run = routeRunner(app.context, new Gate(app.context), new Bounds());
  expect((await run(route, requestFor(route))).status).toBe(204);
  expect(await Promise.all(seen)).toEqual([{ name }]);
});

test("after a rollback nothing of it happens", async () => {
  let happened = false;
  const route = write({
    ...shape,
    async handle({ afterCommit }) {
      afterCommit(() => {
        happened = true;
      });
      throw new Error("no");
    },
  });
  const run = routeRunner(app.context, new Gate(app.context), new Bounds());
  expect((await run(route, requestFor(route))).status).toBe(500);
  expect(happened).toBe(false);
});

test("a route of the organization has no project, whoever is cached and whatever is sent", async () => {
  const body = { slug: code("w") };
  const key = { "idempotency-key": code("k") };
  await app.get("/v1/customers");
  const first = await app.call("POST", "/v1/workspaces", body, key);
  app.server.gate.forget();
  const second = await app.call("POST", "/v1/workspaces", body, key);
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.headers["idempotent-replayed"]).toBe("true");
  expect(second.body).toEqual(first.body);
});

test("when too many wait for the database, a write is refused before its body is read", async () => {
  const full = () => {
    throw unavailable("Too many requests wait for the database.", undefined);
  };
  const db = { ...jittery(app.context.db, 0), admit: full };
  const context = { ...app.context, db };
  const run = routeRunner(context, new Gate(context), new Bounds());
  const route = write({ ...shape, handle: async () => null });
  let isRead = false;
  const readBody = async () => {
    isRead = true;
    return { json: undefined };
  };
  const answer = await run(route, { ...requestFor(route), readBody });
  expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
  expect(isRead).toBe(false);
});

test("people get a page for whatever goes wrong, and our own failure says nothing of itself", async () => {
  const wrong = [unavailable("The database is away.", undefined), new Error("a secret")];
  const answers = wrong.map(async (error) => {
    const route = read({
      ...shape,
      method: "GET",
      scope: "public",
      project: "none",
      refusalPage: portalRefusal,
      handle: () => Promise.reject(error),
    });
    const run = routeRunner(app.context, new Gate(app.context), new Bounds());
    return run(route, { ...requestFor(route), url: "/portal/1?access=a" });
  });
  const headers = { "content-type": "text/html; charset=utf-8", "x-request-id": "r" };
  expect(await Promise.all(answers)).toMatchObject([
    { status: 503, headers, body: expect.stringContaining('href="/portal/1"') },
    { status: 500, headers, body: expect.not.stringContaining("secret") },
  ]);
});
