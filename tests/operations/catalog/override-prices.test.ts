// The lists that subscriptions have of their own: a catalog item's new price reaches them, and who
// reads them can send them back.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../../support/app.ts";
import { flatFee, sandbox } from "../../support/given.ts";
import { tax, taxesOf, vat } from "../../support/money.ts";
import { closeSound, lines } from "../../support/pricing.ts";

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

const seat = { code: "seat", name: "Seat", amount_cents: 700, currency: "USD" };
const yen = { ...seat, amount_cents: 7_777, currency: "JPY" };

test.each(["its plan", "the plan to come"])("hold the item's currency, for %s", async (which) => {
  const story = await sandbox(app, "2026-01-01");
  await story.post("/v1/catalog", seat);
  const overrides = { charges: [flatFee({ catalog_item_code: "seat" })] };
  const isNow = which === "its plan";
  const { id } = await story.subscribe({ external_id: "acme", ...(isNow && { overrides }) });
  if (!isNow) {
    const { id: plan_id } = await story.plan({ amount_cents: 100 });
    await story.update({ id }, { plan_id, change_at: "period_end", overrides });
  }
  const refused = await story.call("POST", "/v1/catalog", yen);
  expect([refused.status, refused.body.error.code]).toEqual([422, "currency_mismatch"]);
  expect(refused.body.error.message).toContain("the subscription acme takes its price");
  await story.post("/v1/catalog", { ...seat, amount_cents: 800 });
});

test("that have ended keep their price when the item changes its currency", async () => {
  const story = await sandbox(app, "2026-01-01");
  await story.post("/v1/catalog", seat);
  const overrides = { charges: [flatFee({ catalog_item_code: "seat" })] };
  const { id } = await story.subscribe({ overrides });
  await story.post(`/v1/subscriptions/${id}/terminate`);
  expect((await story.post("/v1/catalog", yen)).catalog_item.currency).toBe("JPY");
  await story.update({ id }, { status: "active" });
  await story.post("/v1/catalog", { ...yen, amount_cents: 8_888 });
  await story.travelTo("2026-04-01");
  for (const invoice of await story.invoices()) expect(lines(invoice)).toContain(700);
});

test("sent back as they were read, they have the same taxes", async () => {
  const story = await sandbox(app, "2026-01-01");
  await vat(story, "20");
  await tax(story, "low", "5.5");
  const priced = (amount_override_cents: number, more: object) =>
    flatFee({ amount_override_cents, ...more });
  const charges = [
    priced(1000, { tax_codes: ["low"] }),
    priced(300, { tax_codes: [] }),
    priced(200, {}),
  ];
  const { id, overrides } = await story.subscribe({ overrides: { charges } });
  const patched = await story.update({ id }, { overrides });
  expect(patched.overrides).toEqual(overrides);
  await story.travelTo("2026-03-01");
  const [january, february] = await story.invoices();
  expect(taxesOf(january)).toHaveLength(2);
  expect(taxesOf(february)).toEqual(taxesOf(january));
});
