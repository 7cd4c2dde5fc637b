// Prices as callers write them, as a table: what each is read as, and which property is wrong.

import { describe, expect, test } from "vitest";
import type { UsageModel } from "../../src/domain/charge-models.ts";
import {
  checkDimensions,
  flatFeePrice,
  highestRate,
  usagePrice,
} from "../../src/domain/charge-properties.ts";
import { Refusal } from "../../src/errors.ts";

type Fields = Readonly<Record<string, unknown>>;

/** "field code" of the refusal. */
function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const [detail] = error.details ?? [];
    return `${detail?.field} ${detail?.code}`;
  }
  throw new Error("It was taken.");
}

const api = (properties: Fields) => ({ properties });
const AT = "charges[2].";
const TIERS = [
  { up_to: 10, amount: "1" },
  { up_to: null, amount: "0.5" },
];

describe("properties", () => {
  test.each<[UsageModel, Fields, Fields]>([
    ["standard", api({ amount: "0.10" }), { amount: "0.10" }],
    ["standard", { rate: "0.10", free_units: 5 }, { amount: "0.10", free_units: "5" }],
    ["standard", api({ amount: "1", free_units: "007.50" }), { amount: "1", free_units: "7.5" }],
    ["standard", api({ amount: "1", free_units: 1e-7 }), { amount: "1", free_units: "0.0000001" }],
    ["standard", { rate: "9", ...api({ amount: "1" }) }, { amount: "1" }],
    ["standard", api({ amount: "1", free_units: null, tiers: null }), { amount: "1" }],
    ["package", { rate: "5", package_size: "100" }, { amount: "5", package_size: "100" }],
    ["percentage", api({ percent: "2.9", free_events: 0 }), { percent: "2.9", free_events: 0 }],
    [
      "volume",
      { tiers: [{ up_to: "10", rate: "1", flat_amount: "2" }, { rate: "0.5" }] },
      {
        tiers: [
          { up_to: "10", amount: "1", flat_amount: "2" },
          { up_to: null, amount: "0.5" },
        ],
      },
    ],
    [
      "standard",
      { rate: "1", minimum_cents: 0, prices: [{ match: { m: "" }, rate: "2" }] },
      { amount: "1", minimum_cents: 0, prices: [{ match: { m: "" }, amount: "2" }] },
    ],
  ])("%s reads %j", (model, input, price) => {
    expect(usagePrice(model, input, AT)).toEqual(price);
  });

  test.each<[UsageModel, Fields, string]>([
    ["standard", api({}), "charges[2].properties.amount required"],
    ["standard", { rate: 1 }, "charges[2].rate pattern"],
    ["standard", api({ amount: "-1" }), "charges[2].properties.amount pattern"],
    ["standard", api({ amount: "1e3" }), "charges[2].properties.amount pattern"],
    ["standard", { rate: "1", free_units: -1 }, "charges[2].free_units minimum"],
    ["standard", { rate: "1", free_units: "x" }, "charges[2].free_units pattern"],
    ["standard", { rate: "1", tiers: TIERS }, "charges[2].tiers unsupported"],
    ["standard", api({ amount: "1", percent: "2" }), "charges[2].properties.percent unsupported"],
    ["standard", { rate: "1", quantity_mode: "last" }, "charges[2].quantity_mode unsupported"],
    ["graduated", api({ tiers: TIERS, amount: "1" }), "charges[2].properties.amount unsupported"],
    ["graduated", api({}), "charges[2].properties.tiers required"],
    ["graduated", { tiers: {} }, "charges[2].tiers type"],
    ["graduated", { tiers: [] }, "charges[2].tiers minItems"],
    ["graduated", { tiers: [1] }, "charges[2].tiers[0] type"],
    ["graduated", { tiers: [{ up_to: null }] }, "charges[2].tiers[0].amount required"],
    ["graduated", { tiers: [{ up_to: 1, rate: "1" }] }, "charges[2].tiers[0].up_to order"],
    [
      "volume",
      {
        tiers: [
          { up_to: 0, rate: "1" },
          { up_to: null, rate: "1" },
        ],
      },
      "charges[2].tiers[0].up_to order",
    ],
    [
      "volume",
      {
        tiers: [
          { up_to: null, rate: "1" },
          { up_to: null, rate: "1" },
        ],
      },
      "charges[2].tiers[0].up_to order",
    ],
    ["package", { rate: "1", package_size: 0 }, "charges[2].package_size minimum"],
    ["package", { rate: "1" }, "charges[2].properties.package_size required"],
    ["percentage", { percent: "1", free_events: 1.5 }, "charges[2].free_events type"],
    ["percentage", { percent: "1", free_events: -1 }, "charges[2].free_events minimum"],
    ["percentage", { percent: "1", minimum_cents: "5" }, "charges[2].minimum_cents type"],
    ["standard", { rate: "1", minimum_cents: 1e13 }, "charges[2].minimum_cents maximum"],
    ["standard", { rate: "1", prices: [{ rate: "1" }] }, "charges[2].prices[0].match required"],
    [
      "standard",
      { rate: "1", prices: [{ match: {}, rate: "1" }] },
      "charges[2].prices[0].match required",
    ],
    [
      "standard",
      { rate: "1", prices: [{ match: { m: 1 }, rate: "1" }] },
      "charges[2].prices[0].match.m type",
    ],
    [
      "standard",
      { rate: "1", prices: [{ match: { m: "a" } }] },
      "charges[2].prices[0].amount required",
    ],
    [
      "standard",
      { rate: "1", prices: [{ match: { m: "a" }, rate: "1", minimum_cents: 1 }] },
      "charges[2].prices[0].minimum_cents unsupported",
    ],
    [
      "standard",
      {
        rate: "1",
        prices: [
          { match: { m: "a" }, rate: "1" },
          { match: { k: "b", m: "a" }, rate: "1" },
        ],
      },
      "charges[2].prices[1] unreachable",
    ],
  ])("%s refuses %j", (model, input, fault) => {
    expect(faultOf(() => usagePrice(model, input, AT))).toBe(fault);
  });

  test("lists of 100 tiers and 100 prices are taken, longer ones not", () => {
    const many = (n: number) =>
      Array.from({ length: n }, (_, i) => ({ up_to: i === n - 1 ? null : i + 1, rate: "1" }));
    expect(usagePrice("volume", { tiers: many(100) }, AT).tiers).toHaveLength(100);
    expect(faultOf(() => usagePrice("volume", { tiers: many(101) }, AT))).toMatch(/maxItems/);
    const prices = (n: number) =>
      Array.from({ length: n }, (_, i) => ({ match: { m: `${i}` }, rate: "1" }));
    expect(usagePrice("standard", { rate: "1", prices: prices(100) }, AT).prices).toHaveLength(100);
    const tooMany = { rate: "1", prices: prices(101) };
    expect(faultOf(() => usagePrice("standard", tooMany, AT))).toMatch(/prices maxItems/);
  });
});

