// Laws of the order of amounts: sums meet, coupons keep signs, and taxes are those of the fees.

import fc from "fast-check";
import { expect, test } from "vitest";
import { type AmountFee, amountsOf } from "../../src/domain/amounts.ts";
import type { AppliedCoupon } from "../../src/domain/coupons.ts";
import { taxLines } from "../../src/domain/taxes.ts";
import { amountFee } from "../support/amount-fees.ts";

const INVOICE = { currency: "USD" };

const percent = fc.integer({ min: 1, max: 1_000_000 }).map((n) => String(n / 10_000));
const taxes = fc
  .uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 })
  .map((codes) => codes.map((code) => ({ code, name: code, percent: "7.7" })));
const fee = fc
  .record({ amount_cents: fc.integer({ min: -50_000, max: 50_000 }), taxes })
  .map(({ amount_cents, taxes: own }): AmountFee => {
    const isCorrection = amount_cents < 0;
    return amountFee({
      amount_cents,
      taxes: own,
      fee_type: isCorrection ? "adjustment" : "charge",
      plan_code: "p",
      use: isCorrection ? "before" : "now",
      corrected_period_end: isCorrection ? new Date("2026-02-01") : null,
    });
  });
const coupon = fc
  .record({
    percent: fc.option(percent),
    amount_cents: fc.integer({ min: 1, max: 60_000 }),
    times: fc.constantFrom(1, 2, null),
    used: fc.boolean(),
  })
  .map(
    (terms): AppliedCoupon => ({
      id: "",
      code: "c",
      name: "C",
      percent: terms.percent,
      amount_cents: terms.percent === null ? terms.amount_cents : null,
      currency: terms.percent === null ? "USD" : null,
      times: terms.times,
      plan_codes: null,
      metric_codes: null,
      subscription_id: null,
      applied_at: new Date("2026-01-01"),
      ended_at: null,
      uses: new Map(terms.used ? [["before", 100]] : []),
      taken: new Map(terms.used ? [["before", 100]] : []),
    }),
  );
const some = fc.tuple(
  fc.array(fee, { maxLength: 8 }),
  fc.array(coupon, { maxLength: 4 }).map((list) => list.map((one, i) => ({ ...one, id: `${i}` }))),
);

test("fees, less coupons, plus taxes, are the total or the credit", () => {
  fc.assert(
    fc.property(some, ([fees, coupons]) => {
      const found = amountsOf(fees, coupons, INVOICE);
      const sum = found.subtotal_cents - found.discount_cents + found.tax_cents;
      expect(found.total_cents - found.credit_cents).toBe(sum);
      expect(Math.min(found.total_cents, found.credit_cents)).toBe(0);
      const byCoupon = found.coupons.reduce((all, { amount_cents }) => all + amount_cents, 0);
      expect(byCoupon).toBe(found.discount_cents);
      const lines = found.fees.map(({ taxable_cents }, i) => {
        return { taxable_cents, taxes: fees[i]?.taxes ?? [] };
      });
      expect(found.taxes).toEqual(taxLines(lines));
    }),
  );
});

test("each fee's discount lies between 0 and the fee", () => {
  fc.assert(
    fc.property(some, ([fees, coupons]) => {
      amountsOf(fees, coupons, INVOICE).fees.forEach(({ discount_cents }, i) => {
        const { amount_cents } = fees[i] ?? { amount_cents: 0 };
        expect(Math.abs(discount_cents)).toBeLessThanOrEqual(Math.abs(amount_cents));
        if (discount_cents !== 0) expect(Math.sign(discount_cents)).toBe(Math.sign(amount_cents));
      });
    }),
  );
});
