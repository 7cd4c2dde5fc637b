// What a role loads: its own part. A process is ready in half the time, and holds less.

import { expect, test } from "vitest";
import { loadedWith } from "../support/chunks.ts";

const OF_A_WORKER = /^src\/(pages\/(docs|home|invoice|portal)|http\/(mcp|openapi|table))/;
const ROUTES_OF_A_WORKER = ["home", "reference", "system"].map((n) => `src/http/routes/${n}.ts`);

test("a worker loads neither pages for people nor routes of the API", () => {
  const parts = ["src/service/serve.ts", "src/service/worker-server.ts", "src/workers/start.ts"];
  const loaded = parts.flatMap((part) => loadedWith(part).sources);
  expect(loaded).toContain("src/workers/billing.ts");
  expect(loaded.filter((path) => OF_A_WORKER.test(path))).toEqual([]);
  const routes = new Set(loaded.filter((path) => path.startsWith("src/http/routes/")));
  expect([...routes].sort()).toEqual(ROUTES_OF_A_WORKER);
});

test("a process for callers loads neither workers nor what sends webhooks", () => {
  const parts = ["src/service/serve.ts", "src/service/api-server.ts"].map((part) =>
    loadedWith(part),
  );
  const sources = parts.flatMap((part) => part.sources);
  expect(sources).toContain("src/http/table.ts");
  expect(sources).not.toContain("src/workers/billing.ts");
  const packages = parts.flatMap((part) => part.packages);
  expect(packages).toContain("fastify");
  expect(packages).not.toContain("undici");
});

test("the workers' thread loads no HTTP server", () => {
  const { sources, packages } = loadedWith("src/workers/thread.ts");
  expect(sources).toContain("src/workers/billing.ts");
  expect(sources.filter((path) => /^src\/(http|pages)\//.test(path))).toEqual([]);
  expect(packages).not.toContain("fastify");
});
