// refresh=1 is open to strangers: how often it computes, who may share a computation, and that a
// view which missed a change is never kept.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { monotonicMs } from "../../src/clock.ts";
import type { HttpServer } from "../../src/http/server.ts";
import { apiServer } from "../../src/service/api-server.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { shownBound } from "../support/bounds.ts";
import { type Sandbox, sandbox } from "../support/given.ts";
import { Watched } from "./watched.ts";

let app: App;
let project: Sandbox;
beforeAll(async () => {
  app = await startApp();
  project = await sandbox(app, "2025-01-10");
});
afterAll(() => app.close());

let watched: Watched;
let server: HttpServer;
beforeEach(() => {
  watched = new Watched(app.context.db);
  const readiness = { draining: false, schema_version: 0, warnings: [] };
  server = apiServer({ ...app.context, db: watched.db }, readiness);
  return () => server.fastify.close();
});

async function read(id: string, query = "") {
  const answer = await server.fastify.inject({ method: "GET", url: `/v1/portal/${id}${query}` });
  return {
    status: answer.statusCode,
    cache: answer.headers["x-portal-cache"],
    retry: answer.headers["retry-after"],
    body: JSON.parse(answer.body) as Json,
  };
}

function gate() {
  let open = () => {};
  const closed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { closed, open: () => open() };
}

/** Until the computation has read what it will show. */
async function untilComputed(count: number): Promise<void> {
  while (watched.computed < count) await new Promise((resolve) => setImmediate(resolve));
}

test("two hundred refreshes at once are two computations", async () => {
  const { id } = await project.customer();
  const answers = await Promise.all(Array.from({ length: 200 }, () => read(id, "?refresh=1")));
  expect(watched.computed).toBeLessThanOrEqual(2);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
});

test("beyond two a second for one customer the answer is 429, and others are not held up", async () => {
  const { id } = await project.customer();
  const other = await project.customer();
  let answer = await read(id, "?refresh=1");
  while (answer.status === 200) answer = await read(id, "?refresh=1");
  expect(answer).toMatchObject({ status: 429, retry: "1" });
  expect(answer.body.error).toMatchObject({ code: "rate_limited", retryable: true });
  expect((await read(id)).status).toBe(200);
  expect((await read(other.id, "?refresh=1")).status).toBe(200);
});

test("twenty customers can be refreshed at once, and twenty a second after that", async () => {
  const customers = await Promise.all(Array.from({ length: 45 }, () => project.customer()));
  const started = monotonicMs();
  const answers = await Promise.all(customers.map(({ id }) => read(id, "?refresh=1")));
  const refilled = ((monotonicMs() - started) / 1_000) * 20;
  const done = answers.filter(({ status }) => status === 200).length;
  expect(done).toBeGreaterThanOrEqual(20);
  expect(done).toBeLessThanOrEqual(20 + Math.ceil(refilled));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
  expect((await shownBound(server.bounds, "portal_views")).refusals).toBe(answers.length - done);
});

test("a refresh that nobody's id asks for takes nothing from the others' share", async () => {
  const nobody = Array.from({ length: 40 }, () => read(randomUUID(), "?refresh=1"));
  expect(new Set((await Promise.all(nobody)).map(({ status }) => status))).toEqual(new Set([404]));
  expect((await read((await project.customer()).id, "?refresh=1")).status).toBe(200);
});

test("a refresh never gets a view that was begun before it asked", async () => {
  const { id } = await project.customer();
  const { closed, open } = gate();
  watched.hold = closed;
  const early = read(id, "?refresh=1");
  await untilComputed(1);
  expect((await shownBound(server.bounds, "portal_views")).level).toBe(1);
  await project.patch(`/v1/customers/${id}`, { name: "Later" });
  const late = read(id, "?refresh=1");
  open();
  expect((await early).body.customer.name).toBe("Acme");
  expect((await late).body.customer.name).toBe("Later");
  expect((await read(id)).body.customer.name).toBe("Later");
});

test("a view that missed a change of the customer is shown once and not kept", async () => {
  const { id } = await project.customer();
  const { closed, open } = gate();
  watched.hold = closed;
  const stale = read(id);
  await untilComputed(1);
  await project.patch(`/v1/customers/${id}`, { name: "Changed" });
  open();
  expect((await stale).body.customer.name).toBe("Acme");
  expect(await read(id)).toMatchObject({ cache: "miss", body: { customer: { name: "Changed" } } });
});

test.each(["one", "all"])("a view begun before a purge of %s is not kept", async (what) => {
  const { id } = await project.customer();
  const { closed, open } = gate();
  watched.hold = closed;
  const stale = read(id);
  await untilComputed(1);
  await project.ok("DELETE", what === "one" ? `/v1/portal-cache/${id}` : "/v1/portal-cache");
  open();
  await stale;
  expect((await read(id)).cache).toBe("miss");
  expect((await read(id)).cache).toBe("hit");
});

test("an older view does not replace a newer one of another process", async () => {
  const customer = await project.customer();
  const { closed, open } = gate();
  watched.hold = closed;
  const older = read(customer.id, "?refresh=1");
  await untilComputed(1);
  const addOn = await project.addOn({ amount_cents: 500, currency: "USD" });
  await project.apply(addOn, customer);
  const newer = await app.call("GET", `/v1/portal/${customer.id}?refresh=1`);
  expect(newer.body.invoices).toHaveLength(1);
  open();
  expect((await older).body.invoices).toHaveLength(0);
  expect(await read(customer.id)).toMatchObject({ cache: "hit", body: { invoices: [{}] } });
});

test("a computation that fails keeps nothing and does not fail the next one", async () => {
  const { id } = await project.customer();
  watched.fails = true;
  expect((await read(id)).status).toBe(500);
  watched.fails = false;
  expect((await read(id)).cache).toBe("miss");
});
