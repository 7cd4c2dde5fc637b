// Laws of coupons: no fee changes its sign, whatever is taken of it or taken back; and what a
// coupon took of a line is given back in proportion, all of it once the line is gone.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type AppliedCoupon,
  type DiscountableFee,
  discountFees,
  type LineDiscount,
} from "../../src/domain/coupons.ts";

const INVOICE = { currency: "USD" };
const ENDED = new Date("2026-02-01");
const cents = fc.integer({ min: -20_000, max: 20_000 });
const percent = fc.integer({ min: 1, max: 1_000_000 }).map((n) => String(n / 10_000));

const terms = fc.oneof(
  fc.record({ percent, amount_cents: fc.constant(null) }),
  fc.record({ percent: fc.constant(null), amount_cents: fc.integer({ min: 1, max: 30_000 }) }),
);

function coupon(id: string, of: { percent: string | null; amount_cents: number | null }) {
  return (times: number | null, taken: number, is_ended: boolean): AppliedCoupon => ({
    id,
    code: id,
    name: id,
    ...of,
    times,
    currency: of.percent === null ? "USD" : null,
    plan_codes: null,
    metric_codes: null,
    subscription_id: null,
    applied_at: new Date("2026-01-01"),
    ended_at: is_ended ? new Date("2026-02-10") : null,
    uses: new Map(taken > 0 ? [["before", taken]] : []),
    taken: new Map(taken > 0 ? [["before", taken]] : []),
  });
}

const coupons = fc
  .array(fc.tuple(terms, fc.constantFrom(1, 2, null), fc.nat(9_000), fc.boolean()), {
    maxLength: 4,
  })
  .map((list) => list.map(([of, ...rest], i) => coupon(`${i}`, of)(...rest)));

/** By coupon: what it took of the line, of what those before it left. */
const line = fc
  .array(fc.tuple(fc.nat(4), fc.integer({ min: -500, max: 9_000 }), fc.nat(9_000)), {
    maxLength: 4,
  })
  .map(
    (discounts): Map<string, LineDiscount> =>
      new Map(
        discounts.map(([id, taken_cents, left]) => [
          `${id}`,
          { taken_cents, left_cents: Math.max(left, taken_cents) },
        ]),
      ),
  );

function fee(fields: Partial<DiscountableFee> & { amount_cents: number }): DiscountableFee {
  return {
    fee_type: "charge",
    plan_code: "p",
    metric_code: null,
    subscription_id: null,
    use: "now",
    corrected_period_end: null,
    gives_back_base: false,
    line: new Map(),
    ...fields,
  };
}

const fees = fc.array(
  fc
    .record({
      amount_cents: cents,
      is_correction: fc.boolean(),
      gives_back_base: fc.boolean(),
      line,
    })
    .map(({ amount_cents, is_correction, gives_back_base, line: of }) =>
      is_correction
        ? fee({
            amount_cents,
            fee_type: "adjustment",
            use: "before",
            line: of,
            corrected_period_end: ENDED,
            gives_back_base,
          })
        : fee({ amount_cents: Math.abs(amount_cents) }),
    ),
  { maxLength: 8 },
);

test("no fee changes its sign, and the parts of each are its discount", () => {
  fc.assert(
    fc.property(fees, coupons, (billed, applied) => {
      const found = discountFees(billed, applied, INVOICE);
      found.fees.forEach(({ discount_cents, parts }, i) => {
        const { amount_cents } = billed[i] ?? { amount_cents: 0 };
        const left = amount_cents - discount_cents;
        expect(Math.abs(left)).toBeLessThanOrEqual(Math.abs(amount_cents));
        if (left !== 0) expect(Math.sign(left)).toBe(Math.sign(amount_cents));
        expect(parts.reduce((sum, part) => sum + part.amount_cents, 0)).toBe(discount_cents);
        let before = amount_cents;
        for (const part of parts) {
          expect(part.left_cents).toBe(before);
          before -= part.amount_cents;
        }
      });
    }),
    { numRuns: 1_000 },
  );
});

test("a fixed coupon never gives more than it may", () => {
  const fixed = terms.filter((of) => of.amount_cents !== null);
  fc.assert(
    fc.property(fees, fixed, fc.constantFrom(1, 3), fc.nat(9_000), (billed, of, times, taken) => {
      const one = coupon("0", of)(times, Math.min(taken, of.amount_cents ?? 0), false);
      const given = discountFees(billed, [one], INVOICE)
        .fees.flatMap(({ parts }) => parts)
        .filter(({ is_taken_back }) => !is_taken_back)
        .reduce((sum, { amount_cents }) => sum + amount_cents, 0);
      const before = times === 1 ? (one.taken.get("before") ?? 0) : 0;
      expect(given).toBeLessThanOrEqual((of.amount_cents ?? 0) - before);
      expect(given).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 500 },
  );
});

/** A line of these amounts, one correction below 0 after the other, under one fixed coupon. */
test("what falls to 0 has given all back, in however many steps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20_000 }),
      fc.integer({ min: 1, max: 30_000 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
      (amount_cents, given, steps) => {
        const one = (taken: number) =>
          coupon("0", { percent: null, amount_cents: given })(1, taken, false);
        let taken_cents = discountFees([fee({ amount_cents })], [one(0)], INVOICE).fees[0]
          ?.discount_cents as number;
        expect(taken_cents).toBe(Math.min(amount_cents, given));
        let left_cents = amount_cents;
        for (const share of [...steps, 1]) {
          const amount = -Math.ceil(left_cents * share);
          if (amount === 0) continue;
          const correction = fee({
            amount_cents: amount,
            fee_type: "adjustment",
            use: "before",
            corrected_period_end: ENDED,
            line: new Map([["0", { taken_cents, left_cents }]]),
          });
          const [back] = discountFees([correction], [one(taken_cents)], INVOICE).fees;
          taken_cents += back?.discount_cents ?? 0;
          left_cents += amount;
          expect(taken_cents).toBeGreaterThanOrEqual(0);
          expect(taken_cents).toBeLessThanOrEqual(left_cents);
        }
        expect([taken_cents, left_cents]).toEqual([0, 0]);
      },
    ),
    { numRuns: 500 },
  );
});
