// Many starts that were set for one instant, beside callers who make invoices for the same
// customers: neither waits for the other in a ring, and no credit is used twice.

import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { balanceOf, grant, outcome, stories } from "../../support/money.ts";

const { begin } = stories();

const CUSTOMERS = 6;
const CREDIT = 5_000;

test("starts and one-off invoices of customers with credit, at once", async () => {
  const story = await begin("2026-01-01");
  const plan = await story.plan({ amount_cents: 100, base_timing: "advance" });
  const customers: Json[] = [];
  for (let i = 0; i < CUSTOMERS; i++) {
    const customer = await story.customer();
    customers.push(customer);
    await grant(story, customer, CREDIT);
  }
  // Made in another order than that of the customers, which is that of the locks.
  for (const customer of [...customers].reverse()) {
    await story.subscribe({ plan, customer, starts_at: "2026-01-11" });
    await story.subscribe({ plan, customer, starts_at: "2026-01-11" });
  }
  const line = { name: "Work", unit_amount_cents: 10 };
  const [advance, ...answers] = await Promise.all([
    story.travelTo("2026-01-12"),
    ...[...customers, ...customers].map(({ id }) =>
      story.call("POST", "/v1/invoices", { customer_id: id, lines: [line] }),
    ),
  ]);
  expect(answers.map(outcome)).toEqual(answers.map(() => "201"));
  expect(advance.events.filter(({ event }: Json) => event === "subscription.started")).toHaveLength(
    2 * CUSTOMERS,
  );
  const issued: Json[] = await story.invoices();
  for (const customer of customers) {
    const invoices = issued.filter(({ customer_id }) => customer_id === customer.id);
    const taken = invoices.reduce((sum, { credit_applied_cents: cents }) => sum + cents, 0);
    expect(invoices).toHaveLength(4);
    expect(await balanceOf(story, customer)).toBe(CREDIT - taken);
  }
});
