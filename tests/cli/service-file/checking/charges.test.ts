// What a file may say of metrics and of the prices of charges: every fault with its place.

import { describe, expect, test } from "vitest";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";
import { planSync } from "../../../../src/cli/service-file/planning/plan.ts";
import type { Metric } from "../../../../src/client/types.ts";
import type { ServiceFile } from "../../../../src/schema/service-file.ts";
import { NOTHING_PRESENT } from "../../../support/service-files.ts";

const HEAD = 'version: "1"\norg: acme\nworkspace: main\nproject: test\n';

/** `line:column field message` of each fault. */
function faults(text: string): string[] {
  const result = checkFile(Buffer.from(text));
  if (!Array.isArray(result)) return [];
  return result.map(({ line, column, field, message }) => `${line}:${column} ${field} ${message}`);
}

/** The charge stands in line 11, from column 5 on. */
function plan(charge: string): string {
  return `${HEAD}plans:\n- code: p\n  name: P\n  interval: monthly\n  currency: USD\n  charges:\n  - ${charge}\n`;
}

describe("a fault is told with line, column and field", () => {
  test.each([
    [
      "tiers that fall",
      plan(
        '{type: volume, metric_ref: m, tiers: [{up_to: 2, rate: "1"}, {up_to: 1, rate: "1"}, {rate: "1"}]}',
      ),
      "11:74 plans[0].charges[0].tiers[1].up_to plans[0].charges[0].tiers[1].up_to must be above 2.",
    ],
    [
      "the API's word in a tier",
      plan('{type: volume, metric_ref: m, tiers: [{up_to: null, amount: "1"}]}'),
      "11:57 plans[0].charges[0].tiers[0].amount The key amount is not known here.",
    ],
    [
      "the API's properties",
      plan('{type: percentage, metric_ref: m, properties: {percent: "1"}}'),
      "11:52 plans[0].charges[0].properties.percent percent is not known here.",
    ],
    [
      "a word that is missing",
      plan('{type: package, metric_ref: m, rate: "1"}'),
      "11:5 plans[0].charges[0].package_size plans[0].charges[0].package_size is required",
    ],
    [
      "a usage charge without its rate",
      plan("{type: standard, metric_ref: m}"),
      "11:5 plans[0].charges[0].rate plans[0].charges[0].rate is required",
    ],
    [
      "a price without its rate",
      plan('{type: standard, metric_ref: m, rate: "1", prices: [{match: {a: b}}]}'),
      "11:57 plans[0].charges[0].prices[0].rate plans[0].charges[0].prices[0].rate is required",
    ],
    [
      "a word of another model",
      plan('{type: standard, metric_ref: m, rate: "1", percent: "1"}'),
      "11:48 plans[0].charges[0].percent plans[0].charges[0].percent does not belong",
    ],
    [
      "a price that is never used",
      plan(
        '{type: standard, metric_ref: m, rate: "1", prices: [{match: {a: b}, rate: "1"}, {match: {a: b, c: d}, rate: "1"}]}',
      ),
      "11:85 plans[0].charges[0].prices[1] plans[0].charges[0].prices[1] is never used",
    ],
    [
      "a value to match that is a number",
      plan('{type: standard, metric_ref: m, rate: "1", prices: [{match: {v: 1}, rate: "1"}]}'),
      "11:69 plans[0].charges[0].prices[0].match.v",
    ],
    [
      "units with an exponent",
      plan('{type: package, metric_ref: m, rate: "1", package_size: 1e3}'),
      "11:61 plans[0].charges[0].package_size plans[0].charges[0].package_size is written as 1e3.",
    ],
    [
      "units of more digits than a number holds",
      plan('{type: standard, metric_ref: m, rate: "1", free_units: 12345678901.123456}'),
      "11:60 plans[0].charges[0].free_units",
    ],
    [
      "the highest of no quantity",
      plan("{type: flat_fee, catalog_ref: a, quantity_mode: max}"),
      "11:38 plans[0].charges[0].quantity_mode",
    ],
    [
      "a dimension that the file's metric lacks",
      `${plan('{type: standard, metric_ref: m, rate: "1", prices: [{match: {x.y: b}, rate: "1"}]}')}metrics:\n- {code: m, name: M, aggregation_type: count, dimensions: [z]}\n`,
      "11:66 plans[0].charges[0].prices[0].match.x.y",
    ],
    [
      "dimensions of a count_unique",
      `${HEAD}metrics:\n- {code: a, name: A, aggregation_type: count_unique, field_name: f, dimensions: [d]}\n`,
      "6:69 metrics[0].dimensions metrics[0].dimensions do not go with count_unique",
    ],
    [
      "a dimension that is the field",
      `${HEAD}metrics:\n- {code: a, name: A, aggregation_type: sum, field_name: f, dimensions: [d, f]}\n`,
      "6:76 metrics[0].dimensions[1]",
    ],
    [
      "a weighted_sum without its weight",
      `${HEAD}metrics:\n- {code: a, name: A, aggregation_type: weighted_sum, field_name: f}\n`,
      "6:3 metrics[0].weighted_by",
    ],
    [
      "a trial of half a day",
      `${HEAD}plans:\n- {code: a, name: A, interval: weekly, currency: USD, trial_days: 0.5}\n`,
      "6:67 plans[0].trial_days",
    ],
  ])("%s", (_, text, wanted) => {
    const told = faults(text);
    expect(
      told.some((fault) => fault.startsWith(wanted)),
      told.join("\n"),
    ).toBe(true);
  });
});

test("several faults of one charge are all told", () => {
  const charge = '{type: volume, metric_ref: m, tiers: [{up_to: 1, rate: 1}, {amount: "1"}]}';
  const plans = `plans:\n- {code: p, name: P, interval: monthly, currency: USD, charges: [${charge}]}\n`;
  expect(faults(HEAD + plans).map((fault) => fault.split(" ")[1])).toEqual([
    "plans[0].charges[0].tiers[0].rate",
    "plans[0].charges[0].tiers[1].rate",
    "plans[0].charges[0].tiers[1].amount",
  ]);
});

describe("a price for a dimension", () => {
  const times = { created_at: "", updated_at: "", archived_at: null };
  const calls = { id: "m1", code: "calls", name: "Calls", field_name: null, weighted_by: null };
  const metric = (dimensions: string[]): Metric => {
    return { ...calls, ...times, aggregation_type: "count", dimensions };
  };
  const prices = [{ match: { modle: "large" }, rate: "1" }];
  const file: ServiceFile = {
    version: "1",
    org: "acme",
    workspace: "main",
    project: "test",
    plans: [
      {
        code: "p",
        name: "P",
        interval: "monthly",
        currency: "USD",
        charges: [{ type: "standard", metric_ref: "calls", rate: "1", prices }],
      },
    ],
  };

  test.each([
    ["has another", ["model"], "modle: the metric's dimensions are model."],
    ["has none", [], "prices: the metric has no dimensions."],
  ])("is refused where the project's metric %s", (_, dimensions, message) => {
    const told = planSync(file, { ...NOTHING_PRESENT, metrics: [metric(dimensions)] }).faults;
    expect(told).toHaveLength(1);
    expect(told[0]?.message).toContain(message);
    expect(told[0]?.path.slice(0, 5)).toEqual(["plans", 0, "charges", 0, "prices"]);
  });

  test("is taken where it has it", () => {
    expect(planSync(file, { ...NOTHING_PRESENT, metrics: [metric(["modle"])] }).faults).toEqual([]);
  });
});
