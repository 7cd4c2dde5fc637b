// One metric, many prices: usage told apart by its properties, each combination a line of its own.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { fees, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, graduated, lines, percentage, tiers, useOf } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const OUTPUT = { model: "large", kind: "output" };
const INPUT = { model: "large", kind: "input" };
const SMALL = { model: "small", kind: "input" };

/** "T" of the examples. */
const T = {
  prices: [
    { match: OUTPUT, amount: "0.10" },
    { match: { model: "large" }, amount: "0.05" },
  ],
};

type Metered = { story: Sandbox; metric: Json; subscription: Json };

async function metered(
  charge: (metric: Json) => Body,
  { dimensions = ["model", "kind"], amount_cents = 0, type = "sum" } = {},
): Promise<Metered> {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric(type, { dimensions });
  const subscription = await story.subscribe({ amount_cents, charges: [charge(metric)] });
  return { story, metric, subscription };
}

const byModel = (options = {}) => metered((metric) => perUnit(metric, "0.02", T), options);

async function useAll({ story, metric, subscription }: Metered, all: readonly [string, Body][]) {
  for (const [value, of] of all) await useOf(story, subscription, metric, { value, of });
}

/** In the order of the metrics here: a JSON object has none of its own. */
const DIMENSIONS = ["model", "kind", "region", "size"];

/** Each usage line as its combination, match, units and amount. */
function combinations(invoice: Json, fee_type = "charge"): unknown[] {
  return fees(invoice, fee_type).map(({ units, amount_cents, properties }) => [
    DIMENSIONS.flatMap((name) =>
      name in properties.dimensions ? [properties.dimensions[name]] : [],
    ),
    properties.match,
    units,
    amount_cents,
  ]);
}

describe("each combination has a line", () => {
  test("P40 at the first price whose names all match, in the order of its values", async () => {
    const told = await byModel({ amount_cents: 1000 });
    await useAll(told, [
      ["100", OUTPUT],
      ["20", OUTPUT],
      ["40", INPUT],
      ["10.5", SMALL],
      ["0.5", SMALL],
    ]);
    await told.story.travelTo("2026-02-01");
    const [invoice] = await told.story.invoices();
    expect(invoice.total_cents).toBe(2422);
    // "input" stands before "output": the order is that of the values, not of arrival.
    expect(lines(invoice)).toEqual([1000, 200, 1200, 22]);
    expect(combinations(invoice)).toEqual([
      [["large", "input"], { model: "large" }, "40", 200],
      [["large", "output"], OUTPUT, "120", 1200],
      [["small", "input"], null, "11", 22],
    ]);
    expect(fees(invoice, "charge")[0]?.properties).toMatchObject({
      dimensions: INPUT,
      amount: "0.05",
    });
  });

  test("P41 also where it costs nothing, and the first that matches wins", async () => {
    const told = await metered((metric) =>
      perUnit(metric, "1", {
        prices: [
          { match: { kind: "cached" }, amount: "0" },
          { match: { model: "large" }, amount: "0.5" },
        ],
      }),
    );
    await useAll(told, [
      ["8", { model: "large", kind: "cached" }],
      ["6", OUTPUT],
      ["3", { model: "small", kind: "cached" }],
      ["2", { model: "small", kind: "output" }],
    ]);
    await told.story.travelTo("2026-02-01");
    const [invoice] = await told.story.invoices();
    expect(invoice.total_cents).toBe(500);
    expect(combinations(invoice)).toEqual([
      [["large", "cached"], { kind: "cached" }, "8", 0],
      [["large", "output"], { model: "large" }, "6", 300],
      [["small", "cached"], { kind: "cached" }, "3", 0],
      [["small", "output"], null, "2", 200],
    ]);
  });

  test("P42 a missing value is null, and stands first", async () => {
    const told = await byModel();
    await useAll(told, [
      ["10", {}],
      ["5", { model: "large" }],
      ["5", { model: "large", kind: null }],
      ["3", { kind: "output" }],
    ]);
    await told.story.travelTo("2026-02-01");
    const [invoice] = await told.story.invoices();
    expect(invoice.total_cents).toBe(76);
    expect(combinations(invoice)).toEqual([
      [[null, null], null, "10", 20],
      [[null, "output"], null, "3", 6],
      [["large", null], { model: "large" }, "10", 50],
    ]);
  });

  test("P45 with its own tiers", async () => {
    const us = { match: { region: "us" }, tiers: tiers("<=5 @2, rest @1") };
    const told = await metered(
      (metric) => graduated(metric, "<=10 @1, rest @0.5", { prices: [us] }),
      { dimensions: ["region"] },
    );
    await useAll(told, [
      ["12", { region: "eu" }],
      ["12", { region: "us" }],
      ["8", { region: "asia" }],
    ]);
    await told.story.travelTo("2026-02-01");
    const [invoice] = await told.story.invoices();
    expect(invoice.total_cents).toBe(3600);
    expect(combinations(invoice)).toEqual([
      [["asia"], null, "8", 800],
      [["eu"], null, "12", 1100],
      [["us"], { region: "us" }, "12", 1700],
    ]);
    expect(fees(invoice, "charge")[2]?.properties.tiers).toMatchObject([
      { from: "0", up_to: "5", units: "5", precise_amount: "1000" },
      { from: "5", up_to: null, units: "7", precise_amount: "700" },
    ]);
  });

  test("P47 and late usage corrects each by itself, new ones too", async () => {
    const told = await byModel();
    const { story, metric, subscription } = told;
    await useAll(told, [["100", OUTPUT]]);
    await story.travelTo("2026-02-03");
    await useOf(story, subscription, metric, { value: "10", of: OUTPUT, at: "2026-01-20" });
    await useOf(story, subscription, metric, { value: "7", of: SMALL, at: "2026-01-20" });
    await useOf(story, subscription, metric, { value: "1", of: INPUT });
    await story.travelTo("2026-03-01");
    const [january, february] = await story.invoices();
    expect([january.total_cents, february.total_cents]).toEqual([1000, 119]);
    expect(lines(february)).toEqual([5, 100, 14]);
    expect(combinations(february)).toEqual([[["large", "input"], { model: "large" }, "1", 5]]);
    expect(combinations(february, "adjustment")).toEqual([
      [["large", "output"], OUTPUT, "10", 100],
      [["small", "input"], null, "7", 14],
    ]);
  });
});

