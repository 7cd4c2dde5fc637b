// Any price list and any story: laws that hold whatever the tiers, the usage and its arrival, held
// against sums made in whole numbers here.

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound } from "../../support/pricing.ts";
import { runs } from "../../support/property-runs.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const RUNS = process.env.DUES_DEEP === "1" ? 200 : 8;
const TIMEOUT = { timeout: process.env.DUES_DEEP === "1" ? 1_200_000 : 120_000 };

// Units in tenths, prices in thousandths of the main unit: every product is whole in 10^-4 of it.
type Tier = { readonly end: number | null; readonly price: number; readonly flat: number };
type Model =
  | { readonly kind: "standard"; readonly price: number; readonly free: number }
  | { readonly kind: "graduated" | "volume"; readonly tiers: readonly Tier[] }
  | {
      readonly kind: "package";
      readonly price: number;
      readonly size: number;
      readonly free: number;
    }
  | {
      readonly kind: "percentage";
      readonly tenths: number;
      readonly fixed: number;
      readonly free: number;
      readonly free_events: number;
    };

const tenths = (units: number) =>
  `${units < 0 ? "-" : ""}${Math.floor(Math.abs(units) / 10)}.${Math.abs(units) % 10}`;
const thousandths = (price: number) =>
  `${Math.floor(price / 1000)}.${String(price % 1000).padStart(3, "0")}`;

const price = fc.integer({ min: 0, max: 2500 });
const free = fc.integer({ min: 0, max: 300 });
const tiers: fc.Arbitrary<Tier[]> = fc
  .tuple(
    fc.uniqueArray(fc.integer({ min: 1, max: 900 }), { maxLength: 4 }),
    fc.array(fc.tuple(price, fc.constantFrom(0, 0, 1, 1999)), { minLength: 5, maxLength: 5 }),
  )
  .map(([ends, prices]) => {
    const limits: (number | null)[] = [...ends.sort((a, b) => a - b), null];
    return limits.map((end, i) => ({ end, price: prices[i]?.[0] ?? 0, flat: prices[i]?.[1] ?? 0 }));
  });
const model: fc.Arbitrary<Model> = fc.oneof(
  fc.record({ kind: fc.constant("standard" as const), price, free }),
  fc.record({ kind: fc.constantFrom("graduated" as const, "volume" as const), tiers }),
  fc.record({
    kind: fc.constant("package" as const),
    price,
    size: fc.integer({ min: 1, max: 400 }),
    free,
  }),
  fc.record({
    kind: fc.constant("percentage" as const),
    tenths: fc.integer({ min: 0, max: 1000 }),
    fixed: price,
    free,
    free_events: fc.integer({ min: 0, max: 3 }),
  }),
);

function written(list: readonly Tier[]): Body[] {
  return list.map(({ end, price: each, flat }) => ({
    up_to: end === null ? null : tenths(end),
    amount: thousandths(each),
    flat_amount: thousandths(flat),
  }));
}

function charge(metric: Json, of: Model, more: Body = {}): Body {
  const made = (properties: Body) => ({
    charge_model: of.kind,
    billable_metric_id: metric.id,
    properties: { ...properties, ...more },
  });
  switch (of.kind) {
    case "standard":
      return made({ amount: thousandths(of.price), free_units: tenths(of.free) });
    case "graduated":
    case "volume":
      return made({ tiers: written(of.tiers) });
    case "package":
      return made({
        amount: thousandths(of.price),
        package_size: tenths(of.size),
        free_units: tenths(of.free),
      });
    case "percentage":
      return made({
        percent: tenths(of.tenths),
        fixed_amount: thousandths(of.fixed),
        free_units: tenths(of.free),
        free_events: of.free_events,
      });
  }
}

/** What this usage costs, in 10^-4 of the main unit, unit by unit of the definition. */
function exact(of: Model, values: readonly number[]): number {
  const used = Math.max(
    0,
    values.reduce((sum, value) => sum + value, 0),
  );
  switch (of.kind) {
    case "standard":
      return Math.max(0, used - of.free) * of.price;
    case "graduated": {
      let [from, sum] = [0, 0];
      for (const { end, price: each, flat } of of.tiers) {
        const inside = Math.max(0, Math.min(used, end ?? used) - from);
        if (inside > 0) sum += inside * each + flat * 10;
        from = end ?? from;
      }
      return sum;
    }
    case "volume": {
      if (used === 0) return 0;
      const tier = of.tiers.find(({ end }) => end === null || used <= end);
      return tier === undefined ? Number.NaN : used * tier.price + tier.flat * 10;
    }
    case "package":
      return Math.ceil(Math.max(0, used - of.free) / of.size) * of.price * 10;
    case "percentage": {
      const events = Math.max(0, values.length - of.free_events);
      // tenths of units by tenths of a percent: 10^-4 of the main unit
      return Math.max(0, used - of.free) * of.tenths + events * of.fixed * 10;
    }
  }
}

