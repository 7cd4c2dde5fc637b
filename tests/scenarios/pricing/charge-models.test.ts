// What usage costs under each model: tiers, packages, percentages and free units, on both sides of
// every limit.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, graduated, packages, percentage, volume } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

/** Usages written as "60 41", each of a subscription of its own, and what January costs. */
type Costs = readonly (readonly [used: string, cents: number | "none"])[];

type Model = {
  readonly name: string;
  readonly charge: (metric: Json) => Body;
  readonly costs: Costs;
  readonly type?: string;
  readonly currency?: string;
};

async function played(model: Model): Promise<Costs> {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric(model.type ?? "sum");
  const charges = [model.charge(metric)];
  const plan = await story.plan({ charges, amount_currency: model.currency ?? "USD" });
  const customer = await story.customer();
  await story.travelTo("2026-01-02");
  const subscribed: Json[] = [];
  for (const [used] of model.costs) {
    const subscription = await story.subscribe({ plan, customer });
    subscribed.push(subscription);
    for (const value of used.split(" ").filter((part) => part !== "")) {
      await story.use(subscription, metric, value);
    }
  }
  await story.travelTo("2026-02-01");
  return withCosts(story, model.costs, subscribed);
}

async function withCosts(story: Sandbox, costs: Costs, subscribed: readonly Json[]) {
  const invoices = await story.invoices();
  return costs.map(([used], i) => {
    const [invoice, ...more] = invoices.filter(
      ({ subscription_id }) => subscription_id === subscribed[i].id,
    );
    expect(more).toEqual([]);
    if (invoice === undefined) return [used, "none"] as const;
    expect(invoice.fees.map((fee: Json) => fee.amount_cents)).toEqual([invoice.total_cents]);
    return [used, invoice.total_cents as number] as const;
  });
}

const MODELS: readonly Model[] = [
  {
    name: "P1 graduated in three tiers",
    charge: (metric) => graduated(metric, "<=100 @0.10, <=1000 @0.08, rest @0.05"),
    costs: [
      ["", "none"],
      ["0", "none"],
      ["1", 10],
      ["100", 1000],
      ["100.000000000001", 1000],
      ["101", 1008],
      ["60 41", 1008],
      ["1000", 8200],
      ["1001", 8205],
      ["2500", 15_700],
    ],
  },
  {
    name: "P2 graduated with flat amounts, due when their tier has units",
    charge: (metric) => graduated(metric, "<=100 @0.10 + 5, <=200 @0.05 + 2.50, rest @0 + 1"),
    costs: [
      ["", "none"],
      ["0", "none"],
      ["0.5", 505],
      ["100", 1500],
      ["100.5", 1753],
      ["200", 2250],
      ["200.000000000001", 2350],
      ["300", 2350],
    ],
  },
  {
    name: "P4 graduated is rounded once, not by tier",
    charge: (metric) => graduated(metric, "<=1 @0.005, <=2 @0.005, rest @0.005"),
    costs: [
      ["1", 1],
      ["2", 1],
      ["3", 2],
      ["0.999999999999", "none"],
    ],
  },
  {
    name: "P6 volume takes the one tier that holds all",
    charge: (metric) => volume(metric, "<=100 @1.00, <=200 @0.50, rest @0.20 + 7"),
    costs: [
      ["0", "none"],
      ["99.99", 9999],
      ["100", 10_000],
      ["100.000000000001", 5000],
      ["101", 5050],
      ["200", 10_000],
      ["200.5", 4710],
      ["201", 4720],
    ],
  },
  {
    name: "P7 steps are volume of flat amounts",
    charge: (metric) => volume(metric, "<=10 @0 + 10, <=50 @0 + 40, rest @0 + 100"),
    costs: [
      ["0", "none"],
      ["1", 1000],
      ["10", 1000],
      ["10.01", 4000],
      ["50", 4000],
      ["51", 10_000],
    ],
  },
  {
    name: "P9 packages are begun",
    charge: (metric) => packages(metric, "100", "5"),
    costs: [
      ["0", "none"],
      ["0.000000000001", 500],
      ["100", 500],
      ["100.5", 1000],
      ["101", 1000],
      ["250", 1500],
    ],
  },
  {
    name: "P10 packages after free units",
    charge: (metric) => packages(metric, "100", "5", { free_units: "1000" }),
    costs: [
      ["1000", "none"],
      ["1000.1", 500],
      ["1100", 500],
      ["1100.000000000001", 1000],
      // The example of the rules: half a unit begins the second package.
      ["1100.5", 1000],
    ],
  },
  {
    name: "P12 a percentage and a fixed amount by event",
    charge: (metric) => percentage(metric, "2.9", { fixed_amount: "0.30" }),
    costs: [
      ["", "none"],
      ["100 49.99 0.01", 525],
      ["10", 59],
      ["17.24", 80],
      ["0", 30],
    ],
  },
  {
    name: "P13 free units and free events of a percentage do not depend on the order",
    charge: (metric) =>
      percentage(metric, "2.9", { fixed_amount: "0.30", free_units: "50", free_events: 1 }),
    costs: [
      ["100 49.99 0.01", 350],
      ["0.01 49.99 100", 350],
      ["49.99 100 0.01", 350],
      ["50", "none"],
      ["50 1", 33],
      ["20 20", 30],
    ],
  },
  {
    name: "P14 refunds lower the sum and are events",
    charge: (metric) => percentage(metric, "2.9", { fixed_amount: "0.30" }),
    costs: [
      ["100 -40", 234],
      ["-40", 30],
      ["10 -10", 60],
    ],
  },
  {
    name: "P17 standard with free units",
    charge: (metric) => perUnit(metric, "0.10", { free_units: "100" }),
    costs: [
      ["99", "none"],
      ["100", "none"],
      ["100.5", 5],
      ["150", 500],
      ["60 60", 200],
    ],
  },
  {
    name: "P18 less than nothing is nothing when graduated",
    charge: (metric) => graduated(metric, "<=100 @1 + 5, rest @1"),
    costs: [["10 -25", "none"]],
  },
  {
    name: "P18 less than nothing is nothing by volume",
    charge: (metric) => volume(metric, "<=100 @1 + 5, rest @1"),
    costs: [["10 -25", "none"]],
  },
  {
    name: "P18 less than nothing begins no package",
    charge: (metric) => packages(metric, "10", "5"),
    costs: [["10 -25", "none"]],
  },
  {
    name: "P18 less than nothing has no percentage",
    charge: (metric) => percentage(metric, "10"),
    costs: [["10 -25", "none"]],
  },
  {
    name: "P18 less than nothing has the fixed amounts of its events",
    charge: (metric) => percentage(metric, "10", { fixed_amount: "0.30" }),
    costs: [["10 -25", 60]],
  },
];

