// From a price list and usage to the lines of an invoice, whatever the input.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS } from "../../src/domain/dates.ts";
import {
  add,
  type Decimal,
  decimal,
  formatDecimal,
  integer,
  subtract,
  ZERO,
} from "../../src/domain/decimal.ts";
import { draftInvoice, isInvoiced } from "../../src/domain/invoicing.ts";
import { flatAmount, prorated } from "../../src/domain/money.ts";
import type { Billed } from "../../src/domain/period-fees.ts";
import { periodAt, periodDays } from "../../src/domain/periods.ts";
import { type FeeDraft, normalisedMonthly, type PlanVersion } from "../../src/domain/pricing.ts";
import { INTERVALS } from "../../src/schema/plans.ts";
import {
  adjustments,
  close as closeOf,
  flatCharge,
  planVersion,
  usageCharge,
  used,
} from "../support/price-lists.ts";

const JANUARY = { start: new Date("2026-01-01"), end: new Date("2026-02-01") };
const METRICS = ["m1", "m2"] as const;

/** Decimals with `places` decimals, so that halves of a cent come up often. */
const decimals = (min: number, max: number, places: number) =>
  fc
    .integer({ min, max })
    .map((digits) => formatDecimal({ digits: BigInt(digits), scale: places }));
const rate = fc.oneof(decimals(0, 5000, 3), decimals(0, 20_000, 7));

const version = fc
  .record({
    amount_cents: fc.integer({ min: 0, max: 100_000 }),
    currency: fc.constantFrom("USD", "JPY", "KWD"),
    rates: fc.array(fc.tuple(fc.constantFrom(...METRICS), rate), { minLength: 1, maxLength: 4 }),
    flats: fc.array(fc.integer({ min: 0, max: 10_000 }), { maxLength: 2 }),
  })
  .map(({ amount_cents, currency, rates, flats }): PlanVersion => {
    const usage = rates.map(([metric_id, text], index) =>
      usageCharge(text, { id: `usage-${index}`, metric_id, metric_code: metric_id }),
    );
    const flat = flats.map((cents, index) => flatCharge(cents, { id: `flat-${index}` }));
    return planVersion({ amount_cents, currency, charges: [...usage, ...flat] });
  });

/** One event: so much of one metric, also below zero. */
const usageEvent = fc.tuple(fc.constantFrom(...METRICS), decimals(-2000, 4000, 2));
type Event = [metric_id: string, quantity: string];

function usageOf(events: readonly Event[]) {
  const sums = new Map<string, Decimal>();
  for (const [metric_id, quantity] of events) {
    sums.set(metric_id, add(sums.get(metric_id) ?? ZERO, decimal(quantity)));
  }
  return used(Object.fromEntries([...sums].map(([id, sum]) => [id, formatDecimal(sum)])));
}

const periodOf = (plan: PlanVersion, events: readonly Event[]) =>
  closeOf({
    version: plan,
    billed: JANUARY,
    suspensions: [],
    usage: usageOf(events),
    properties: {},
  });
const close = (plan: PlanVersion, events: readonly Event[]) => periodOf(plan, events).fees;
const total = (fees: readonly FeeDraft[]) => fees.reduce((sum, fee) => sum + fee.amount_cents, 0);

/** Closes with the first group of events, then corrects once per later group. */
function closeInGroups(plan: PlanVersion, groups: readonly (readonly Event[])[]) {
  const [first = [], ...later] = groups;
  const closed = periodOf(plan, first);
  const fees = [...closed.fees];
  let billed: Billed = closed.billed;
  const known = [...first];
  for (const group of later) {
    known.push(...group);
    const usage = usageOf(known);
    const correction = adjustments({ version: plan, billed_period: JANUARY, billed, usage });
    fees.push(...correction.fees);
    billed = correction.billed;
  }
  return { fees, billed };
}

