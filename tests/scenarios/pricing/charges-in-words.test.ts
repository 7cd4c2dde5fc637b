// How charge models are written: units as numbers or text, the file's spelling, and every fault
// named by its field.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import {
  closeSound,
  expectFault,
  expectPlanRefused,
  graduated,
  lines,
  packages,
  percentage,
  proposePlan,
  volume,
} from "../../support/pricing.ts";

let app: App;
let story: Sandbox;
let metric: Json;
beforeAll(async () => {
  app = await startApp();
  story = await sandbox(app, "2026-01-01");
  metric = await story.metric();
});
afterAll(() => closeSound(app));

const open = { up_to: null, amount: "1" };

test("P29 units are answered canonical, prices as written, and other keys kept", async () => {
  const own = await sandbox(app, "2026-01-01");
  const used = await own.metric();
  const charges = [
    {
      charge_model: "graduated",
      billable_metric_id: used.id,
      properties: {
        tiers: [
          { up_to: 100, amount: "0.050" },
          { up_to: null, amount: "0.10", flat_amount: "1.50" },
        ],
        note: { kept: ["as", 1, "is"] },
      },
    },
    {
      charge_model: "package",
      billable_metric_id: used.id,
      properties: { amount: "5.00", package_size: 100.5, free_units: "010.0" },
    },
    perUnit(used, "0.050", { free_units: 7, note: "kept" }),
  ];
  const plan = await own.plan({ charges });
  const shown = plan.charges.map((charge: Json) => charge.properties);
  expect(shown).toMatchObject([
    {
      tiers: [
        { up_to: "100", amount: "0.050" },
        { up_to: null, amount: "0.10", flat_amount: "1.50" },
      ],
      note: { kept: ["as", 1, "is"] },
    },
    { amount: "5.00", package_size: "100.5", free_units: "10" },
    { amount: "0.050", free_units: "7", note: "kept" },
  ]);
  const ids = plan.charges.map((charge: Json) => charge.id);
  for (const same of [charges, plan.charges]) {
    const patched = await own.patch(`/v1/plans/${plan.id}`, { charges: same });
    expect(patched.plan.charges.map((charge: Json) => charge.id)).toEqual(ids);
  }
});

test("P30 the API takes the file's spelling and answers in its own", async () => {
  const own = await sandbox(app, "2026-01-01");
  const { code: metric_ref, ...used } = await own.metric();
  const tiers = [
    { up_to: "100", rate: "0.10" },
    { up_to: null, rate: "0.05", flat_amount: "2" },
  ];
  const plan = await own.plan({
    charges: [
      { type: "graduated", metric_ref, tiers },
      { type: "package", metric_ref, rate: "5", package_size: "100" },
      { type: "percentage", metric_ref, percent: "1" },
    ],
  });
  expect(plan.charges).toMatchObject([
    {
      charge_model: "graduated",
      billable_metric_code: metric_ref,
      properties: { tiers: [{ up_to: "100", amount: "0.10" }, { amount: "0.05" }] },
    },
    { charge_model: "package", properties: { amount: "5", package_size: "100" } },
    { charge_model: "percentage", properties: { percent: "1" } },
  ]);
  expect(JSON.stringify(plan)).not.toContain('"rate"');
  const subscription = await own.subscribe({ plan });
  await own.use(subscription, { ...used, code: metric_ref }, "120");
  await own.travelTo("2026-02-01");
  const [invoice] = await own.invoices();
  expect(lines(invoice)).toEqual([1300, 1000, 120]);
  expect(invoice.total_cents).toBe(2420);
});

const expectRefused = (charge: Body, field: string, code?: string) =>
  expectPlanRefused(story, charge, field, code);

describe.each(["graduated", "volume"])("the tiers of %s", (charge_model) => {
  const limits = (...ends: unknown[]) => ends.map((up_to) => ({ up_to, amount: "1" }));
  const many = [...Array.from({ length: 100 }, (_, i) => i + 1), null];

  test.each<[string, unknown, string, string?]>([
    ["none", undefined, "tiers", "required"],
    ["empty", [], "tiers"],
    ["no open last", limits("10"), "tiers[0].up_to"],
    ["no open last of two", limits("10", "20"), "tiers[1].up_to"],
    ["open before the last", limits("10", null, null), "tiers[1].up_to"],
    ["falling", limits("100", "50", null), "tiers[1].up_to", "order"],
    ["equal", limits("10", "10.0", null), "tiers[1].up_to", "order"],
    ["an end of 0", limits("0", null), "tiers[0].up_to"],
    ["an end below 0", limits("-1", null), "tiers[0].up_to"],
    ["an end that is missing", [{ amount: "1" }, open], "tiers[0].up_to"],
    ["no price", [{ up_to: "1" }, open], "tiers[0].amount", "required"],
    ["a price as a number", [{ up_to: "1", amount: 0.1 }, open], "tiers[0].amount"],
    ["a price below 0", [{ up_to: "1", amount: "-1" }, open], "tiers[0].amount", "pattern"],
    ["an exponent", [{ ...open, flat_amount: "1e2" }], "tiers[0].flat_amount", "pattern"],
    ["101 of them", limits(...many), "tiers", "maxItems"],
    ["no list", { up_to: null, amount: "1" }, "tiers"],
  ])("P31 %s", async (_, tiers, field, code) => {
    const properties = tiers === undefined ? {} : { tiers };
    const charge = { charge_model, billable_metric_id: metric.id, properties };
    await expectRefused(charge, `charges[0].properties.${field}`, code);
  });

  test("P31 100 of them are taken", async () => {
    const own = await sandbox(app, "2026-01-01");
    const used = await own.metric();
    const tiers = limits(...many.slice(1));
    const charge = { charge_model, billable_metric_id: used.id, properties: { tiers } };
    expect((await proposePlan(own, [charge])).status).toBe(201);
  });
});

