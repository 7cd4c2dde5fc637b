// The client's methods and types are those of the API. UPDATE_DOCS=1 writes them instead of
// comparing.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Context } from "../../src/context.ts";
import { openApi } from "../../src/http/openapi/document.ts";
import { routeTable } from "../../src/http/table.ts";
import { clientFiles } from "./client-types/files.ts";
import { operationsOf } from "./client-types/operations.ts";

const ADVICE = "UPDATE_DOCS=1 npm test -- tests/cli/client-types.test.ts writes src/client anew";

const readiness = { draining: false, schema_version: 0, warnings: [] };
// Describing the routes asks nothing of the context.
const routes = routeTable({ db: {} } as Context, readiness);
const document = openApi(routes, "http://127.0.0.1:8080");
const files = clientFiles(document);
const client = new URL("../../src/client/", import.meta.url);
const types = new URL("types/", client);

if (process.env.UPDATE_DOCS === "1") {
  rmSync(types, { recursive: true, force: true });
  mkdirSync(types);
  for (const [path, text] of Object.entries(files)) writeFileSync(new URL(path, client), text);
}

test.each(Object.keys(files))("src/client/%s is what the API says", (path) => {
  expect(readFileSync(new URL(path, client), "utf8"), ADVICE).toBe(files[path]);
});

test("src/client/types has no file that the API does not ask for", () => {
  const found = readdirSync(types).map((name) => `types/${name}`);
  expect(Object.keys(files), ADVICE).toEqual(expect.arrayContaining(found));
});

test("the client has exactly one method for each operation, and no others", async () => {
  // Not imported above, so that a client that does not load can be written anew.
  const { Dues } = await import("../../src/client/dues.ts");
  const methods: string[] = [];
  let prototype: object = Dues.prototype;
  for (; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    methods.push(...Object.getOwnPropertyNames(prototype));
  }
  const operations = operationsOf(document).map(({ name }) => name);
  // `call` is what all of them go through, and not for users.
  const wanted = [...operations, "call"];
  expect(methods.filter((name) => name !== "constructor").sort()).toEqual(wanted.sort());
});
