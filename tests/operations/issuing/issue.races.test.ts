// Credit that invoices give to customers who never had any, beside the first grant of one of them.

import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { balanceOf, proposeGrant, stories } from "../../support/money.ts";

const { begin } = stories();

test("days that a batch of ends gives back, and a grant at the same time, are all there", async () => {
  const story = await begin("2026-01-01");
  const plan = await story.plan({ amount_cents: 3100, base_timing: "advance" });
  const customers: Json[] = [];
  for (let i = 0; i < 4; i++) customers.push(await story.customer());
  for (const customer of customers) {
    const subscription = await story.subscribe({ plan, customer });
    await story.update(subscription, { ends_at: "2026-01-11T00:00:00.000Z" });
  }
  const granted = customers.slice(2);
  const [, ...answers] = await Promise.all([
    story.travelTo("2026-01-12"),
    ...granted.map((customer) => proposeGrant(story, customer, 500)),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  const balances = await Promise.all(customers.map((customer) => balanceOf(story, customer)));
  expect(balances).toEqual([2100, 2100, 2600, 2600]);
});
