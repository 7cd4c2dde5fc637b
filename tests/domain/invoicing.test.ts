// What makes an invoice, and its dates.

import { describe, expect, test } from "vitest";
import { draftInvoice, overdueAt } from "../../src/domain/invoicing.ts";
import { AmountOutOfRange } from "../../src/domain/money.ts";
import type { FeeDraft } from "../../src/domain/pricing.ts";

const fee = (amount_cents: number): FeeDraft => ({
  fee_type: "charge",
  charge_id: null,
  billable_metric_code: null,
  units: "1",
  amount_cents,
  properties: {},
});
const draft = (amounts: number[], parts: { now?: string; allow_zero?: boolean } = {}) =>
  draftInvoice({
    fees: amounts.map(fee),
    currency: "USD",
    period_start: "2026-01-15",
    period_end: "2026-01-31",
    now: new Date(parts.now ?? "2026-02-01T00:00:00.000Z"),
    net_payment_days: 14,
    ...(parts.allow_zero === undefined ? {} : { allow_zero: parts.allow_zero }),
  });

describe("an invoice", () => {
  test("has its fees and is due after the payment term", () => {
    expect(draft([1700, 308, 0])).toEqual({
      fees: [fee(1700), fee(308), fee(0)],
      currency: "USD",
      period_start: "2026-01-15",
      period_end: "2026-01-31",
      issued_at: new Date("2026-02-01T00:00:00.000Z"),
      issuing_date: "2026-02-01",
      due_date: "2026-02-15",
      part: null,
    });
  });

  test.each([
    ["2022-12-20T10:00:00.000Z", "2022-12-20", "2023-01-03"],
    ["2026-01-31T23:59:59.999Z", "2026-01-31", "2026-02-14"],
    ["2026-03-01T00:00:00.000Z", "2026-03-01", "2026-03-15"],
  ])("made at %s is issued %s and due %s", (now, issuing_date, due_date) => {
    expect(draft([1], { now })).toMatchObject({ issuing_date, due_date });
  });

  test("is not made of nothing, or of lines of 0 alone", () => {
    expect(draft([])).toBeUndefined();
    expect(draft([0, 0])).toBeUndefined();
    expect(draft([], { allow_zero: true })).toMatchObject({ fees: [] });
  });

  test("of 0 is made for an add-on", () => {
    expect(draft([0], { allow_zero: true })).toMatchObject({ fees: [fee(0)] });
  });

  test("whose lines cancel out is made", () => {
    expect(draft([200, -200])).toMatchObject({ fees: [fee(200), fee(-200)] });
  });

  test("whose sum no number can carry is refused", () => {
    expect(() => draft([Number.MAX_SAFE_INTEGER, 1])).toThrow(AmountOutOfRange);
  });
});

test("an invoice becomes overdue with the first instant after the due date", () => {
  expect(overdueAt("2026-03-15").toISOString()).toBe("2026-03-16T00:00:00.000Z");
});