describe("flat fees", () => {
  test.each([
    [{}, {}],
    [{ quantity_mode: "max" }, { quantity_mode: "max" }],
    [api({ quantity_mode: "prorated", amount: "anything" }), { quantity_mode: "prorated" }],
  ])("read %j", (input, price) => {
    expect(flatFeePrice(input, AT)).toEqual(price);
  });

  test.each([
    [{ quantity_mode: "highest" }, "charges[2].quantity_mode enum"],
    [api({ minimum_cents: 5 }), "charges[2].properties.minimum_cents unsupported"],
  ])("refuse %j", (input, fault) => {
    expect(faultOf(() => flatFeePrice(input, AT))).toBe(fault);
  });
});

test("a price names only dimensions of its metric", () => {
  const input = { rate: "1", prices: [{ match: { model: "a" }, rate: "2" }] };
  const price = usagePrice("standard", input, AT);
  const check = (dimensions: string[]) => checkDimensions(price, dimensions, input, AT);
  expect(() => check(["kind", "model"])).not.toThrow();
  expect(faultOf(() => check(["kind"]))).toBe("charges[2].prices[0].match.model unknown");
  expect(faultOf(() => check([]))).toBe("charges[2].prices unsupported");
});

test.each<[UsageModel, Parameters<typeof highestRate>[1], number]>([
  ["standard", { amount: "0.5" }, 0.5],
  ["standard", { amount: "0.5", prices: [{ match: { m: "a" }, amount: "3" }] }, 3],
  [
    "volume",
    {
      tiers: [
        { up_to: "1", amount: "2" },
        { up_to: null, amount: "1" },
      ],
    },
    2,
  ],
  ["package", { amount: "5", package_size: "0.5" }, 10],
  ["percentage", { percent: "250", fixed_amount: "9" }, 2.5],
])("%s: one more unit of %j costs at most %d", (model, price, most) => {
  expect(highestRate(model, price)).toBe(most);
});
