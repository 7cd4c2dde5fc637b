// The one order of amounts: from fees to the total, from the total to what is due.

import { describe, expect, test } from "vitest";
import { type AmountFee, amountsOf, dueOf, statusOf } from "../../src/domain/amounts.ts";
import type { Tax } from "../../src/domain/taxes.ts";
import { amountFee } from "../support/amount-fees.ts";

const INVOICE = { currency: "USD" };
const VAT: Tax = { code: "vat", name: "VAT", percent: "20" };

const fee = (amount_cents: number, taxes: readonly Tax[] = []): AmountFee =>
  amountFee({ amount_cents, use: "invoice", fee_type: "one_off", taxes });

describe("the total", () => {
  test.each([
    [[1700, 308, 0], 2008, 2008, 0],
    [[200, -200], 0, 0, 0],
    [[500, -1200], -700, 0, 700],
  ])("of fees of %j", (amounts, subtotal_cents, total_cents, credit_cents) => {
    const fees = amounts.map((amount) => fee(amount));
    expect(amountsOf(fees, [], INVOICE)).toMatchObject({
      subtotal_cents,
      total_cents,
      credit_cents,
      discount_cents: 0,
      tax_cents: 0,
    });
  });

  test("is never below 0: what lies below is credit, with its tax", () => {
    expect(amountsOf([fee(100, [VAT]), fee(-300, [VAT])], [], INVOICE)).toMatchObject({
      subtotal_cents: -200,
      tax_cents: -40,
      total_cents: 0,
      credit_cents: 240,
    });
  });
});

const STANDING = {
  total_cents: 10_000,
  credit_applied_cents: 0,
  offset_cents: 0,
  amount_paid_cents: 0,
  overpaid_cents: 0,
  written_off_cents: 0,
  is_overdue: false,
  is_voided: false,
};

test("what is due is the total less everything that settles it", () => {
  const settled = { credit_applied_cents: 1000, offset_cents: 200, amount_paid_cents: 3000 };
  expect(dueOf({ ...STANDING, ...settled, overpaid_cents: 500, written_off_cents: 50 })).toBe(6250);
});

describe("the status", () => {
  test.each([
    [{}, "outstanding", "pending"],
    [{ amount_paid_cents: 4000 }, "outstanding", "partially_paid"],
    [{ amount_paid_cents: 10_000 }, "succeeded", "succeeded"],
    [{ amount_paid_cents: 10_001, overpaid_cents: 1 }, "succeeded", "succeeded"],
    [{ amount_paid_cents: 6000, credit_applied_cents: 4000 }, "succeeded", "succeeded"],
    [{ credit_applied_cents: 4000 }, "outstanding", "pending"],
    [{ offset_cents: 10_000 }, "succeeded", "succeeded"],
    [{ is_overdue: true }, "overdue", "pending"],
    [{ is_overdue: true, amount_paid_cents: 1 }, "overdue", "partially_paid"],
    [{ is_overdue: true, amount_paid_cents: 10_000 }, "succeeded", "succeeded"],
    [{ total_cents: 0 }, "succeeded", "succeeded"],
    [{ written_off_cents: 10_000 }, "uncollectible", "pending"],
    [{ written_off_cents: 1, amount_paid_cents: 9999 }, "uncollectible", "partially_paid"],
    [{ written_off_cents: 600, amount_paid_cents: 9000 }, "outstanding", "partially_paid"],
    [{ written_off_cents: 600, is_overdue: true }, "overdue", "pending"],
    [{ is_voided: true, is_overdue: true }, "voided", "pending"],
    [{ is_voided: true, amount_paid_cents: 5 }, "voided", "partially_paid"],
  ])("with %j is %s, %s", (parts, status, payment_status) => {
    expect(statusOf({ ...STANDING, ...parts })).toEqual({ status, payment_status });
  });
});
