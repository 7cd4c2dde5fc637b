// The methods and types of the client are those of the routes, and what is committed is what the
// generator makes. UPDATE_DOCS=1 writes the files instead of comparing them.

import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { clientFiles } from "../../scripts/client/generate.ts";
import type { Context } from "../../src/context.ts";
import { Bounds } from "../../src/http/admission/bound.ts";
import { routeTable } from "../../src/http/table.ts";

const readiness = { draining: false, schema_version: 0, warnings: [] };
// Describing the routes asks nothing of the context.
const routes = routeTable({ db: {}, config: {} } as Context, readiness, new Bounds());
const files = clientFiles(routes);
const client = new URL("../../src/client/", import.meta.url);

if (process.env.UPDATE_DOCS === "1") {
  for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, client), text);
}

test.each(["operations.ts", "types.ts"])("src/client/%s is what the routes say", (name) => {
  const committed = readFileSync(new URL(name, client), "utf8");
  expect(committed, `src/client/${name} is behind the routes: npm run docs`).toBe(files[name]);
});

test("the generator writes these files and no other", () => {
  expect(Object.keys(files)).toEqual(["operations.ts", "types.ts"]);
});

test("the client has exactly one method for each operation, and no others", async () => {
  // Not imported above, so that a client that does not load can be written anew.
  const { Dues } = await import("../../src/client/dues.ts");
  const methods: string[] = [];
  let prototype: object = Dues.prototype;
  for (; prototype !== Object.prototype; prototype = Object.getPrototypeOf(prototype)) {
    methods.push(...Object.getOwnPropertyNames(prototype));
  }
  const operations = routes.filter(({ hidden }) => hidden !== true).map(({ id }) => id);
  // `call` is what all of them go through, and not for users.
  const wanted = [...operations, "call"];
  expect(methods.filter((name) => name !== "constructor").sort()).toEqual(wanted.sort());
});

test("every list has an `all`, under the name of its operation", async () => {
  const { Dues } = await import("../../src/client/dues.ts");
  const dues = new Dues({ base_url: "http://127.0.0.1:1", token: "t" });
  const lists = routes.filter(({ hidden, id }) => hidden !== true && id.startsWith("list"));
  const wanted = lists.map(({ id }) => id.slice("list".length).toLowerCase());
  expect(Object.keys(dues).map((name) => name.replaceAll("_", ""))).toEqual(wanted);
  for (const each of Object.values(dues)) expect(each.all).toBeTypeOf("function");
});
