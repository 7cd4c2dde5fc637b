// Any coupons on any one-off invoices, against a second computation of the rules; and any parts in
// which an invoice can be credited.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { discounted, OracleCoupon, type Terms } from "../../support/coupon-oracle.ts";
import { sum } from "../../support/exact.ts";
import {
  applied,
  credit,
  discount,
  discountsOf,
  linesOf,
  note,
  oneOff,
  outcome,
  paid,
  settings,
  stories,
  takenOf,
  tax,
  voidInvoice,
} from "../../support/money.ts";
import { runs } from "../../support/property-runs.ts";

const { begin } = stories();
const TIMEOUT = { timeout: 240_000 };

const percent = fc.oneof(
  fc.constantFrom("100", "50", "33.333", "0.0001", "66.6667", "10"),
  fc.integer({ min: 1, max: 1_000_000 }).map((n) => decimal(n)),
);
const times = fc.constantFrom(1, 2, null);
const terms: fc.Arbitrary<Terms> = fc.oneof(
  fc.record({ percent, times }),
  fc.record({ amount_cents: fc.integer({ min: 1, max: 4000 }), times }),
);
const cents = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3000 }));
const lines = fc.array(cents, { minLength: 1, maxLength: 8 });

/** Ten-thousandths of a percent in writing: 55000 is "5.5". */
function decimal(n: number): string {
  const part = String(n % 10_000).padStart(4, "0");
  return `${Math.floor(n / 10_000)}.${part}`.replace(/\.?0+$/, "");
}

describe("coupons", () => {
  test.each<[string, readonly Terms[], readonly number[], readonly number[]]>([
    ["M20", [{ percent: "10", times: 3 }], [2030, 1875, 3600], [203, 188, 360]],
    ["M21", [{ percent: "33.333", times: null }], [1, 1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0, 0]],
    ["M23", [{ amount_cents: 5000, times: 1 }], [3000], [3000]],
    [
      "M26",
      [
        { amount_cents: 500, times: 1 },
        { percent: "10", times: 1 },
      ],
      [10_000],
      [1450],
    ],
    ["M29", [{ amount_cents: 1000, times: 1 }], [999, 1001, 500], [400, 400, 200]],
  ])("%s is met by the second computation too", (_, all, amounts, wanted) => {
    const oracles = all.map((each) => new OracleCoupon(each));
    expect(discounted(0, amounts, oracles).discounts).toEqual(wanted);
  });

  test("take of every line what the rules say, in their order (M20 to M32)", TIMEOUT, async () => {
    const invoices = fc.array(fc.record({ lines, voided: fc.boolean() }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(terms, { minLength: 1, maxLength: 4 }),
        invoices,
        async (all, issued) => {
          const story = await begin("2026-01-01");
          const customer = await story.customer();
          const oracles = all.map((each) => new OracleCoupon(each));
          const made: Json[] = [];
          for (const each of all) made.push(await discount(story, customer, each));
          for (const [i, { lines: amounts, voided }] of issued.entries()) {
            const invoice = await oneOff(story, customer, amounts.join(", "));
            const wanted = discounted(i, amounts, oracles);
            expect(discountsOf(invoice)).toEqual(wanted.discounts);
            expect(takenOf(invoice)).toEqual(wanted.taken.filter((taken) => taken !== 0));
            expect(invoice.total_cents).toBe(sum(amounts) - sum(wanted.discounts));
            // What has nothing due is paid, and stays.
            if (!voided || invoice.total_cents === 0) continue;
            expect(outcome(await voidInvoice(story, invoice))).toBe("200");
            for (const oracle of oracles) oracle.undo(i);
          }
          for (const [i, oracle] of oracles.entries()) {
            const { uses, used_cents, status, remaining_cents } = oracle;
            const found = await applied(story, made[i]);
            // A pot has no uses but what is left of it.
            const left = remaining_cents === null ? { uses } : { remaining_cents };
            expect(found).toMatchObject({ used_cents, status, ...left });
          }
        },
      ),
      runs(25),
    );
  });
});

describe("credit notes", () => {
  const codes = ["a", "b", "c"];
  const taxed = fc.record({
    cents: fc.integer({ min: 1, max: 3000 }),
    codes: fc.subarray(codes),
  });
  const parts = fc.array(fc.tuple(fc.nat(100), fc.nat(1_000_000)), { maxLength: 10 });

  test("in any number of parts add up to exactly the total (M51 to M54)", TIMEOUT, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(taxed, { minLength: 1, maxLength: 5 }),
        fc.tuple(percent, percent, percent),
        fc.option(terms, { nil: undefined }),
        fc.nat(100),
        parts,
        async (wanted, percents, coupon, paid_part, chosen) => {
          const story = await begin("2026-01-01");
          for (const [i, code] of codes.entries()) await tax(story, code, percents[i] ?? "0");
          await settings(story, { tax_codes: [] });
          const customer = await story.customer();
          if (coupon !== undefined) await discount(story, customer, coupon);
          const text = wanted.map((line) => `${line.cents} [${line.codes.join(" ")}]`).join(", ");
          const invoice = await oneOff(story, customer, linesOf(text));
          const part = Math.floor((invoice.amount_due_cents * paid_part) / 100);
          if (part > 0) await paid(story, invoice, part);
          const left: number[] = invoice.fees.map((fee: Json) => fee.taxable_cents);
          const totals: number[] = [];
          for (const [line, size] of chosen) {
            const at = line % left.length;
            const rest = left[at] ?? 0;
            if (rest === 0) continue;
            const amount = (size % rest) + 1;
            left[at] = rest - amount;
            totals.push((await note(story, invoice, { [at]: amount })).total_cents);
          }
          if (sum(left) > 0) totals.push((await note(story, invoice)).total_cents);
          expect(sum(totals)).toBe(invoice.total_cents);
          const more = await credit(story, invoice);
          expect(outcome(more)).toBe("422 amount_exceeds_creditable");
          const { amount_due_cents, credit_notes_cents } = await story.invoice(invoice.id);
          expect([amount_due_cents, credit_notes_cents]).toEqual([0, invoice.total_cents]);
        },
      ),
      runs(20),
    );
  });
});
