// What usage costs under each model, whatever the price: the laws that hold between models.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Price, rateUsage, type Tier, USAGE_MODELS } from "../../src/domain/charge-models.ts";
import { add, decimal, formatDecimal, ZERO } from "../../src/domain/decimal.ts";
import { compareFractions, fraction, isNothing, minus, plus } from "../../src/domain/fraction.ts";

const CENTS = 2;

const text = (max: number, places: number) =>
  fc
    .integer({ min: 0, max })
    .map((digits) => formatDecimal({ digits: BigInt(digits), scale: places }));
const amount = text(50_000, 4);
const units = text(500_000, 2);
const events = fc.integer({ min: 0, max: 50 });

/** Tiers that rise strictly from above 0, the last one open. */
const tiers = fc
  .uniqueArray(fc.integer({ min: 1, max: 400_000 }), { maxLength: 8 })
  .chain((ends) =>
    fc.tuple(
      fc.constant(ends.sort((a, b) => a - b)),
      fc.array(fc.tuple(amount, fc.option(text(1_000, 2), { nil: undefined })), {
        minLength: ends.length + 1,
        maxLength: ends.length + 1,
      }),
    ),
  )
  .map(([ends, prices]) =>
    prices.map(([each, flat_amount], i): Tier => {
      const end = ends[i];
      const up_to = end === undefined ? null : formatDecimal({ digits: BigInt(end), scale: 2 });
      return { up_to, amount: each, ...(flat_amount !== undefined && { flat_amount }) };
    }),
  );

const used = (units_used: string, n = 0) => ({ units: fraction(decimal(units_used)), events: n });
const rate = (model: Parameters<typeof rateUsage>[0], price: Price, of: string, n = 0) =>
  rateUsage(model, price, used(of, n), CENTS);

function expectSame(a: ReturnType<typeof rate>, b: ReturnType<typeof rate>): void {
  expect(compareFractions(a.amount, b.amount)).toBe(0);
}

describe("tiers", () => {
  test("graduated and volume of one tier cost what standard does, and its flat amount", () => {
    fc.assert(
      fc.property(amount, units, (each, of) => {
        const one = { tiers: [{ up_to: null, amount: each }] };
        expectSame(rate("graduated", one, of), rate("standard", { amount: each }, of));
        expectSame(rate("volume", one, of), rate("standard", { amount: each }, of));
      }),
    );
  });

  test("graduated telescopes: what more units cost is what the tiers between them say", () => {
    fc.assert(
      fc.property(tiers, units, units, (list, a, b) => {
        const [low, high] = [a, b].sort((x, y) => Number(x) - Number(y)) as [string, string];
        const below = rate("graduated", { tiers: list }, low);
        const above = rate("graduated", { tiers: list }, high);
        // Integrated in steps: from each tier's start or `low` to its end or `high`.
        let sum = fraction(ZERO);
        let from = 0;
        for (const tier of list) {
          const end = tier.up_to === null ? Number.POSITIVE_INFINITY : Number(tier.up_to);
          const start = Math.max(from, Number(low));
          const stop = Math.min(end, Number(high));
          if (stop > start) {
            const width = decimal((Math.round((stop - start) * 100) / 100).toString());
            sum = plus(sum, rate("standard", { amount: tier.amount }, formatDecimal(width)).amount);
          }
          // A tier's flat amount is due when its first unit is reached.
          const isReached = Number(high) > from && Number(low) <= from;
          if (isReached) sum = plus(sum, fraction(decimal(tier.flat_amount ?? "0")));
          from = end;
        }
        expect(compareFractions(minus(above.amount, below.amount), sum)).toBe(0);
      }),
    );
  });

  test("graduated: splitting a tier without changing its price changes nothing", () => {
    fc.assert(
      fc.property(tiers, units, fc.nat(), (list, of, pick) => {
        const at = pick % list.length;
        const from = Number(list[at - 1]?.up_to ?? "0");
        const end = list[at]?.up_to === null ? from + 1_000 : Number(list[at]?.up_to);
        const middle = Math.round((from + end) * 50) / 100;
        fc.pre(middle > from && middle < end);
        const { amount: each = "0", flat_amount, up_to = null } = list[at] ?? {};
        const parts = [
          { up_to: String(middle), amount: each, ...(flat_amount && { flat_amount }) },
          { up_to, amount: each },
        ];
        const split = [...list.slice(0, at), ...parts, ...list.slice(at + 1)];
        expectSame(rate("graduated", { tiers: split }, of), rate("graduated", { tiers: list }, of));
      }),
    );
  });

  test("are explained by entries that add up to the whole, units and cents", () => {
    fc.assert(
      fc.property(tiers, units, fc.constantFrom("graduated", "volume"), (list, of, model) => {
        const { amount: whole, explanation } = rate(model as "volume", { tiers: list }, of);
        const entries = explanation.tiers as { units: string; precise_amount: string }[];
        const sum = (texts: string[]) => formatDecimal(texts.map(decimal).reduce(add, ZERO));
        expect(sum(entries.map((entry) => entry.units))).toBe(formatDecimal(decimal(of)));
        const cents = fraction(decimal(sum(entries.map((entry) => entry.precise_amount))), 100n);
        expect(compareFractions(cents, whole)).toBe(0);
      }),
    );
  });

  test.each([
    ["0", 0],
    ["0.01", 1],
    ["100", 1],
    ["100.01", 2],
    ["250", 2],
    ["250.01", 3],
  ])("a tier holds its own end: %s units reach %i tiers", (of, reached) => {
    const list: Tier[] = ["100", "250", null].map((up_to) => ({ up_to, amount: "1" }));
    const found = (model: "graduated" | "volume") =>
      (rate(model, { tiers: list }, of).explanation.tiers as object[]).length;
    expect([found("graduated"), found("volume")]).toEqual([reached, Math.min(reached, 1)]);
  });
});

