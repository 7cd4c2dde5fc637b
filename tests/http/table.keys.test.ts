// Idempotency-Key works on every POST that writes: over the whole table, each called twice.

import { expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { isReplayable } from "../../src/http/route.ts";
import { routeTable } from "../../src/http/table.ts";
import { type Answer, App, type Body, sharedApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { happyCalls } from "../support/happy-calls.ts";

const app = await sharedApp({ at: "2026-01-10T09:00:00.000Z" });

const readiness = { draining: false, schema_version: 0, warnings: [] };
const posts = routeTable(app.context, readiness, new Bounds()).filter(
  ({ method }) => method === "POST",
);

/** What writes nothing by itself: previews, and the tools, which hand the key on. */
const WRITES_NOTHING = /\/preview$|\/check$|^\/v1\/mcp$/;

type Repeat = { readonly url: string; readonly first: Answer; readonly again: Answer };

/** Sends every POST twice under one key. */
class Repeating extends App {
  readonly repeats: Repeat[] = [];
  #keys = 0;

  override async call(
    method: string,
    url: string,
    body?: unknown,
    headers: Body = {},
  ): Promise<Answer> {
    if (method !== "POST") return super.call(method, url, body, headers);
    const key = { "idempotency-key": `repeat-${++this.#keys}`, ...headers };
    const first = await super.call(method, url, body, key);
    const again = await super.call(method, url, body, key);
    this.repeats.push({ url, first, again });
    return first;
  }
}

test("every POST says in its declaration whether it writes", () => {
  const wrong = posts.filter((route) => isReplayable(route) === WRITES_NOTHING.test(route.path));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

test("a repeat of any of them gets the first answer", async () => {
  const repeating = new Repeating({ ...app, close: async () => {} });
  const { token, project_id: project } = app.profile;
  const called = new Set<string>();
  for await (const { name } of happyCalls(new Client(repeating, { token, project }))) {
    called.add(name);
  }
  const writes = posts.filter(({ path }) => !WRITES_NOTHING.test(path));
  const missed = writes.filter(({ path }) => !called.has(`POST ${path}`));
  expect(missed.map(({ path }) => path)).toEqual([]);
  const writing = repeating.repeats.filter(({ url }) => !WRITES_NOTHING.test(url));
  const wrong = writing.filter(
    ({ first, again }) =>
      first.status >= 300 ||
      again.headers["idempotent-replayed"] !== "true" ||
      JSON.stringify(again.body) !== JSON.stringify(first.body),
  );
  expect(wrong.map(({ url, first, again }) => [url, first.status, again.status])).toEqual([]);
});
