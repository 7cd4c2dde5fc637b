// Bounds in the metrics: each by its name, from the start, and what is counted elsewhere too.

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Pool } from "../../../src/store/db.ts";
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
  const { level = 0, refusals = 0 } = await shownBound("database");
  const stats = { total: 10, idle: 0, waiting: 7, refused: 3 };
  const said = vi.spyOn(app.context.db as Pool, "stats", "get").mockReturnValue(stats);
  expect(await shownBound("database")).toEqual({ level: level + 7, refusals: refusals + 3 });
  said.mockRestore();
});
