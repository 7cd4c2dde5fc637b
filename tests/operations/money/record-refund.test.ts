// Refunds beside a write-off: what is given back is due again, and what was given up stays so.

import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { oneOff, outcome, paid, refund, standing, stories } from "../../support/money.ts";

const { begin } = stories();

test("of a written-off invoice is due again, and can be written off too", async () => {
  const story = await begin("2026-01-01");
  const invoice = await oneOff(story, await story.customer(), "1000");
  const payment = await paid(story, invoice, 400);
  const writeOff = () => story.call("POST", `/v1/invoices/${invoice.id}/write-off`);
  expect(outcome(await writeOff())).toBe("200");
  expect(outcome(await refund(story, payment, 150))).toBe("201");
  expect(await standing(story, invoice)).toEqual([
    "subtotal 1000, total 1000, paid 250, written off 600, due 150",
    "outstanding, partially_paid",
  ]);
  expect(outcome(await writeOff())).toBe("200");
  expect(await standing(story, invoice)).toEqual([
    "subtotal 1000, total 1000, paid 250, written off 750",
    "uncollectible, partially_paid",
  ]);
});

test("of a partly written-off invoice is dunned like any amount that is due", async () => {
  const story = await begin("2026-01-01");
  const steps = [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }];
  await story.ok("PUT", "/v1/dunning", { enabled: true, steps });
  const invoice = await oneOff(story, await story.customer(), "1000");
  const payment = await paid(story, invoice, 400);
  await story.travelTo("2026-01-10");
  await story.post(`/v1/invoices/${invoice.id}/write-off`);
  await story.travelTo("2026-02-01");
  await refund(story, payment, 400);
  expect(await standing(story, invoice)).toEqual([
    "subtotal 1000, total 1000, written off 600, due 400",
    "overdue, pending",
  ]);
  expect(await story.get("/v1/analytics")).toMatchObject({
    outstanding_total_cents: 400,
    outstanding_invoice_count: 1,
  });
  await story.travelTo("2026-03-01");
  const fired = await story.log("dunning.step_fired");
  expect(fired.map(({ created_at }) => created_at.slice(0, 10))).toEqual(["2026-02-04"]);
});

test("one provider_refund_id for payments of two customers at once is one refund", async () => {
  const story = await begin("2026-01-01");
  for (let round = 0; round < 10; round++) {
    const payments: Json[] = [];
    for (let i = 0; i < 2; i++) {
      const invoice = await oneOff(story, await story.customer(), "100");
      payments.push(await paid(story, invoice, 100));
    }
    const named = { provider_refund_id: `at once ${round}` };
    const answers = await Promise.all(payments.map((payment) => refund(story, payment, 40, named)));
    expect(answers.map(outcome).toSorted()).toEqual(["201", "409 refund_conflict"]);
    const lost = payments[answers.findIndex((answer) => outcome(answer) !== "201")];
    expect((await story.invoice(lost.invoice_id)).amount_due_cents).toBe(0);
  }
});