describe("the words of a model", () => {
  const package_ = (properties: Body) => ({ ...packages(metric, "1", "1"), properties });
  const TWO = "<=1 @1, rest @2";

  test.each<[string, () => Body, string, string?]>([
    ["package without size", () => package_({ amount: "1" }), "package_size", "required"],
    ["package of size 0", () => packages(metric, "0", "1"), "package_size"],
    ["package without price", () => package_({ package_size: "1" }), "amount", "required"],
    [
      "percentage without percent",
      () => ({ ...percentage(metric, "1"), properties: {} }),
      "percent",
      "required",
    ],
    ["1.5 free events", () => percentage(metric, "1", { free_events: 1.5 }), "free_events"],
    ["-1 free events", () => percentage(metric, "1", { free_events: -1 }), "free_events"],
    ["free units -1", () => perUnit(metric, "1", { free_units: -1 }), "free_units"],
    ["free units '-1'", () => perUnit(metric, "1", { free_units: "-1" }), "free_units"],
    ["percent as a number", () => percentage(metric, 1 as unknown as string), "percent"],
    ["tiers on standard", () => perUnit(metric, "1", { tiers: [open] }), "tiers", "unsupported"],
    [
      "free_units beside tiers",
      () => graduated(metric, TWO, { free_units: "1" }),
      "free_units",
      "unsupported",
    ],
    [
      "amount on percentage",
      () => percentage(metric, "1", { amount: "1" }),
      "amount",
      "unsupported",
    ],
    [
      "free_events on a package",
      () => packages(metric, "1", "1", { free_events: 1 }),
      "free_events",
      "unsupported",
    ],
    [
      "quantity_mode on volume",
      () => volume(metric, TWO, { quantity_mode: "last" }),
      "quantity_mode",
      "unsupported",
    ],
    ["minimum -1", () => perUnit(metric, "1", { minimum_cents: -1 }), "minimum_cents"],
    ["minimum 0.5", () => perUnit(metric, "1", { minimum_cents: 0.5 }), "minimum_cents"],
    [
      "minimum on a flat fee",
      () => ({
        charge_model: "flat_fee",
        amount_override_cents: 1,
        properties: { minimum_cents: 1 },
      }),
      "minimum_cents",
      "unsupported",
    ],
  ])("P32 %s", async (_, charge, field, code) => {
    await expectRefused(charge(), `charges[0].properties.${field}`, code);
  });

  test.each(
    ["immediate", "advance"].flatMap((invoice_timing) =>
      ["graduated", "volume", "package", "percentage"].map((model) => ({ invoice_timing, model })),
    ),
  )("P32 $model, $invoice_timing", async ({ invoice_timing, model }) => {
    const charge = {
      graduated: graduated(metric, TWO),
      volume: volume(metric, TWO),
      package: packages(metric, "1", "1"),
      percentage: percentage(metric, "1"),
    }[model];
    await expectRefused({ ...charge, invoice_timing }, "charges[0].invoice_timing", "unsupported");
  });

  test("also: the same faults are named where a charge is added and a set patched", async () => {
    const own = await sandbox(app, "2026-01-01");
    const used = await own.metric();
    const plan = await own.plan({ charges: [perUnit(used, "1")] });
    const bad = graduated(used, "<=10 @1, <=5 @1, rest @1");
    const patched = await own.call("PATCH", `/v1/plans/${plan.id}`, {
      charges: [perUnit(used, "1"), bad],
    });
    expectFault(patched, "charges[1].properties.tiers[1].up_to", "order");
    const added = await own.call("POST", `/v1/plans/${plan.id}/charges`, bad);
    expectFault(added, /properties\.tiers\[1\]\.up_to$/, "order");
    expect((await own.get(`/v1/plans/${plan.id}`)).plan).toEqual(plan);
  });
});
