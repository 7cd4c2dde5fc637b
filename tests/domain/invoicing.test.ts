// What makes an invoice, and its dates.

import { describe, expect, test } from "vitest";
import { draftInvoice, isInvoiced, joinDrafts, overdueAt } from "../../src/domain/invoicing.ts";
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
const draft = (
  amounts: number[],
  {
    now = "2026-02-01T00:00:00.000Z",
    period_start = "2026-01-15",
    period_end = "2026-01-31",
  }: { now?: string; period_start?: string; period_end?: string } = {},
) =>
  draftInvoice({
    fees: amounts.map(fee),
    currency: "USD",
    period_start,
    period_end,
    now: new Date(now),
    net_payment_days: 14,
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
    expect(isInvoiced([])).toBe(false);
    expect(isInvoiced([draft([])])).toBe(false);
    expect(isInvoiced([draft([0, 0])])).toBe(false);
    expect(isInvoiced([draft([0]), draft([0, 0])])).toBe(false);
  });

  test("takes lines of 0 that stand beside another", () => {
    expect(isInvoiced([draft([0]), draft([0, 1])])).toBe(true);
    expect(joinDrafts(draft([0]), [draft([0, 1])]).fees).toEqual([fee(0), fee(0), fee(1)]);
  });

  test("whose lines cancel out is made", () => {
    expect(isInvoiced([draft([200, -200])])).toBe(true);
    expect(isInvoiced([draft([200]), draft([-200])])).toBe(true);
  });

  test("of several parts has their lines in order, and reaches over all their periods", () => {
    const advance = draft([2000], { period_start: "2026-02-01", period_end: "2026-02-28" });
    const weekly = draft([7], { period_start: "2026-01-26", period_end: "2026-02-01" });
    expect(joinDrafts(advance, [draft([30]), weekly])).toEqual({
      ...draft([2000, 30, 7]),
      period_end: "2026-02-28",
    });
    expect(joinDrafts(advance, [])).toBe(advance);
  });

  test("of parts that no number can carry together is refused", () => {
    const most = draft([1_000_000_000_000_000]);
    expect(() => joinDrafts(most, [draft([1])])).toThrow(AmountOutOfRange);
  });

  test("whose sum no number can carry is refused", () => {
    expect(() => draft([Number.MAX_SAFE_INTEGER, 1])).toThrow(AmountOutOfRange);
  });
});

test("an invoice becomes overdue with the first instant after the due date", () => {
  expect(overdueAt("2026-03-15").toISOString()).toBe("2026-03-16T00:00:00.000Z");
});
