// The clock of a sandbox: when it may be set, and what being set does.

import { describe, expect, test } from "vitest";
import { perUnit } from "../../support/given.ts";
import { discount, grant, grantState, oneOff, paid, stories } from "../../support/money.ts";
import { expectError } from "../../support/shapes.ts";

const { begin } = stories();

test("set forward in a project that has invoices and grants, it does what falls due", async () => {
  const story = await begin("2026-01-10");
  const customer = await story.customer();
  const invoice = await oneOff(story, customer, "1000");
  const made = await grant(story, customer, 500, { expires_at: "2026-01-20T00:00:00Z" });
  const report = await story.post("/v1/clock", { frozen_at: "2026-03-01T00:00:00Z" });
  expect(report.events.map(({ event }: { event: string }) => event)).toEqual([
    "grant.expired",
    "invoice.overdue",
  ]);
  expect((await story.invoice(invoice.id)).status).toBe("overdue");
  expect(await grantState(story, made)).toContain("expired");
});

test("it is not set behind an invoice or a grant", async () => {
  const invoiced = await begin("2026-01-10");
  await paid(invoiced, await oneOff(invoiced, await invoiced.customer(), "1000"), 1000);
  const granted = await begin("2026-01-10");
  await grant(granted, await granted.customer(), 500);
  for (const story of [invoiced, granted]) {
    const earlier = { frozen_at: "2025-06-01T00:00:00Z" };
    expectError(await story.call("POST", "/v1/clock", earlier), 409, "clock_conflict");
    expect(await story.now()).toBe("2026-01-10T00:00:00.000Z");
  }
});

test("it is set to any instant before anything has happened by it", async () => {
  const story = await begin("2026-01-10");
  await story.customer();
  for (const frozen_at of ["2025-06-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"]) {
    await story.post("/v1/clock", { frozen_at });
    expect(await story.now()).toBe(frozen_at);
  }
});

describe("what was set up before the clock is set back", () => {
  test("has the prices that were set last", async () => {
    const story = await begin("2026-11-01");
    const plan = await story.plan({ amount_cents: 1000 });
    await story.patch(`/v1/plans/${plan.id}`, { amount_cents: 2000 });
    await story.post("/v1/clock", { frozen_at: "2026-01-01T00:00:00Z" });
    await story.subscribe({ plan });
    await story.travelTo("2026-02-01");
    expect((await story.invoices()).map(({ total_cents }) => total_cents)).toEqual([2000]);
  });

  test("is dunned by the policy from the day of the clock on", async () => {
    const story = await begin("2026-11-01");
    const reminder = "invoice.payment_overdue_reminder_1";
    const steps = [{ days_after_due: 3, webhook_event: reminder }];
    await story.ok("PUT", "/v1/dunning", { enabled: true, steps });
    await story.post("/v1/clock", { frozen_at: "2026-01-01T00:00:00Z" });
    const { due_date } = await oneOff(story, await story.customer(), "1000");
    expect(due_date).toBe("2026-01-15");
    const { events } = await story.travelTo("2026-03-01");
    expect(events).toContainEqual(
      expect.objectContaining({ event: reminder, at: "2026-01-18T00:00:00.000Z" }),
    );
  });

  test("reduces corrections by coupons that the customer has", async () => {
    const story = await begin("2026-11-01");
    const customer = await story.customer();
    await discount(story, customer, { percent: "50" });
    await story.post("/v1/clock", { frozen_at: "2026-01-01T00:00:00Z" });
    const metric = await story.metric();
    const plan = await story.plan({ charges: [perUnit(metric, "1")] });
    const subscription = await story.subscribe({ plan, customer });
    await story.travelTo("2026-02-01");
    await story.use(subscription, metric, "10", "2026-01-20");
    await story.travelTo("2026-03-01");
    expect((await story.invoices()).map(({ total_cents }) => total_cents)).toEqual([500]);
  });
});
