// How dimensions and their prices are written, and every fault named by its field.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import {
  closeSound,
  expectFault,
  expectPlanRefused,
  graduated,
  proposePlan,
  tiers,
} from "../../support/pricing.ts";

let app: App;
let story: Sandbox;
let tokens: Json;
let plain: Json;
beforeAll(async () => {
  app = await startApp();
  story = await sandbox(app, "2026-01-01");
  tokens = await story.metric("sum", { dimensions: ["model", "kind"] });
  plain = await story.metric("sum");
});
afterAll(() => closeSound(app));

const LARGE = { match: { model: "large" }, amount: "0.05" };

/** `field` is what follows `charges[0].properties.`; an entry may be named by any part of it. */
async function expectRefused(charge: Body, field: string, code?: string): Promise<void> {
  const escaped = `charges[0].properties.${field}`.replace(/[.[\]]/g, "\\$&");
  await expectPlanRefused(story, charge, new RegExp(`^${escaped}`), code);
}

describe("prices by combination", () => {
  test.each<[string, unknown, string, string?]>([
    ["unknown name", [{ match: { size: "s" }, amount: "1" }], "prices[0].match", "unknown"],
    ["empty match", [{ match: {}, amount: "1" }], "prices[0].match"],
    ["no match", [{ amount: "1" }], "prices[0].match", "required"],
    ["number to match", [{ match: { model: 5 }, amount: "1" }], "prices[0].match", "type"],
    ["null to match", [{ match: { model: null }, amount: "1" }], "prices[0].match", "type"],
    ["entry without price", [{ match: { model: "a" } }], "prices[0].amount", "required"],
    ["entry with tiers", [{ ...LARGE, tiers: tiers("rest @1") }], "prices[0].tiers", "unsupported"],
    ["entry with percent", [{ ...LARGE, percent: "1" }], "prices[0].percent", "unsupported"],
    [
      "entry with a minimum",
      [{ ...LARGE, minimum_cents: 1 }],
      "prices[0].minimum_cents",
      "unsupported",
    ],
    [
      "entry hidden by an earlier",
      [LARGE, { match: { model: "large", kind: "output" }, amount: "0.10" }],
      "prices[1]",
      "unreachable",
    ],
    ["entry twice", [LARGE, LARGE], "prices[1]", "unreachable"],
    ["empty list", [], "prices"],
    [
      "101 entries",
      Array.from({ length: 101 }, (_, i) => ({ match: { model: `m${i}` }, amount: "1" })),
      "prices",
      "maxItems",
    ],
  ])("P50 %s", async (_, prices, field, code) => {
    await expectRefused(perUnit(tokens, "0.02", { prices }), field, code);
  });

  test("P50 no default price", async () => {
    const { amount: _, ...properties } = perUnit(tokens, "1").properties as Body;
    const charge = { ...perUnit(tokens, "1"), properties: { ...properties, prices: [LARGE] } };
    await expectRefused(charge, "amount", "required");
  });

  test("P50 metric without dimensions", async () => {
    await expectRefused(perUnit(plain, "1", { prices: [LARGE] }), "prices");
  });

  test("P50 the tiers of an entry are checked as any", async () => {
    const prices = [{ match: { model: "a" }, tiers: tiers("<=5 @1, <=5 @2, rest @1") }];
    const field = "prices[0].tiers[1].up_to";
    await expectRefused(graduated(tokens, "rest @1", { prices }), field, "order");
  });

  // {kind} hides {model, kind} of the same kind, not {model}; each order of two that overlap is
  // fine, since each leaves the other something.
  test("also: entries that overlap are both reachable", async () => {
    const own = await sandbox(app, "2026-01-01");
    const metric = await own.metric("sum", { dimensions: ["model", "kind"] });
    const prices = [
      { match: { kind: "cached" }, amount: "0" },
      { match: { model: "large" }, amount: "1" },
      { match: { kind: "output" }, amount: "2" },
      { match: { model: "Large", kind: "input" }, amount: "3" },
    ];
    expect((await proposePlan(own, [perUnit(metric, "1", { prices })])).status).toBe(201);
  });
});

describe("the dimensions of a metric", () => {
  const propose = (code: string, fields: Body) =>
    story.call("POST", "/v1/metrics", {
      code,
      name: "Refused",
      aggregation_type: "sum",
      field_name: "n",
      ...fields,
    });

  test.each<[string, Body, string?]>([
    ["five", { dimensions: ["a", "b", "c", "d", "e"] }, "maxItems"],
    ["double", { dimensions: ["a", "a"] }],
    ["spaced", { dimensions: ["a b"] }, "pattern"],
    ["empty name", { dimensions: [""] }],
    ["65 characters", { dimensions: ["x".repeat(65)] }],
    ["its own field", { dimensions: ["n"] }],
    ["count_unique", { aggregation_type: "count_unique", dimensions: ["a"] }, "unsupported"],
    ["no list", { dimensions: "a" }, "type"],
  ])("P50 %s", async (name, fields, code) => {
    const metric = name.replaceAll(" ", "-");
    expectFault(await propose(metric, fields), /^dimensions/, code);
    expect((await story.call("GET", `/v1/metrics?code=${metric}`)).status).toBe(404);
  });

  test("P50 four are taken, and answered in their order", async () => {
    const own = await sandbox(app, "2026-01-01");
    const dimensions = ["z.1", "A_b", "c-3", "x".repeat(64)];
    expect((await own.metric("max", { dimensions })).dimensions).toEqual(dimensions);
    expect((await own.metric("count_unique")).dimensions).toEqual([]);
  });
});
