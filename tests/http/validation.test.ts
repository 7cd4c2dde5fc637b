// A refused request says what would have been right, in words and not in patterns.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../support/app.ts";

let app: App;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

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
])("%s", async (_, method, path, body, words) => {
  const answer = await app.call(method, path, body);
  expect(answer.status).toBe(422);
  expect(answer.body.error.message).toMatch(words);
});
