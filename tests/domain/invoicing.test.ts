// Sums, dates, numbers and states of an invoice.

import { describe, expect, test } from "vitest";
import {
  applyCredit,
  draftInvoice,
  invoiceNumber,
  invoiceStatus,
  overdueAt,
} from "../../src/domain/invoicing.ts";
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
  test("adds up its fees and is due after the payment term", () => {
    expect(draft([1700, 308, 0])).toEqual({
      fees: [fee(1700), fee(308), fee(0)],
      currency: "USD",
      subtotal_cents: 2008,
      total_cents: 2008,
      credit_cents: 0,
      period_start: "2026-01-15",
      period_end: "2026-01-31",
      issuing_date: "2026-02-01",
      due_date: "2026-02-15",
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
    expect(draft([], { allow_zero: true })).toMatchObject({ fees: [], total_cents: 0 });
  });

  test("of 0 is made for an add-on", () => {
    expect(draft([0], { allow_zero: true })).toMatchObject({ total_cents: 0, credit_cents: 0 });
  });

  test("whose lines cancel out is made, with nothing due", () => {
    expect(draft([200, -200])).toMatchObject({
      subtotal_cents: 0,
      total_cents: 0,
      credit_cents: 0,
    });
  });

  test("is never below 0: the rest is credit", () => {
    expect(draft([500, -1200])).toMatchObject({
      subtotal_cents: -700,
      total_cents: 0,
      credit_cents: 700,
    });
  });

  test("whose sum no number can carry is refused", () => {
    expect(() => draft([Number.MAX_SAFE_INTEGER, 1])).toThrow(AmountOutOfRange);
  });
});

describe("credit", () => {
  test.each([
    [1000, 0, 0, 1000],
    [1000, 300, 300, 700],
    [1000, 1000, 1000, 0],
    [1000, 5000, 1000, 0],
    [0, 500, 0, 0],
  ])("of a total of %i, a balance of %i covers %i", (total, balance, used, due) => {
    const applied = { credit_applied_cents: used, amount_due_cents: due };
    expect(applyCredit(total, balance)).toEqual(applied);
  });
});

describe("the status", () => {
  test.each([
    [10_000, 0, 0, false, "outstanding", "pending"],
    [10_000, 4000, 0, false, "outstanding", "partially_paid"],
    [10_000, 10_000, 0, false, "succeeded", "succeeded"],
    [10_000, 10_001, 0, false, "succeeded", "succeeded"],
    [10_000, 6000, 4000, true, "succeeded", "succeeded"],
    [10_000, 0, 4000, false, "outstanding", "pending"],
    [9900, 0, 0, true, "overdue", "pending"],
    [9900, 9899, 0, false, "outstanding", "partially_paid"],
    [9900, 1, 0, true, "overdue", "partially_paid"],
    [9900, 9900, 0, true, "succeeded", "succeeded"],
    [0, 0, 0, false, "succeeded", "succeeded"],
  ])("of %i, paid %i, credit %i, overdue %s is %s/%s", (total, paid, credit, overdue, ...is) => {
    const [status, payment_status] = is;
    const sums = { total_cents: total, paid_cents: paid, credit_cents: credit };
    expect(invoiceStatus({ ...sums, overdue, voided: false })).toEqual({ status, payment_status });
  });

  test("of a voided invoice stays voided", () => {
    const sums = { total_cents: 5, paid_cents: 0, credit_cents: 0, overdue: true };
    expect(invoiceStatus({ ...sums, voided: true })).toEqual({
      status: "voided",
      payment_status: "pending",
    });
  });

  test("becomes overdue with the first instant after the due date", () => {
    expect(overdueAt("2026-03-15").toISOString()).toBe("2026-03-16T00:00:00.000Z");
  });
});

test.each([
  [2026, 1, "INV-2026-0001"],
  [2022, 42, "INV-2022-0042"],
  [2027, 9999, "INV-2027-9999"],
  [2027, 10_000, "INV-2027-10000"],
])("number %i/%i is written %s", (year, sequence, text) => {
  expect(invoiceNumber(year, sequence)).toBe(text);
});