describe("the other models", () => {
  test("packages of one unit cost what standard does of whole units, with free ones too", () => {
    const whole = fc.nat({ max: 10_000 }).map(String);
    fc.assert(
      fc.property(amount, whole, whole, (each, of, free_units) => {
        const priced = { amount: each, free_units };
        const packaged = rate("package", { ...priced, package_size: "1" }, of);
        expectSame(packaged, rate("standard", priced, of));
        const paid = Math.max(0, Number(of) - Number(free_units));
        expect(packaged.explanation).toEqual({ packages: paid });
      }),
    );
  });

  test("a hundred percent of units is standard at 1, and events cost their fixed amount", () => {
    fc.assert(
      fc.property(units, amount, events, events, (of, fixed_amount, n, free_events) => {
        const price = { percent: "100", fixed_amount, free_events };
        const found = rate("percentage", price, of, n);
        const paid_events = Math.max(0, n - free_events);
        const fixed = rate("standard", { amount: fixed_amount }, String(paid_events)).amount;
        const all = plus(rate("standard", { amount: "1" }, of).amount, fixed);
        expect(compareFractions(found.amount, all)).toBe(0);
        expect(found.explanation).toEqual({ events: n, paid_events });
      }),
    );
  });

  test("a percentage is a plain decimal: what is shown of it is exact", () => {
    const price = { percent: "0.000000000001" };
    expect(rate("percentage", price, "0.000000000001").amount.bottom).toBe(1n);
  });

  test.each(USAGE_MODELS)("%s: no usage costs nothing", (model) => {
    const list = [{ up_to: null, amount: "1", flat_amount: "5" }];
    const price = { amount: "5", package_size: "10", percent: "3", tiers: list };
    expect(isNothing(rate(model, price, "0").amount)).toBe(true);
  });

  test.each(["standard", "package", "percentage"] as const)("%s: free units are free", (model) => {
    const price = { amount: "5", package_size: "10", percent: "3", free_units: "100" };
    expect(isNothing(rate(model, price, "100").amount)).toBe(true);
    expect(isNothing(rate(model, price, "100.01").amount)).toBe(false);
  });
});