test("P44 without prices the charge sees one total", async () => {
  const told = await metered((metric) => graduated(metric, "<=100 @1, rest @0.1"));
  await useAll(told, [
    ["60", OUTPUT],
    ["60", SMALL],
  ]);
  await told.story.travelTo("2026-02-01");
  const [invoice] = await told.story.invoices();
  expect(invoice.fees).toMatchObject([{ units: "120", amount_cents: 10_200 }]);
});

test("P44 without prices the highest and the latest are those of all", async () => {
  const story = await sandbox(app, "2026-01-01");
  const highest = await story.metric("max", { dimensions: ["region"] });
  const latest = await story.metric("latest", { dimensions: ["region"] });
  const charges = [perUnit(highest, "1"), perUnit(latest, "1")];
  const subscription = await story.subscribe({ charges });
  await story.travelTo("2026-01-02T12:00");
  const [eu, us] = [{ region: "eu" }, { region: "us" }];
  await useOf(story, subscription, highest, { value: "4", of: eu });
  await useOf(story, subscription, highest, { value: "9", of: us });
  await useOf(story, subscription, latest, { value: "7", of: eu, at: "2026-01-02T09:00" });
  await useOf(story, subscription, latest, { value: "3", of: us, at: "2026-01-02T08:00" });
  await story.travelTo("2026-02-01");
  const [invoice] = await story.invoices();
  expect(lines(invoice)).toEqual([900, 700]);
  expect(invoice.total_cents).toBe(1600);
});

test("P49 a period holds 200 combinations, and a refused id stays free", async () => {
  const told = await metered(
    (metric) => perUnit(metric, "0.01", { prices: [{ match: { key: "k0" }, amount: "0.02" }] }),
    { dimensions: ["key"] },
  );
  const { story, metric, subscription } = told;
  const event = (key: string, at?: string): Body => ({
    ...story.usage(subscription, metric, "1", at),
    properties: { key },
  });
  // What will not be billed opens no combination.
  const early = await story.post("/v1/events", event("early", "2025-12-31"));
  expect(early.warning).toBe("before_start");
  const events = Array.from({ length: 200 }, (_, i) => event(`k${i}`));
  expect(await story.post("/v1/events/batch", { events })).toMatchObject({ accepted: 200 });
  const one_more = event("k200");
  const refused = await story.call("POST", "/v1/events", one_more);
  expect([refused.status, refused.body.error.code]).toEqual([422, "limit_exceeded"]);
  const known = await story.post("/v1/events", event("k1"));
  const retried = { ...event("k2"), transaction_id: one_more.transaction_id };
  expect([known, await story.post("/v1/events", retried)]).toEqual(
    Array.from({ length: 2 }, () => ({ accepted: true, duplicate: false })),
  );
  await story.travelTo("2026-02-02");
  expect((await story.post("/v1/events", event("k200"))).accepted).toBe(true);
  await story.travelTo("2026-03-01");
  const [january, february] = await story.invoices();
  expect([january.total_cents, february.total_cents]).toEqual([203, 1]);
  const units = january.fees.map((fee: Json) => Number(fee.units));
  expect(units).toHaveLength(200);
  expect(units.reduce((sum: number, each: number) => sum + each, 0)).toBe(202);
});

