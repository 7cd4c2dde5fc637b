// Invoices found by one of the subscriptions that they are for.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../../support/app.ts";
import { sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("either id finds them, a stranger's none, and what is no id is refused", async () => {
  const story = await sandbox(app, "2026-01-01");
  const customer = await story.customer({ invoice_grouping: "customer" });
  const of = { customer, amount_cents: 1_000 };
  const [one, other] = [
    await story.subscribe({ ...of, external_id: "one" }),
    await story.subscribe({ ...of, external_id: "other" }),
  ];
  await story.travelTo("2026-02-01");
  const list = (subscription: string) => story.get(`/v1/invoices?subscription_id=${subscription}`);

  const { invoices } = await list(one.id);
  expect(invoices).toHaveLength(1);
  expect(invoices[0]).toMatchObject({ subscription_id: null, part_count: 2 });
  for (const same of [other.id, "ext:one", "ext:other"]) {
    expect((await list(same)).invoices).toEqual(invoices);
  }
  expect((await list("ext:nobody")).invoices).toEqual([]);
  const { status, body } = await story.call("GET", "/v1/invoices?subscription_id=one");
  expect(status).toBe(422);
  expect(body.error.details).toMatchObject([{ field: "subscription_id", code: "pattern" }]);
});
