// What a process answers that only works: health, metrics and the reference, nothing of the API.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpServer } from "../../src/http/server.ts";
import { workerServer } from "../../src/service/worker-server.ts";
import { schemaVersion } from "../../src/store/migration/migrate.ts";
import { type App, startApp } from "../support/app.ts";
import { makeCustomer } from "../support/records.ts";

let app: App;
let worker: HttpServer;

beforeAll(async () => {
  app = await startApp();
  const readiness = { draining: false, schema_version: await schemaVersion(), warnings: [] };
  worker = workerServer(app.context, readiness);
  await worker.fastify.ready();
});
afterAll(async () => {
  await worker.fastify.close();
  await app.close();
});

test.each(["/healthz", "/readyz", "/metrics", "/", "/docs"])("%s answers", async (url) => {
  expect((await worker.fastify.inject({ url })).statusCode).toBe(200);
});

test("its reference is that of the API", async () => {
  const { body } = await worker.fastify.inject({ url: "/openapi.json" });
  expect(JSON.parse(body)).toEqual((await app.call("GET", "/openapi.json")).body);
});

test("nothing of the API is there", async () => {
  const { id } = await makeCustomer(app);
  const headers = { authorization: `Bearer ${app.profile.token}` };
  for (const url of ["/v1/customers", `/portal/${id}`]) {
    expect((await app.call("GET", url)).status, url).toBe(200);
    expect((await worker.fastify.inject({ url, headers })).statusCode, url).toBe(404);
  }
});