test("P53 running usage, portal and invoice tell the combinations apart", async () => {
  const told = await byModel({ amount_cents: 500 });
  const { story, subscription } = told;
  await useAll(told, [
    ["100", OUTPUT],
    ["10", SMALL],
  ]);
  const running = await story.runningUsage(subscription);
  expect(running.amount_cents).toBe(1020);
  expect(running.charges).toMatchObject([
    { units: "100", amount_cents: 1000, dimensions: OUTPUT, charge_model: "standard" },
    { units: "10", amount_cents: 20, dimensions: SMALL },
  ]);
  const url = `/v1/portal/${subscription.customer_id}?refresh=1`;
  const stranger = { authorization: undefined, "x-project-id": undefined };
  const { body } = await app.call("GET", url, undefined, stranger);
  expect(body.subscriptions[0].usage).toMatchObject([
    { units: "100", amount_cents: 1000, dimensions: OUTPUT },
    { units: "10", amount_cents: 20, dimensions: SMALL },
  ]);
  await story.travelTo("2026-03-01");
  const [january, february] = await story.invoices();
  expect([january.total_cents, february.total_cents]).toEqual([1520, 500]);
  expect(lines(january)).toEqual([500, 1000, 20]);
  expect(lines(february)).toEqual([500]);
});

describe("also, by the same rules", () => {
  // 1 and "1" are one value, true is "true"; "A" and "a" are two, and "A" comes before "a".
  test("values are text, and case counts", async () => {
    const prices = [{ match: { size: "" }, amount: "5" }];
    const told = await metered((metric) => perUnit(metric, "1", { prices }), {
      dimensions: ["size"],
    });
    await useAll(told, [
      ["1", { size: 1 }],
      ["2", { size: "1" }],
      ["1", { size: "a" }],
      ["1", { size: "A" }],
      ["1", { size: true }],
      ["1", { size: "" }],
    ]);
    await told.story.travelTo("2026-02-01");
    const [invoice] = await told.story.invoices();
    expect(combinations(invoice)).toEqual([
      [[""], { size: "" }, "1", 500],
      [["1"], null, "3", 300],
      [["A"], null, "1", 100],
      [["a"], null, "1", 100],
      [["true"], null, "1", 100],
    ]);
  });

  test.each<[string, unknown]>([
    ["an object", { a: 1 }],
    ["a list", ["large"]],
    ["more than 64 characters", "x".repeat(65)],
  ])("a value that is %s is refused, and nothing is stored", async (_, model) => {
    const { story, metric, subscription } = await byModel();
    const event = { ...story.usage(subscription, metric, "1"), properties: { model } };
    const refused = await story.call("POST", "/v1/events", event);
    expect([refused.status, refused.body.error.code]).toEqual([422, "validation_error"]);
    const good = { ...event, properties: { model: "x".repeat(64) } };
    expect(await story.post("/v1/events", good)).toEqual({ accepted: true, duplicate: false });
  });

  // 0.4 + 0.4 cents are nothing each; one total of 0.8 would be a cent.
  test("each combination is rounded by itself", async () => {
    const told = await byModel({ amount_cents: 100 });
    await useAll(told, [
      ["0.2", { kind: "a" }],
      ["0.2", { kind: "b" }],
    ]);
    await told.story.travelTo("2026-02-01");
    const [invoice] = await told.story.invoices();
    expect(invoice.total_cents).toBe(100);
    expect(fees(invoice, "charge")).toHaveLength(2);
  });

  // The entry of eu names no free units and no fixed amount: it has none. 10 % of 20, and of
  // us 10 % of 20 - 10 and 2 x 0.30.
  test("an entry takes nothing over from the default", async () => {
    const told = await metered(
      (metric) =>
        percentage(metric, "10", {
          free_units: "10",
          fixed_amount: "0.30",
          prices: [{ match: { region: "eu" }, percent: "10" }],
        }),
      { dimensions: ["region"] },
    );
    await useAll(told, [
      ["10", { region: "eu" }],
      ["10", { region: "eu" }],
      ["10", { region: "us" }],
      ["10", { region: "us" }],
    ]);
    await told.story.travelTo("2026-02-01");
    expect(combinations((await told.story.invoices())[0])).toEqual([
      [["eu"], { region: "eu" }, "20", 200],
      [["us"], null, "20", 160],
    ]);
  });

  test("without usage there is one line of 0, beside the base", async () => {
    const { story } = await byModel({ amount_cents: 100 });
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(fees(invoice, "charge")).toMatchObject([{ units: "0", amount_cents: 0 }]);
  });
});