describe("corrections", () => {
  const groups = fc.array(fc.array(usageEvent, { maxLength: 5 }), { minLength: 1, maxLength: 6 });
  const shuffled = groups.chain((list) =>
    fc.tuple(
      fc.constant(list),
      fc.shuffledSubarray(list.flat(), { minLength: list.flat().length }),
      fc.infiniteStream(fc.integer({ min: 1, max: 4 })),
    ),
  );

  test("telescope: any order and any grouping gives what one close with everything gives", () => {
    fc.assert(
      fc.property(version, shuffled, (plan, [list, other, sizes]) => {
        const expected = total(close(plan, list.flat()));
        expect(total(closeInGroups(plan, list).fees)).toBe(expected);
        const regrouped: Event[][] = [];
        for (let rest = other; rest.length > 0; ) {
          const size = sizes.next().value;
          regrouped.push(rest.slice(0, size));
          rest = rest.slice(size);
        }
        expect(total(closeInGroups(plan, regrouped).fees)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  test("leave in the books what the lines say, per charge, in money and in units", () => {
    fc.assert(
      fc.property(version, groups, (plan, list) => {
        const { fees, billed } = closeInGroups(plan, list);
        for (const charge of plan.charges.filter((one) => one.charge_model === "standard")) {
          const lines = fees.filter((fee) => fee.charge_id === charge.id);
          const units = lines.map((fee) => decimal(fee.units)).reduce(add, ZERO);
          const entry = { units: formatDecimal(units), amount_cents: total(lines) };
          expect(billed[charge.id]).toEqual(entry);
        }
      }),
    );
  });

  test("make no line without a difference, and none at all the second time", () => {
    fc.assert(
      fc.property(version, groups, (plan, list) => {
        const { fees, billed } = closeInGroups(plan, list);
        const corrections = fees.filter((fee) => fee.fee_type === "adjustment");
        expect(corrections.every((fee) => fee.amount_cents !== 0)).toBe(true);
        const usage = usageOf(list.flat());
        const again = adjustments({ version: plan, billed_period: JANUARY, billed, usage });
        expect(again).toEqual({ fees: [], billed });
      }),
    );
  });

  test("never take a charge below zero", () => {
    fc.assert(
      fc.property(version, groups, (plan, list) => {
        const { billed } = closeInGroups(plan, list);
        expect(Object.values(billed).every((entry) => entry.amount_cents >= 0)).toBe(true);
      }),
    );
  });
});

describe("fees", () => {
  test("make an invoice unless all of them are 0", () => {
    const fees = fc.array(fc.integer({ min: -5000, max: 5000 }), { maxLength: 8 });
    fc.assert(
      fc.property(fees, (amounts) => {
        const [line] = close(planVersion({ amount_cents: 1 }), []);
        const invoice = draftInvoice({
          fees: amounts.flatMap((amount_cents) => (line ? [{ ...line, amount_cents }] : [])),
          currency: "USD",
          period_start: "2026-01-01",
          period_end: "2026-01-31",
          now: JANUARY.end,
          net_payment_days: 14,
        });
        expect(isInvoiced([invoice])).toBe(!amounts.every((amount) => amount === 0));
      }),
    );
  });

  test("are within half a minor unit of what they were before rounding", () => {
    const units = decimals(0, 1_000_000_000, 4);
    const currency = fc.constantFrom("USD", "JPY", "KWD", "CLF");
    const cents = fc.integer({ min: 0, max: 10 ** 12 });
    fc.assert(
      fc.property(units, rate, currency, cents, (amount, price, code, whole) => {
        const list = planVersion({ currency: code, charges: [usageCharge(price)] });
        const usage = close(list, [["metric", amount]]).find(
          ({ fee_type }) => fee_type === "charge",
        );
        if (usage === undefined) throw new Error("A charge has a fee.");
        for (const { amount_cents, precise_amount } of [
          { ...usage, precise_amount: String(usage.properties.precise_amount) },
          flatAmount(decimal(price), whole),
        ]) {
          const error = subtract(integer(amount_cents), decimal(precise_amount));
          const twice = add(error, error);
          expect(twice.digits <= 10n ** BigInt(twice.scale)).toBe(true);
          expect(twice.digits > -(10n ** BigInt(twice.scale))).toBe(true);
        }
      }),
    );
  });

  test("of the two parts of a period differ from the whole by no more than the rounding", () => {
    const amount = fc.integer({ min: 0, max: 10 ** 9 });
    const at = fc.date({
      min: new Date("2000-01-01"),
      max: new Date("2100-01-01"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(amount, at, fc.constantFrom(...INTERVALS), (amount_cents, instant, interval) => {
        const period = periodAt(instant, interval);
        const days = periodDays(period);
        const first = Math.floor((instant.getTime() - period.start.getTime()) / DAY_MS);
        const parts = [first, days - first].map((part) => prorated(amount_cents, part, days));
        const sum = parts.reduce((before, part) => before + part.amount_cents, 0);
        expect(Math.abs(sum - amount_cents)).toBeLessThanOrEqual(1);
        expect(prorated(amount_cents, days, days).amount_cents).toBe(amount_cents);
      }),
    );
  });

  test("per month are rounded once: the sum is not the sum of rounded parts", () => {
    const part = fc.record({
      interval: fc.constantFrom(...INTERVALS),
      cents: fc.integer({ min: 0, max: 10 ** 9 }),
    });
    const weights = { weekly: 52n, monthly: 12n, quarterly: 4n, semiannual: 2n, yearly: 1n };
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        let twelfths = 0n;
        for (const { interval, cents } of parts) twelfths += BigInt(cents) * weights[interval];
        const decimalParts = parts.map((one) => ({ ...one, cents: integer(one.cents) }));
        const difference = 12n * BigInt(normalisedMonthly(decimalParts)) - twelfths;
        expect(difference > -6n && difference <= 6n).toBe(true);
      }),
    );
  });
});
