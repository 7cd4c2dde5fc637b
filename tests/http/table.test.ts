// Walks the table of routes, so that a new route is covered before its author writes a test:
// who may call it, for which project, with which ids and bodies, and what it answers.

import { Ajv } from "ajv";
import type { TSchema } from "typebox";
import { afterAll, describe, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { errorsByShape } from "../../src/http/openapi/errors.ts";
import type { Route } from "../../src/http/route.ts";
import { routeTable } from "../../src/http/table.ts";
import { newToken } from "../../src/ids.ts";
import { initTenant } from "../../src/service/first-tenant.ts";
import { sql } from "../../src/store/db/sql.ts";
import { type Answer, type Body, startApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { expectDeclared } from "../support/declared-errors.ts";
import { makeEveryRecord, readEveryRecord } from "../support/every-record.ts";
import { happyCalls } from "../support/happy-calls.ts";
import { misfits, sample, UNKNOWN_ID } from "../support/samples.ts";
import { expectError } from "../support/shapes.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

const app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
afterAll(() => app.close());

const table = routeTable(
  app.context,
  { draining: false, schema_version: 0, warnings: [] },
  new Bounds(),
);
const named = (routes: readonly Route[]) =>
  routes.map((route) => [`${route.method} ${route.path}`, route] as const);
const guarded = table.filter((route) => route.scope !== "public");
const projectBound = guarded.filter((route) => route.project === "required");

const own = new Client(app, { token: app.profile.token, project: app.profile.project_id });
const sibling = await secondProject();
const stranger = await secondOrganization();
const tokens = {
  read: (await makeToken(["read"])).token,
  events: (await makeToken(["events"])).token,
  revoked: await revokedToken(),
  expired: await expiredToken(),
  unknown: newToken(),
};

async function secondProject(): Promise<Client> {
  const wanted = { workspace: "main", slug: "second", mode: "sandbox" };
  const { project } = await app.post("/v1/projects", wanted);
  return own.with({ project: project.id });
}

async function secondOrganization(): Promise<Client> {
  const slugs = { org: "stranger", workspace: "main", project: "test" };
  const now = app.context.clock.now();
  const profile = await initTenant(app.context.db, slugs, "sandbox", "", now);
  return new Client(app, { token: profile.token, project: profile.project_id });
}

async function makeToken(scopes: string[]): Promise<{ id: string; token: string }> {
  const { organization_id } = app.profile;
  return app.post("/v1/keys", { name: "every route", organization_id, scopes });
}

async function revokedToken(): Promise<string> {
  const { id, token } = await makeToken(["admin"]);
  await app.ok("DELETE", `/v1/keys/${id}`);
  return token;
}

async function expiredToken(): Promise<string> {
  const { id, token } = await makeToken(["admin"]);
  await app.context.db.run(sql`
    update tokens
       set expires_at = created_at
     where id = ${id}`);
  return token;
}

/** Every parameter of the path replaced by the same text, but for what is no id. */
function pathOf(route: Route, id: string = UNKNOWN_ID): string {
  return route.path.replace(":currency", "USD").replace(/:\w+/g, id);
}

function goodBody(route: Route): unknown {
  return route.body === undefined ? undefined : sample(route.body);
}

/** The token of one's own organization that may do everything, unless the headers say otherwise. */
function send(route: Route, headers: Body = {}, id?: string, body = goodBody(route)) {
  return app.call(route.method, pathOf(route, id), body, headers);
}

/** What tells answers apart, whatever the request. */
function said(answer: Answer): unknown {
  return [answer.status, answer.body?.error?.code, answer.body?.error?.message];
}

describe("what routes declare", () => {
  test("every page of the portal is a page when it is refused, too", () => {
    const pages = table.filter(({ path }) => path.startsWith("/portal/"));
    expect(pages.length).toBeGreaterThan(6);
    expect(pages.filter(({ refusalPage }) => refusalPage === undefined)).toEqual([]);
  });

  test("no two routes have one id", () => {
    const ids = table.map(({ id }) => id);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  });

  test("routes name each error once, and none that their shape says already", () => {
    const idle = table.flatMap((route) => {
      const { errors = [] } = route;
      const known = errorsByShape(route);
      const said = errors.filter((code, i) => known.includes(code) || errors.indexOf(code) !== i);
      return said.map((code) => `${route.id} ${code}`);
    });
    expect(idle).toEqual([]);
  });

  // Every call of the suite goes through the same check.
  test("an answer that its route does not declare is noticed", () => {
    const of = (code: string) => ({ error: { code } });
    expect(() => expectDeclared("GET", "/v1/keys/me", of("not_found"))).toThrow("getCurrentKey");
    expect(() => expectDeclared("GET", "/healthz", of("unavailable"))).toThrow("getHealthz");
    expect(() => expectDeclared("DELETE", "/v1/keys/1?x=1", of("not_found"))).not.toThrow();
    expect(() => expectDeclared("GET", "/nowhere", of("not_found"))).not.toThrow();
    expect(() => expectDeclared("GET", "/v1/keys/me", { token: {} })).not.toThrow();
  });
});

describe.each(named(guarded))("%s: who may call", (_name, route) => {
  test("no token, garbage, and dead tokens are 401, before anything else is looked at", async () => {
    const { read: _read, events: _events, ...dead } = tokens;
    const headers = [undefined, "", "Bearer", "Bearer dues_x", `Basic ${app.profile.token}`];
    headers.push(...Object.values(dead).map((token) => `Bearer ${token}`));
    for (const authorization of headers) {
      const answer = await send(route, { authorization, "x-project-id": undefined }, "x", null);
      expectError(answer, 401, "unauthorized");
    }
  });

  test("a token of another scope is 403, after the header is there and before it is read", async () => {
    for (const scope of ["read", "events"] as const) {
      if (scope === route.scope) continue;
      const authorization = `Bearer ${tokens[scope]}`;
      const answer = await send(route, { authorization, "x-project-id": "no-uuid" }, "x", null);
      expectError(answer, 403, "forbidden");
    }
  });
});

describe.each(named(projectBound))("%s: for which project", (_name, route) => {
  test("a missing project header is 400, also with the wrong scope", async () => {
    const scope = route.scope === "events" ? "read" : "events";
    const authorization = `Bearer ${tokens[scope]}`;
    for (const project of [undefined, ""]) {
      const answer = await send(route, { authorization, "x-project-id": project }, "x", null);
      expectError(answer, 400, "missing_project");
    }
  });

  test("a header that is no UUID is 422 and names the header", async () => {
    const answer = await send(route, { "x-project-id": "main" }, "x", null);
    expectError(answer, 422, "validation_error");
    expect(answer.body.error.details[0].field).toBe("X-Project-Id");
  });

  test("an unknown project and one of another organization are the same 404", async () => {
    const unknown = await send(route, { "x-project-id": UNKNOWN_ID });
    const foreign = await send(route, { "x-project-id": stranger.project });
    expectError(unknown, 404, "not_found");
    expect(said(foreign)).toEqual(said(unknown));
  });
});

const theirs = {
  sibling: await makeEveryRecord(sibling),
  stranger: await makeEveryRecord(stranger),
};

// Purging what is not there is a purge all the same.
const ANSWERS_ALIKE = ["/v1/portal-cache/:customerId"];
// Pages for people answer in pages.
const withIds = table.filter((route) => /:\w+/.test(route.path) && route.hidden !== true);

/** The ids of others that a route must not know. */
function foreignIds({ path, scope }: Route): (string | undefined)[] {
  const kind = path.split("/")[2] ?? "";
  // A customer's id is the key to its portal, whoever has it.
  if (scope === "public") return [];
  // An organization's tokens are not its projects' own, so another project has the same ones.
  const owners = kind === "keys" ? [theirs.stranger] : [theirs.stranger, theirs.sibling];
  return owners.map((records) => records[kind]);
}

describe.each(named(withIds))("%s: with which ids", (_name, route) => {
  test("ids that are unknown, of another project or of another organization get one answer", async () => {
    const unknown = await send(route);
    if (!ANSWERS_ALIKE.includes(route.path)) expectError(unknown, 404, "not_found");
    for (const id of foreignIds(route)) {
      // A new kind of record is made in tests/support/every-record.ts.
      if (id === undefined) throw new Error(`Nobody else has what ${route.path} names.`);
      const answer = await send(route, {}, id);
      if (ANSWERS_ALIKE.includes(route.path)) expect(answer.status).toBe(unknown.status);
      else expect(said(answer)).toEqual(said(unknown));
    }
  });

  test("text that is no id is 404", async () => {
    if (ANSWERS_ALIKE.includes(route.path)) return;
    const words = ["not-an-id", "1", "ext:", "ext:nobody", "%20", "..%2f", "x".repeat(300)];
    for (const word of words) expectError(await send(route, {}, word), 404, "not_found");
  });
});

test("after all those calls the records of others are as they were", async () => {
  const read = () =>
    Promise.all([
      readEveryRecord(sibling, theirs.sibling),
      readEveryRecord(stranger, theirs.stranger),
    ]);
  // What is kept of views is kept by the first reading.
  await read();
  const before = await read();
  for (const route of withIds.filter(({ method }) => method !== "GET")) {
    for (const id of foreignIds(route)) await send(route, {}, id);
  }
  expect(await read()).toEqual(before);
});

// JSON-RPC has errors of its own, inside a 200.
const withBodies = table.filter(({ body, path }) => body !== undefined && path !== "/v1/mcp");

describe.each(named(withBodies))("%s: with which bodies", (_name, route) => {
  test("no body, and a body that is no object, is 422 with details", async () => {
    const bodies = ["null", "[]", '"text"', "42", ...(route.body_optional ? [] : [undefined])];
    for (const body of bodies) {
      const headers = body === undefined ? {} : { "content-type": "application/json" };
      const answer = await app.call(route.method, pathOf(route), body, headers);
      expectError(answer, 422, "validation_error");
      expect(answer.body.error.details.length).toBeGreaterThan(0);
    }
  });

  test("every field of a wrong type, and every one that is missing, is named", async () => {
    for (const { field, body } of misfits(route.body)) {
      const answer = await send(route, {}, UNKNOWN_ID, body);
      expectError(answer, 422, "validation_error");
      const fields = answer.body.error.details.map((detail: { field: string }) => detail.field);
      expect(fields, `${field} ${JSON.stringify(answer.body)}`).toContain(field);
    }
  });
});

/** The methods that some route takes at a path, also one that takes it for an id. */
function takes(path: string): string[] {
  const given = path.split("/");
  const fits = ({ path: pattern }: Route) => {
    const parts = pattern.split("/");
    return (
      parts.length === given.length &&
      parts.every((part, i) => part.startsWith(":") || part === given[i])
    );
  };
  return [...new Set(table.filter(fits).map(({ method }) => method as string))];
}

/** The methods that a refusal names: where a route spells the path out, that of ids has no part. */
function told(path: string): string[] {
  const exact = table.filter((route) => route.path === path).map(({ method }) => method as string);
  return exact.length > 0 ? exact : takes(path);
}

test.each([...new Set(table.map((route) => pathOf(route)))])(
  "%s answers other methods with 405 and says which it takes",
  async (path) => {
    const allowed = takes(path);
    for (const method of METHODS.filter((one) => !allowed.includes(one))) {
      const answer = await app.call(method, path, method === "GET" ? undefined : {});
      expectError(answer, 405, "method_not_allowed");
      const said = String(answer.headers.allow).split(", ");
      expect(new Set(said.filter((one) => one !== "HEAD"))).toEqual(new Set(told(path)));
      expect(said.includes("HEAD")).toBe(said.includes("GET"));
    }
  },
);

test.each(["/v1", "/v1/", "/v1/nothing", "/v1/customers/", "/v1/customers/a/b", "/V1/keys"])(
  "nothing is at %s",
  async (path) => expectError(await app.call("GET", path), 404, "not_found"),
);

describe("success", () => {
  const ajv = new Ajv({ strict: false, allErrors: true, formats: { uuid: true } });
  for (const format of ["date-time", "date", "currency", "timestamp", "uri"]) {
    ajv.addFormat(format, true);
  }

  function check(route: Route, answer: Answer): void {
    const shown = JSON.stringify(answer.body);
    expect(answer.status, shown).toBeLessThan(300);
    const replies: Record<number, TSchema | null> = { ...route.also };
    replies[route.reply[0]] = route.reply[1];
    expect(Object.keys(replies)).toContain(String(answer.status));
    const schema = replies[answer.status];
    if (!schema) return;
    const validate = ajv.compile(schema);
    expect(validate(answer.body), `${shown} ${JSON.stringify(validate.errors)}`).toBe(true);
  }

  test("every route succeeds, with the body that the table promises", async () => {
    const routes = new Map(table.map((route) => [`${route.method} ${route.path}`, route]));
    const left = new Set(routes.keys());
    for await (const { name, answer } of happyCalls(own)) {
      const route = routes.get(name);
      if (route === undefined) throw new Error(`The table has no ${name}.`);
      check(route, answer);
      left.delete(name);
    }
    // A new route is called in tests/support/happy-calls.ts.
    expect([...left]).toEqual([]);
  });
});

test("a path that is spelled out is not taken for an id, and HEAD goes where GET does", async () => {
  for (const [url, allow] of [
    ["/v1/keys/me", "GET, HEAD"],
    ["/v1/customers", "POST, GET, HEAD"],
  ]) {
    const answer = await app.call("PUT", url ?? "", {});
    expect([url, answer.status, answer.headers.allow]).toEqual([url, 405, allow]);
  }
});

test("a slash at the end of a path is what the refusal is about", async () => {
  for (const url of ["/v1/customers/", "/v1/customers/?limit=1", "/v1/invoices/x/"]) {
    const answer = await app.call("GET", url);
    expectError(answer, 404, "not_found");
    expect(answer.body.error.message).toBe("The path ends in a slash. Leave it out.");
  }
  expect((await app.call("GET", "/?utm=mail/")).status).toBe(200);
});
