// A catalog item's new price reaches the lists that subscriptions have of their own.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../support/app.ts";
import { flatFee, sandbox } from "../support/given.ts";
import { closeSound, lines } from "../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

test("from the next period on, but for amounts of their own", async () => {
  const story = await sandbox(app, "2026-01-01");
  const seat = { code: "seat", name: "Seat", currency: "USD" };
  await story.post("/v1/catalog", { ...seat, amount_cents: 700 });
  const plan = await story.plan({ amount_cents: 100 });
  const priced = flatFee({ catalog_item_code: "seat" });
  const own = flatFee({ catalog_item_code: "seat", amount_override_cents: 50 });
  await story.subscribe({ plan, overrides: { charges: [priced, own] } });
  await story.travelTo("2026-01-10");
  await story.post("/v1/catalog", { ...seat, amount_cents: 900 });
  await story.travelTo("2026-03-01");
  const [january, february] = await story.invoices();
  expect([lines(january), lines(february)]).toEqual([
    [100, 700, 50],
    [100, 900, 50],
  ]);
});
