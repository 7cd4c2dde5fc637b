// The keys under which events are stored: two transaction_ids never share one.

import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { usageKey } from "../../../src/store/usage/events.ts";
import { type App, sharedApp } from "../../support/app.ts";
import { makeMetric, makePlan, makeSubscription } from "../../support/records.ts";

const TIME_ORDERED = "01890a5d-ac96-774b-bcce-b302099a8057";
const VERSION_8 = "320c3d4d-cc00-875b-8ec9-32d5f69181c0";

const app: App = await sharedApp();

test("a UUID is its own key, unless it is of the version that digests have", () => {
  expect(usageKey(TIME_ORDERED)).toBe(TIME_ORDERED);
  expect(usageKey(TIME_ORDERED.toUpperCase())).not.toBe(TIME_ORDERED);
  expect(usageKey(VERSION_8)).not.toBe(VERSION_8);
  for (const text of ["coin-1", VERSION_8, "", "x".repeat(255)]) {
    expect(usageKey(text)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  }
});

test("an id and its own digest are two events, in either shape", async () => {
  const metric = await makeMetric(app, { field_name: "n" });
  const plan = await makePlan(app, { amount_cents: 0 });
  const { id: subscription_id } = await makeSubscription(app, { plan_id: plan.id });
  const digest = createHash("sha256").update("coin-1").digest("hex").slice(0, 32);
  const asUuid = digest.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  for (const transaction_id of ["coin-1", asUuid, usageKey("coin-1")]) {
    const event = { transaction_id, subscription_id, code: metric.code, properties: { n: 5 } };
    expect(await app.post("/v1/events", event)).toEqual({ accepted: true, duplicate: false });
    expect(await app.post("/v1/events", event)).toEqual({ accepted: true, duplicate: true });
    const found = await app.call("GET", `/v1/events/${transaction_id}`);
    expect(found.body.event.transaction_id).toBe(transaction_id);
  }
});
