// Refunds beside a write-off: what is given back is due again, and what was given up stays so.

import { expect, test } from "vitest";
import { oneOff, outcome, paid, refund, standing, stories } from "../support/money.ts";

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
    "uncollectible, partially_paid",
  ]);
  expect(outcome(await writeOff())).toBe("200");
  expect(await standing(story, invoice)).toEqual([
    "subtotal 1000, total 1000, paid 250, written off 750",
    "uncollectible, partially_paid",
  ]);
});
