// The client's types are those of the API. UPDATE_DOCS=1 writes them instead of comparing.

import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Context } from "../../src/context.ts";
import { openApi } from "../../src/http/openapi.ts";
import { routeTable } from "../../src/http/table.ts";
import { clientFiles } from "./client-types.ts";

const readiness = { draining: false, schema_version: 0, warnings: [] };
// Describing the routes asks nothing of the context.
const routes = routeTable({ db: {} } as Context, readiness);
const files = clientFiles(openApi(routes, "http://127.0.0.1:8080"));

test.each(["types", "operations"] as const)("src/client/%s.ts is what the API says", (name) => {
  const file = new URL(`../../src/client/${name}.ts`, import.meta.url);
  if (process.env.UPDATE_DOCS === "1") writeFileSync(file, files[name]);
  const advice = `UPDATE_DOCS=1 npm test -- tests/cli/client-types.test.ts writes src/client/${name}.ts`;
  expect(readFileSync(file, "utf8"), advice).toBe(files[name]);
});

test("every operation has a method that takes a call's options last", () => {
  const methods = [...files.operations.matchAll(/^ {2}(\w+)\(/gm)].map(([, name]) => name);
  for (const route of routes) expect(methods.length, route.path).toBeGreaterThan(40);
  expect(methods).toEqual(expect.arrayContaining(["createCustomer", "listPlans", "advanceClock"]));
});