const cents = (amount: number) => Math.floor((amount + 50) / 100);

const usage = fc.array(fc.integer({ min: -150, max: 700 }), { minLength: 1, maxLength: 6 });
/** When each event of January arrives: in it, or in one of the two months that may correct it. */
const ARRIVALS = ["2026-01-31T10:00", "2026-02-03", "2026-02-27", "2026-03-05", "2026-03-31"];

/** Sends each value for 31 January at its time of arrival, then lets all of it be billed. */
async function play(
  story: Sandbox,
  subscription: Json,
  metric: Json,
  arriving: readonly number[][],
) {
  for (const [i, at] of ARRIVALS.entries()) {
    await story.travelTo(at);
    for (const value of arriving[i] ?? []) {
      await story.use(subscription, metric, tenths(value), "2026-01-31T09:00");
    }
  }
  await story.travelTo("2026-05-01");
}

/** All that January was billed, over every invoice, by charge. */
async function januaryByCharge(story: Sandbox, plan: Json): Promise<number[]> {
  const invoices = await story.invoices();
  const lines: Json[] = invoices.flatMap((invoice) =>
    invoice.fees.filter(
      ({ fee_type, properties }: Json) =>
        (fee_type === "adjustment" ? properties.period_start : invoice.period_start) ===
        "2026-01-01",
    ),
  );
  return plan.charges.map(({ id }: Json) =>
    lines
      .filter(({ charge_id }) => charge_id === id)
      .reduce((sum, { amount_cents }) => sum + amount_cents, 0),
  );
}

async function billedFor(charges: (metric: Json) => Body[], arriving: readonly number[][]) {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric();
  const plan = await story.plan({ charges: charges(metric) });
  await play(story, await story.subscribe({ plan }), metric, arriving);
  return januaryByCharge(story, plan);
}

const arrivals = fc.array(usage, { minLength: 1, maxLength: ARRIVALS.length });

test(
  "late deltas telescope under every model: all lines add up to the fee of all usage",
  TIMEOUT,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(model, { minLength: 4, maxLength: 6 }),
        fc.integer({ min: 0, max: 60_000 }),
        arrivals,
        async (models, minimum_cents, arriving) => {
          const billed = await billedFor(
            (metric) => [
              ...models.map((each) => charge(metric, each)),
              ...models.map((each) => charge(metric, each, { minimum_cents })),
            ],
            arriving,
          );
          const fees = models.map((each) => cents(exact(each, arriving.flat())));
          expect(billed).toEqual([...fees, ...fees.map((fee) => Math.max(fee, minimum_cents))]);
        },
      ),
      runs(RUNS),
    );
  },
);

/** The tier at this index cut in two at this share of it, at the same price. */
function split(list: readonly Tier[], at: number, part: number, kind: string): Tier[] {
  const index = at % list.length;
  const tier = list[index];
  if (tier === undefined) return [...list];
  const from = list[index - 1]?.end ?? 0;
  const end = tier.end ?? from + 1000;
  const middle = from + 1 + Math.floor((part * (end - from - 1)) / 100);
  if (middle >= end) return [...list];
  // A graduated tier's flat amount is due once; under volume each half has the whole price.
  const second = kind === "graduated" ? { ...tier, flat: 0 } : tier;
  return list.toSpliced(index, 1, { ...tier, end: middle }, second);
}

test("splitting a tier without changing its price changes no fee", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(
          fc.constantFrom("graduated" as const, "volume" as const),
          tiers,
          fc.nat({ max: 4 }),
          fc.nat({ max: 100 }),
        ),
        { minLength: 5, maxLength: 8 },
      ),
      usage,
      async (pairs, values) => {
        const billed = await billedFor(
          (metric) =>
            pairs.flatMap(([kind, list, at, part]) => [
              charge(metric, { kind, tiers: list }),
              charge(metric, { kind, tiers: split(list, at, part, kind) }),
            ]),
          [values],
        );
        const wanted = pairs.flatMap(([kind, list]) => {
          const fee = cents(exact({ kind, tiers: list }, values));
          return [fee, fee];
        });
        expect(billed).toEqual(wanted);
      },
    ),
    runs(RUNS),
  );
});

test("graduated and volume with one tier are standard", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(price, { minLength: 3, maxLength: 5 }),
      arrivals,
      async (all, late) => {
        const billed = await billedFor(
          (metric) =>
            all.flatMap((each) => {
              const one = [{ end: null, price: each, flat: 0 }];
              return [
                perUnit(metric, thousandths(each)),
                charge(metric, { kind: "graduated", tiers: one }),
                charge(metric, { kind: "volume", tiers: one }),
              ];
            }),
          late,
        );
        const wanted = all.flatMap((each) => {
          const fee = cents(exact({ kind: "standard", price: each, free: 0 }, late.flat()));
          return [fee, fee, fee];
        });
        expect(billed).toEqual(wanted);
      },
    ),
    runs(RUNS),
  );
});
