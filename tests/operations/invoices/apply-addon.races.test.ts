// An add-on that is applied while the source of its price changes has the one price or the other.

import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { inLine } from "../../support/in-line.ts";
import { outcome, stories } from "../../support/money.ts";

const { app, begin } = stories();

test("applied behind a change to another catalog item, it has that item's price", async () => {
  const story = await begin("2026-01-10");
  const customer = await story.customer();
  for (const [code, amount_cents] of [
    ["a", 700],
    ["b", 900],
  ]) {
    await story.post("/v1/catalog", { code, name: code, amount_cents, currency: "USD" });
  }
  const boost = { code: "boost", name: "Boost" };
  const made: Json = await story.post("/v1/addons", { ...boost, catalog_item_code: "a" });
  const { id } = made.add_on;
  const apply = { customer_id: customer.id };
  const answers = await inLine(
    app().connection,
    { table: "add_ons", project: story.project_id, id },
    [
      () => story.call("POST", "/v1/addons", { ...boost, catalog_item_code: "b" }),
      () => story.call("POST", `/v1/addons/${id}/apply`, apply),
    ],
  );
  expect(answers.map(outcome)).toEqual(["200", "201"]);
  expect(answers[1]?.body.applied_add_on).toMatchObject({ amount_cents: 900, currency: "USD" });
});
