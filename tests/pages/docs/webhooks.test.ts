// The catalogue of events in the reference is the one that endpoints can subscribe to.

import { expect, test } from "vitest";
import { planChanged } from "../../../src/operations/subscription-facts.ts";
import { EVENT_WORDS, PLAN_CHANGED, webhookEvents } from "../../../src/pages/docs/webhooks.ts";
import { WEBHOOK_EVENTS } from "../../../src/schema/webhooks.ts";

test("every event has its row, in the order of the catalogue", () => {
  expect(Object.keys(EVENT_WORDS)).toEqual([...WEBHOOK_EVENTS]);
  const rows = [...webhookEvents().text.matchAll(/<tr><td><code>([^<]+)</g)];
  expect(rows.map(([, event]) => event)).toEqual([...WEBHOOK_EVENTS]);
});

test("the sample is the body of a change of plan, field by field", () => {
  const { subscription, customer, previous_plan_code } = PLAN_CHANGED.data;
  const fact = planChanged(
    {
      ...subscription,
      status: "active",
      customer_id: customer.id,
      customer_external_id: customer.external_id,
      current_period_start: new Date(subscription.current_period_start),
      current_period_next: new Date("2026-02-01T00:00:00.000Z"),
    },
    previous_plan_code,
  );
  expect(fact.type).toBe(PLAN_CHANGED.event);
  expect(JSON.stringify(fact.webhook?.data)).toBe(JSON.stringify(PLAN_CHANGED.data));
});