/** Not in the tables, and by the same rules: 2. Charge models. */
const MORE: readonly Model[] = [
  {
    name: "graduated yen have no minor unit: 10 x 1.5 + 0.5 = 15.5",
    charge: (metric) => graduated(metric, "<=10 @1.5, rest @0.5"),
    currency: "JPY",
    costs: [
      ["10", 15],
      ["11", 16],
    ],
  },
  {
    name: "dinars have three places: 2.5 % of 0.1 = 0.0025, 2.5 of a thousandth",
    charge: (metric) => percentage(metric, "2.5"),
    currency: "KWD",
    costs: [
      ["0.1", 3],
      ["0.01", "none"],
    ],
  },
  {
    name: "a percentage of the highest value counts every event: 0.90 + 3 x 1",
    charge: (metric) => percentage(metric, "10", { fixed_amount: "1" }),
    type: "max",
    costs: [["5 9 7", 390]],
  },
  {
    name: "tiers over distinct values: the third is in the second tier",
    charge: (metric) => graduated(metric, "<=2 @1, rest @10"),
    type: "count_unique",
    costs: [
      ["ann bob ann", 200],
      ["ann bob cat ann", 1200],
    ],
  },
  {
    name: "a fixed amount of distinct values is by event, not by value: 2 + 3 x 0.50",
    charge: (metric) => percentage(metric, "100", { fixed_amount: "0.50" }),
    type: "count_unique",
    costs: [["ann bob ann", 350]],
  },
  {
    name: "packages of the latest value",
    charge: (metric) => packages(metric, "2.5", "1", { free_units: "0.5" }),
    type: "latest",
    costs: [
      ["9 3", 100],
      ["9 3.1", 200],
      ["9 0.5", "none"],
    ],
  },
  {
    name: "a tier of a single price 0 costs its flat amount alone",
    charge: (metric) => graduated(metric, "<=1 @0, rest @0 + 3"),
    costs: [
      ["1", "none"],
      ["1.5", 300],
    ],
  },
  {
    name: "free units above a limit of 12 places: 0.5 of a cent is a cent, a hair less is none",
    charge: (metric) => perUnit(metric, "0.01", { free_units: "0.5" }),
    costs: [
      ["1", 1],
      ["0.999999999999", "none"],
    ],
  },
  {
    name: "negative and positive usage meet in the tier of their sum",
    charge: (metric) => volume(metric, "<=100 @1, rest @0.5"),
    costs: [["150 -50", 10_000]],
  },
];

describe("each subscription's January", () => {
  test.each(MODELS)("$name", async (model) => {
    expect(await played(model)).toEqual(model.costs);
  });

  test.each(MORE)("also: $name", async (model) => {
    expect(await played(model)).toEqual(model.costs);
  });
});
