// A refused request says what would have been right, in words and not in patterns.

import { Type } from "typebox";
import { beforeAll, expect, test } from "vitest";
import type { Refusal } from "../../../src/errors.ts";
import { checker } from "../../../src/http/request/validation.ts";
import { type App, sharedApp } from "../../support/app.ts";

let app: App;

beforeAll(async () => {
  app = await sharedApp();
});

test.each([
  [
    "an empty change names the fields there are",
    "PATCH",
    "/v1/plans/x",
    {},
    /at least one of labels, category, name/,
  ],
  [
    "a currency is told as one",
    "POST",
    "/v1/customers",
    { external_id: "a", name: "A", currency: "usd" },
    /ISO-4217 currency code/,
  ],
  [
    "an id is told as one",
    "POST",
    "/v1/subscriptions",
    { customer_id: "x", plan_id: "y" },
    /must be a UUID/,
  ],
  [
    "a limit is told in bytes",
    "POST",
    "/v1/catalog",
    { code: "a", name: "A", amount_cents: 1, metadata: { a: "x".repeat(17_000) } },
    /at most 16384 bytes/,
  ],
])("%s", async (_, method, path, body, message) => {
  const answer = await app.call(method, path, body);
  expect(answer.status).toBe(422);
  expect(answer.body.error.message).toMatch(message);
});

test("a long list of wrong entries is refused for its first, without a look at all", () => {
  const check = checker(Type.Object({ list: Type.Array(Type.String()) }), "body");
  const wrong = Array(480_000).fill(1);
  const details = (entries: number) => {
    try {
      check({ list: wrong.slice(0, entries) });
    } catch (error) {
      return (error as Refusal).details?.length;
    }
    return 0;
  };
  expect(details(3)).toBe(3);
  expect(details(100)).toBe(20);
  const started_ms = performance.now();
  for (let i = 0; i < 20; i++) expect(details(480_000)).toBe(1);
  // Looking for every fault takes 650 ms and more for each of the twenty.
  expect(performance.now() - started_ms).toBeLessThan(3_000);
});
