// Bounds in the metrics: each by its name, from the start, and what is counted elsewhere too.

import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { healthRoutes } from "../../../src/http/routes/system.ts";
import { buildServer } from "../../../src/http/server.ts";
import { apiServer } from "../../../src/service/api-server.ts";
import type { Pool } from "../../../src/store/db/db.ts";
import { type App, startApp } from "../../support/app.ts";
import { shownBound } from "../../support/bounds.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test.each([
  "requests",
  "events",
  "body_bytes",
  "large_bodies",
  "pdfs",
  "portal_views",
  "database",
  "sent_ahead",
  "connections",
])("%s shows its level and its refusals before there are any", async (bound) => {
  const text = await app.get("/metrics");
  expect(text).toContain(`\ndues_bound_level{bound="${bound}"} `);
  expect(text).toContain(`\ndues_bound_refusals_total{bound="${bound}"} `);
});

test("who waits for the database, and who was refused that, is what the pool says", async () => {
  const stats = { total: 10, idle: 0, waiting: 7, refused: 3 };
  const said = vi.spyOn(app.context.db as Pool, "stats", "get").mockReturnValue(stats);
  expect(await shownBound(app.server.bounds, "database")).toEqual({ level: 7, refusals: 3 });
  said.mockRestore();
});

describe("a second server in the process", () => {
  const readiness = { draining: false, schema_version: 0, warnings: [] };

  test("on HEALTH_PORT shows the bounds of the API, and adds none of its own", async () => {
    const health = buildServer(app.context, healthRoutes(readiness), new Bounds());
    await health.fastify.listen({ port: 0, host: "127.0.0.1" });
    const { port } = health.fastify.server.address() as AddressInfo;
    const caller = connect(port, "127.0.0.1");
    await expect.poll(() => health.countConnections()).toBe(1);
    const { body } = await health.fastify.inject({ url: "/metrics" });
    expect(body).toContain('\ndues_bound_level{bound="connections"} 0\n');
    expect(body).toContain('\ndues_bound_level{bound="events"} 0\n');
    caller.destroy();
    await health.fastify.close();
  });

  test("that has the API is shown instead of the first, not added to it", async () => {
    const said = vi.spyOn(app.context.db as Pool, "stats", "get");
    said.mockReturnValue({ total: 10, idle: 0, waiting: 7, refused: 3 });
    apiServer(app.context, readiness);
    const text = await app.get("/metrics");
    expect(text).toContain('\ndues_bound_level{bound="database"} 7\n');
    expect(text).toContain('\ndues_bound_refusals_total{bound="database"} 3\n');
    said.mockRestore();
  });
});
