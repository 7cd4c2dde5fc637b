// Tokens beyond the spec's sentences: who may make them, how fast, and how soon they die.

import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../../src/clock.ts";
import { newToken } from "../../../src/ids.ts";
import { apiServer } from "../../../src/service/api-server.ts";
import { initTenant } from "../../../src/service/first-tenant.ts";
import type { Db } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { tokenSweepJob } from "../../../src/workers/sweep.ts";
import { type App, type Body, startApp, testConfig } from "../../support/app.ts";
import { testContext } from "../../support/context.ts";
import { runToEnd } from "../../support/run-job.ts";
import { UNKNOWN_ID } from "../../support/samples.ts";
import { expectError } from "../../support/shapes.ts";

const NOBODY = { authorization: undefined, "x-project-id": undefined };

/** A clock that the test moves. */
class HandClock implements Clock {
  #ms = Date.UTC(2026, 0, 10);
  now(): Date {
    return new Date(this.#ms);
  }
  pass(ms: number): void {
    this.#ms += ms;
  }
}

const clock = new HandClock();
const app = await startApp({ clock });
afterAll(() => app.close());

function createKey(on: App, body: object = {}, headers: Body = NOBODY) {
  const { organization_id } = on.profile;
  return on.call("POST", "/v1/keys", { name: "k", organization_id, ...body }, headers);
}

function me(token: string, on = app) {
  const headers = { authorization: `Bearer ${token}`, "x-project-id": undefined };
  return on.call("GET", "/v1/keys/me", undefined, headers);
}

/** A second server on the same database, as a second process would be. */
function secondServer(db: Db = app.context.db) {
  const secret_key = randomBytes(32);
  const context = testContext({ config: testConfig(), db, clock, secret_key });
  return apiServer(context, { draining: false, schema_version: 0, warnings: [] });
}

describe("KEY_CREATION", () => {
  test("open: anyone who knows the organization may make a token", async () => {
    expect((await createKey(app)).status).toBe(201);
  });

  test("bootstrap: open until the first token, then admin tokens only, also when all are revoked", async () => {
    const there = await startApp({ env: { KEY_CREATION: "bootstrap" } });
    try {
      const { token, organization_id } = there.profile;
      expectError(await createKey(there), 401, "unauthorized");
      const headers = { authorization: `Bearer ${token}` };
      const made = await createKey(there, { scopes: ["write"] }, headers);
      expect(made.status).toBe(201);
      const writer = { authorization: `Bearer ${made.body.token}` };
      expectError(await createKey(there, {}, writer), 403, "forbidden");
      const elsewhere = await otherOrganization(there);
      const stranger = { authorization: `Bearer ${elsewhere.token}` };
      expectError(await createKey(there, {}, stranger), 403, "forbidden");
      await there.context.db.run(sql`
        update tokens
           set revoked_at = created_at
         where organization_id = ${organization_id}`);
      expectError(await createKey(there), 401, "unauthorized");
      await there.context.db.run(sql`
        delete from tokens
         where organization_id = ${organization_id}`);
      expect((await createKey(there)).status).toBe(201);
      expectError(await createKey(there), 401, "unauthorized");
    } finally {
      await there.close();
    }
  });

  test("authenticated: admin tokens only, also for the first one", async () => {
    const there = await startApp({ env: { KEY_CREATION: "authenticated" } });
    try {
      const { token, organization_id } = there.profile;
      const headers = { authorization: `Bearer ${token}` };
      expect((await createKey(there, {}, headers)).status).toBe(201);
      await there.context.db.run(sql`
        update tokens
           set revoked_at = created_at
         where organization_id = ${organization_id}`);
      expectError(await createKey(there), 401, "unauthorized");
    } finally {
      await there.close();
    }
  });
});

async function otherOrganization(on: App) {
  const slugs = { org: `o-${process.hrtime.bigint()}`, workspace: "main", project: "test" };
  return initTenant(on.context.db, slugs, "sandbox", "", on.context.clock.now());
}

test("a token made without scopes may read, write and administer", async () => {
  const { body } = await createKey(app);
  expect(body.scopes).toEqual(["read", "write", "admin"]);
});

test("unknown, repeated and no scopes are refused", async () => {
  for (const scopes of [["fly"], ["read", "read"], [], "read", [null]]) {
    expectError(await createKey(app, { scopes }), 422, "validation_error");
  }
});

test.each([
  ["read", { GET: 200, POST: 403, events: 403, keys: 403 }],
  ["write", { GET: 200, POST: 422, events: 422, keys: 403 }],
  ["events", { GET: 403, POST: 403, events: 422, keys: 403 }],
  ["admin", { GET: 200, POST: 422, events: 422, keys: 422 }],
  ["*", { GET: 200, POST: 422, events: 422, keys: 422 }],
])("the scope %s opens what it says", async (scope, wanted) => {
  const { token } = (await createKey(app, { scopes: [scope] })).body;
  const headers = { authorization: `Bearer ${token}` };
  const status = async (method: string, path: string, body?: object) =>
    (await app.call(method, path, body, headers)).status;
  expect({
    GET: await status("GET", "/v1/customers"),
    POST: await status("POST", "/v1/customers", {}),
    events: await status("POST", "/v1/events", {}),
    keys: await status("POST", "/v1/workspaces", {}),
  }).toEqual(wanted);
});

test("the organization's id is shown to those who may administer, and to nobody else", async () => {
  const { organization_id } = app.profile;
  for (const scope of ["read", "write", "events", "admin"]) {
    const { token } = (await createKey(app, { scopes: [scope] })).body;
    const headers = { authorization: `Bearer ${token}` };
    const paths = ["/v1/keys/me", "/v1/keys", "/v1/projects", "/v1/workspaces", "/v1/analytics"];
    const answers = await Promise.all(
      paths.map((path) => app.call("GET", path, undefined, headers)),
    );
    const shown = JSON.stringify(answers.map(({ body }) => body)).includes(organization_id);
    expect(shown, scope).toBe(scope === "admin");
  }
  const log = await app.get("/v1/billing-events?all=1");
  expect(JSON.stringify(log)).not.toContain(organization_id);
});

test("a revoked token is dead at once here, and within a second on every other server", async () => {
  const other = secondServer();
  const { id, token } = (await createKey(app)).body;
  const ask = async () => {
    const headers = { authorization: `Bearer ${token}` };
    return (await other.fastify.inject({ url: "/v1/keys/me", headers })).statusCode;
  };
  expect((await me(token)).status).toBe(200);
  expect(await ask()).toBe(200);
  await app.ok("DELETE", `/v1/keys/${id}`);
  expectError(await me(token), 401, "unauthorized");
  const then_ms = performance.now() + 1_000;
  vi.spyOn(performance, "now").mockReturnValue(then_ms);
  expect(await ask()).toBe(401);
  vi.restoreAllMocks();
  await other.fastify.close();
});

test("a token lives until its expires_at", async () => {
  const expires_at = new Date(clock.now().getTime() + 60_000).toISOString();
  const made = await createKey(app, { expires_at });
  expect(made.body.expires_at).toBe(expires_at);
  clock.pass(59_999);
  expect((await me(made.body.token)).status).toBe(200);
  clock.pass(1);
  expectError(await me(made.body.token), 401, "unauthorized");
});

test("last_used_at is written off the request path", async () => {
  const { id, token } = (await createKey(app)).body;
  const lastUsed = async () => {
    const { tokens } = await app.get("/v1/keys");
    return tokens.find((one: { id: string }) => one.id === id).last_used_at;
  };
  expect(await lastUsed()).toBeNull();
  await me(token);
  const used = clock.now().toISOString();
  expect(await lastUsed()).toBeNull();
  clock.pass(5_000);
  await app.server.gate.flushLastUsed();
  expect(await lastUsed()).toBe(used);
});

test("a use that could not be written is written the next time", async () => {
  const { id, token } = (await createKey(app)).body;
  await me(token);
  const used = clock.now();
  vi.spyOn(app.context.db, "alone").mockRejectedValueOnce(new Error("away"));
  await expect(app.server.gate.flushLastUsed()).rejects.toThrow("away");
  await app.server.gate.flushLastUsed();
  const { tokens } = await app.get("/v1/keys");
  const { last_used_at } = tokens.find((one: { id: string }) => one.id === id);
  expect(last_used_at).toBe(used.toISOString());
});

test("a token whose checksum is wrong is refused without asking the database", async () => {
  let asked = 0;
  const { db } = app.context;
  const counting = new Proxy(db, {
    get: (target, name) => {
      // Whether many wait for a connection is known without asking.
      if (name !== "admit") asked += 1;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const server = secondServer(counting);
  asked = 0;
  const ask = (token: string) =>
    server.fastify.inject({ url: "/v1/keys/me", headers: { authorization: `Bearer ${token}` } });
  const good = newToken();
  const last = good.endsWith("0") ? "1" : "0";
  for (const token of [
    good.slice(0, -1) + last,
    `${good}x`,
    "dues_",
    good.replace("dues", "dude"),
  ]) {
    expect((await ask(token)).statusCode).toBe(401);
  }
  expect(asked).toBe(0);
  expect((await ask(good)).statusCode).toBe(401);
  expect(asked).toBeGreaterThan(0);
  await server.fastify.close();
});

test("300 tokens at once, then one a second: 429 with Retry-After, per address", async () => {
  const server = secondServer();
  const ask = (remoteAddress: string) =>
    server.fastify.inject({
      method: "POST",
      url: "/v1/keys",
      payload: { name: "x", organization_id: UNKNOWN_ID },
      remoteAddress,
    });
  const statuses = new Map<number, number>();
  for (let i = 0; i < 310; i++) {
    const { statusCode } = await ask("192.0.2.1");
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1);
  }
  expect(statuses.get(404)).toBeGreaterThanOrEqual(300);
  expect(statuses.get(404)).toBeLessThan(310);
  const refused = await ask("192.0.2.1");
  expect(refused.statusCode).toBe(429);
  expect(Number(refused.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect(refused.json().error).toMatchObject({ code: "rate_limited", retryable: true });
  expect((await ask("192.0.2.2")).statusCode).toBe(404);
  await server.fastify.close();
});

test("tokens are made and revoked in the log of the organization's projects", async () => {
  const { id } = (await createKey(app)).body;
  await app.ok("DELETE", `/v1/keys/${id}`);
  const { billing_events } = await app.get(`/v1/billing-events?resource_id=${id}`);
  const types = billing_events.map((entry: { event_type: string }) => entry.event_type);
  expect(types).toEqual(["token.revoked", "token.created"]);
});

test("no table, nor the log, holds a token, however it was made or refused", async () => {
  const spy = vi.spyOn(app.context.log, "info");
  const made = [app.profile.token];
  const { token: admin } = (await createKey(app)).body;
  const as = { authorization: `Bearer ${admin}`, "idempotency-key": "the same" };
  for (const scopes of [["read"], ["write"], ["events"], ["admin"]]) {
    made.push((await createKey(app, { scopes })).body.token);
  }
  made.push(admin, (await createKey(app, { name: "twice" }, as)).body.token);
  const again = await createKey(app, { name: "twice" }, as);
  expect(made).toContain(again.body.token);
  made.push(newToken());
  for (const token of made) await me(token);
  await app.call("POST", "/v1/customers", { external_id: admin.slice(0, 5), name: "A" }, as);
  await app.server.gate.flushLastUsed();
  expect(new Set(made).size).toBe(made.length);
  const tables = await app.context.db.many<{ table_name: string }>(sql`
    select table_name
      from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`);
  expect(tables.map(({ table_name }) => table_name)).toContain("tokens");
  for (const { table_name } of tables) {
    const dump = await app.context.db.many<{ row: string }>({
      text: `select t::text as row from "${table_name}" t`,
      values: [],
    });
    const text = dump.map(({ row }) => row).join("\n");
    for (const token of made) {
      // What follows the prefix is what nobody may know, as text or as bytes.
      const secret = token.slice("dues_".length);
      for (const kept of [secret, Buffer.from(token).toString("hex"), btoa(token)]) {
        expect(text.includes(kept), table_name).toBe(false);
      }
    }
  }
  const logged = JSON.stringify(spy.mock.calls);
  vi.restoreAllMocks();
  expect(made.filter((token) => logged.includes(token))).toEqual([]);
});

describe("expired tokens", () => {
  const SECOND_MS = 1_000;
  const DAY_MS = 86_400 * SECOND_MS;
  const inMs = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();

  test("a token that would be expired when it is made is refused", async () => {
    for (const expires_at of ["2020-01-01T00:00:00.000Z", inMs(0)]) {
      const refused = await createKey(app, { expires_at });
      expectError(refused, 422, "validation_error");
      expect(refused.body.error.details[0].field).toBe("expires_at");
    }
  });

  test("make room for others, and are listed only when all are asked for", async () => {
    const there = await startApp({ clock });
    try {
      const { id, token } = (await createKey(there, { expires_at: inMs(20 * SECOND_MS) })).body;
      const { organization_id } = await there.context.db.one<{ organization_id: string }>(sql`
        select organization_id
          from tokens
         where id = ${id}`);
      await there.context.db.run(sql`
        insert into tokens (organization_id, id, name, key_prefix, hash, scopes, expires_at,
                            created_at)
        select ${organization_id}, gen_random_uuid(), 'n', 'dues_0', sha256(n::text::bytea),
               '{read}', ${inMs(20 * SECOND_MS)}, ${clock.now()}
          from generate_series(1, 998) as n`);
      expectError(await createKey(there), 422, "limit_exceeded");
      clock.pass(21 * SECOND_MS);
      expect((await createKey(there)).status).toBe(201);
      expect((await me(token, there)).status).toBe(401);
      expect((await there.get("/v1/keys")).tokens).toHaveLength(2);
      const all = await there.get("/v1/keys?state=all&limit=1&count=1");
      expect([all.total_count, all.has_more]).toEqual([1_001, true]);
    } finally {
      await there.close();
    }
  });

  test("are removed 30 days after they expired", async () => {
    const { db } = app.context;
    const aged = async (days: number) => {
      await db.run(sql`delete from tokens where expires_at is not null`);
      await createKey(app, { expires_at: inMs(SECOND_MS) });
      const at = new Date(Date.now() - days * DAY_MS);
      await db.run(sql`update tokens set expires_at = ${at} where expires_at is not null`);
      await createKey(app);
      return (await tokenSweepJob(app.context).tick()).done;
    };
    expect([await aged(29), await aged(31)]).toEqual([0, 1]);
    expect((await me(app.profile.token)).status).toBe(200);
  });

  test("keep the way closed that was open until the first token, also when all have expired", async () => {
    const there = await startApp({ env: { KEY_CREATION: "bootstrap" } });
    try {
      const { db } = there.context;
      const headers = { authorization: `Bearer ${there.profile.token}` };
      for (let i = 0; i < 3; i++) await createKey(there, {}, headers);
      await db.run(sql`update tokens set expires_at = ${new Date(Date.now() - 31 * DAY_MS)}`);
      await runToEnd(tokenSweepJob(there.context));
      expect((await db.one<{ count: number }>(sql`select count(*) from tokens`)).count).toBe(1);
      expectError(await createKey(there), 401, "unauthorized");
    } finally {
      await there.close();
    }
  });
});

test("under an Idempotency-Key a token is made once, and kept encrypted", async () => {
  const body = { name: "one" };
  const headers = { ...NOBODY, "idempotency-key": "token of the job" };
  const first = await createKey(app, body, headers);
  const again = await createKey(app, body, headers);
  expect([again.status, again.body]).toEqual([201, first.body]);
  expect(again.headers["idempotent-replayed"]).toBe("true");
  expectError(await createKey(app, { name: "two" }, headers), 409, "idempotency_conflict");
  const { kept } = await app.context.db.one<{ kept: string }>(sql`
    select body as kept
      from idempotency_keys
     where key = 'token of the job'`);
  expect(kept).not.toContain(first.body.token);
  expect((await me(first.body.token)).status).toBe(200);
});
