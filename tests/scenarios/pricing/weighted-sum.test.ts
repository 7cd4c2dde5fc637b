// A level that lasts: unit-hours and averages, carried from period to period.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { fees, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, expectFault, issued, useOf } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

type Metered = { story: Sandbox; metric: Json; subscription: Json };

async function metered(
  at: string,
  weighted_by: "hour" | "period",
  rate: string,
  fields: Body = {},
): Promise<Metered> {
  const story = await sandbox(app, at);
  const metric = await story.metric("weighted_sum", { weighted_by });
  const subscription = await story.subscribe({ charges: [perUnit(metric, rate)], ...fields });
  return { story, metric, subscription };
}

/** Goes to each instant in turn and sends the change there. */
async function changes({ story, metric, subscription }: Metered, all: readonly [string, string][]) {
  for (const [at, value] of all) {
    await story.travelTo(at);
    await story.use(subscription, metric, value);
  }
}

/** "2026-02-01: 9360 for 9360 units" of each line that is not 0. */
async function metering(story: Sandbox): Promise<string[]> {
  const invoices = await story.invoices();
  return invoices.map(({ issuing_date, fees: all }) => {
    const shown = all
      .filter((fee: Json) => fee.amount_cents !== 0)
      .map((fee: Json) => `${fee.amount_cents} for ${fee.units}`);
    return `${issuing_date}: ${shown.join(", ")}`;
  });
}

describe("the level of a period", () => {
  test("P80 in unit-hours is carried until it is taken back", async () => {
    const told = await metered("2026-01-01", "hour", "0.01");
    await changes(told, [
      ["2026-01-01", "10"],
      ["2026-01-16", "5"],
      ["2026-03-01", "-15"],
    ]);
    await told.story.travelTo("2026-05-01");
    expect(await metering(told.story)).toEqual([
      "2026-02-01: 9360 for 9360",
      "2026-03-01: 10080 for 10080",
    ]);
  });

  test("P81 as the average over the period", async () => {
    const told = await metered("2026-01-01", "period", "1");
    expect(told.metric).toMatchObject({ aggregation_type: "weighted_sum", weighted_by: "period" });
    await changes(told, [
      ["2026-01-01", "10"],
      ["2026-01-16", "5"],
    ]);
    await told.story.travelTo("2026-03-01");
    expect(await metering(told.story)).toEqual([
      "2026-02-01: 1258 for 12.58064516129",
      "2026-03-01: 1500 for 15",
    ]);
  });

  test.each([
    { weighted_by: "hour", rate: "0.01", expected: "2880 for 2880" },
    { weighted_by: "period", rate: "1", expected: "387 for 3.870967741935" },
  ] as const)("P82 by $weighted_by of a short period is its share", async (weighed) => {
    const told = await metered("2026-01-20", weighed.weighted_by, weighed.rate);
    await changes(told, [["2026-01-20", "10"]]);
    await told.story.travelTo("2026-02-01");
    expect(await metering(told.story)).toEqual([`2026-02-01: ${weighed.expected}`]);
  });

  test("P83 is exact before the fee is rounded", async () => {
    const told = await metered("2026-04-01", "period", "0.15");
    await changes(told, [["2026-04-30", "1"]]);
    await told.story.travelTo("2026-05-01");
    expect(await metering(told.story)).toEqual(["2026-05-01: 1 for 0.033333333333"]);
  });

  test("P85 late changes correct their period and every closed one after it", async () => {
    const told = await metered("2026-01-01", "hour", "0.01");
    const { story, metric, subscription } = told;
    await changes(told, [
      ["2026-01-01", "10"],
      ["2026-01-16", "5"],
    ]);
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "-5", "2026-01-31T12:00");
    await story.travelTo("2026-03-03");
    await story.use(subscription, metric, "1", "2026-01-01");
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual([
      "2026-02-01: 9360",
      "2026-03-01: 6720 -60",
      "2026-04-01: 8184 744 672",
    ]);
    expect(await story.totals()).toEqual([9360, 6660, 9600]);
    const march = (await story.invoices()).at(-1);
    expect(fees(march, "adjustment")).toMatchObject([
      { units: "744", properties: { period_start: "2026-01-01" } },
      { units: "672", properties: { period_start: "2026-02-01" } },
    ]);
  });

  test("P87 is carried by combination", async () => {
    const story = await sandbox(app, "2026-01-01");
    const fields = { weighted_by: "period", dimensions: ["region"] };
    const metric = await story.metric("weighted_sum", fields);
    const prices = [{ match: { region: "us" }, amount: "2" }];
    const subscription = await story.subscribe({ charges: [perUnit(metric, "1", { prices })] });
    const [eu, us] = [{ region: "eu" }, { region: "us" }];
    await useOf(story, subscription, metric, { value: "10", of: eu });
    await useOf(story, subscription, metric, { value: "4", of: us });
    await story.travelTo("2026-02-15");
    await useOf(story, subscription, metric, { value: "-4", of: us });
    await story.travelTo("2026-04-01");
    const invoices = await story.invoices();
    const shown = invoices.map(({ fees: all }) =>
      all.map(({ units, amount_cents, properties }: Json) => [
        properties.dimensions.region,
        units,
        amount_cents,
      ]),
    );
    expect(shown).toEqual([
      [
        ["eu", "10", 1000],
        ["us", "4", 800],
      ],
      [
        ["eu", "10", 1000],
        ["us", "2", 400],
      ],
      [["eu", "10", 1000]],
    ]);
  });

  test("P89 outlives a change of plan", async () => {
    const told = await metered("2026-01-01", "period", "1");
    const { story, metric, subscription } = told;
    const dearer = await story.plan({ charges: [perUnit(metric, "2")] });
    await changes(told, [["2026-01-01", "31"]]);
    await story.travelTo("2026-01-16T12:00");
    await story.change(subscription, dearer);
    await story.travelTo("2026-02-01");
    expect(await metering(story)).toEqual([
      "2026-01-16: 1550 for 15.5",
      "2026-02-01: 3100 for 15.5",
    ]);
  });
});

describe("P92 a metric of a level", () => {
  test.each<[string, Body, string, string]>([
    ["without weighted_by", { aggregation_type: "weighted_sum" }, "weighted_by", "required"],
    ["by day", { aggregation_type: "weighted_sum", weighted_by: "day" }, "weighted_by", "enum"],
    [
      "without field",
      { aggregation_type: "weighted_sum", weighted_by: "hour", field_name: undefined },
      "field_name",
      "required",
    ],
    ["of a sum", { aggregation_type: "sum", weighted_by: "hour" }, "weighted_by", "unsupported"],
  ])("%s is refused", async (_, fields, field, code) => {
    const story = await sandbox(app, "2026-01-01");
    const sent = { code: "level", name: "Level", field_name: "gb", ...fields };
    expectFault(await story.call("POST", "/v1/metrics", sent), field, code);
    expect((await story.get("/v1/metrics")).metrics).toEqual([]);
  });
});

describe("also, by the same rules", () => {
  // (-10 x 31 + 30 x 15) / 31 = 140 / 31: the level below 0 counts against what comes later.
  test("a level below 0 is cut for the whole period only", async () => {
    const told = await metered("2026-01-01", "period", "1");
    await changes(told, [
      ["2026-01-01", "-10"],
      ["2026-01-17", "30"],
    ]);
    await told.story.travelTo("2026-03-01");
    expect(await metering(told.story)).toEqual([
      "2026-02-01: 452 for 4.516129032258",
      "2026-03-01: 2000 for 20",
    ]);
  });

  // A level of -10 bills nothing in January and is carried so: +15 on 1 February leaves 5.
  test("a level below 0 is carried", async () => {
    const told = await metered("2026-01-01", "period", "1");
    await changes(told, [
      ["2026-01-01", "-10"],
      ["2026-02-01", "15"],
    ]);
    await told.story.travelTo("2026-03-01");
    expect(await metering(told.story)).toEqual(["2026-03-01: 500 for 5"]);
  });

  // 62 from 5 January in a trial to the 11th: free there, then 62 x 21 / 31.
  test("it outlives a trial", async () => {
    const told = await metered("2026-01-01", "period", "1", { trial_days: 10 });
    await changes(told, [["2026-01-05", "62"]]);
    await told.story.travelTo("2026-02-01");
    expect(await metering(told.story)).toEqual(["2026-02-01: 4200 for 42"]);
  });

  // 31 over ten days of January, and again over the last eleven; nothing for the gap.
  test("it outlives an end and a return", async () => {
    const told = await metered("2026-01-01", "period", "1");
    await changes(told, [["2026-01-01", "31"]]);
    await told.story.travelTo("2026-01-11");
    await told.story.terminate(told.subscription);
    await told.story.travelTo("2026-01-21");
    await told.story.setStatus(told.subscription, "active");
    await told.story.travelTo("2026-02-01");
    expect(await metering(told.story)).toEqual([
      "2026-01-11: 1000 for 10",
      "2026-02-01: 1100 for 11",
    ]);
  });

  // January's supplement, +5 for half of it, comes on the 11th; back on the 20th, nine days at 15.
  test.each(["canceled", "terminated without an invoice"])(
    "a late change outlives an end: %s",
    async (way) => {
      const told = await metered("2026-01-01", "hour", "0.01");
      const { story, metric, subscription } = told;
      await changes(told, [["2026-01-01", "10"]]);
      await story.travelTo("2026-02-03");
      await story.use(subscription, metric, "5", "2026-01-16");
      await story.travelTo("2026-02-10");
      if (way === "canceled") await story.setStatus(subscription, "canceled");
      else await story.terminate(subscription, { invoice: "skip" });
      await story.travelTo("2026-02-20");
      await story.setStatus(subscription, "active");
      await story.travelTo("2026-03-01");
      expect(await issued(story)).toEqual([
        "2026-02-01: 7440",
        "2026-02-11: 1920",
        "2026-03-01: 3240",
      ]);
    },
  );

  // A second late change comes after the end, and the return before the supplement of the next
  // midnight: both are in the level from then on, and neither is there twice. 18.5 days at 16.
  test("late changes outlive an end and a return before their supplement", async () => {
    const told = await metered("2026-01-01", "hour", "0.01");
    const { story, metric, subscription } = told;
    await changes(told, [["2026-01-01", "10"]]);
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "5", "2026-01-16");
    await story.travelTo("2026-02-10");
    await story.setStatus(subscription, "canceled");
    await story.travelTo("2026-02-10T06:00");
    await story.use(subscription, metric, "1", "2026-01-31");
    await story.travelTo("2026-02-10T12:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual([
      "2026-02-01: 7440",
      "2026-02-11: 1944",
      "2026-03-01: 7104",
    ]);
  });

  // Of the first ten days of January five at 15: 600 more. Then 20.5 or 19.5 days at 15, not at 10.
  test.each([
    { way: "before", back: "2026-01-11T12:00", january: 7380 },
    { way: "after", back: "2026-01-12T12:00", january: 7020 },
  ])("a late change outlives a return $way its supplement", async ({ back, january }) => {
    const told = await metered("2026-01-01", "hour", "0.01");
    const { story, metric, subscription } = told;
    await changes(told, [["2026-01-01", "10"]]);
    await story.travelTo("2026-01-11");
    await story.terminate(subscription);
    await story.travelTo("2026-01-11T06:00");
    await story.use(subscription, metric, "5", "2026-01-06");
    await story.travelTo(back);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual([
      "2026-01-11: 2400",
      "2026-01-12: 600",
      `2026-02-01: ${january}`,
      "2026-03-01: 10080",
    ]);
  });

  // On 3 April the window is February and March: a change of January is in no level.
  test("a change beyond the window is no part of the level", async () => {
    const told = await metered("2026-01-01", "period", "1");
    const { story, metric, subscription } = told;
    await changes(told, [["2026-01-01", "10"]]);
    await story.travelTo("2026-04-03");
    const late = await story.use(subscription, metric, "100", "2026-01-15");
    expect(late.warning).toBe("late_unbilled");
    await story.travelTo("2026-05-01");
    expect((await metering(story)).at(-1)).toBe("2026-05-01: 1000 for 10");
  });

  // 31 of ten of 31 days so far; at the period's end all of it.
  test("running usage counts up to now, a preview to the end that it previews", async () => {
    const told = await metered("2026-01-01", "period", "1");
    const { story, subscription } = told;
    await changes(told, [["2026-01-01", "31"]]);
    await story.travelTo("2026-01-11");
    expect((await story.runningUsage(subscription)).charges).toMatchObject([
      { units: "10", amount_cents: 1000 },
    ]);
    expect((await story.preview(subscription, "now")).total_cents).toBe(1000);
    expect((await story.preview(subscription, "period_end")).total_cents).toBe(3100);
  });

  // The hours of a millisecond: 3600 units for 1 ms are 0.001 unit-hours, at 10 a cent.
  test("time counts in milliseconds", async () => {
    const told = await metered("2026-01-01", "hour", "10");
    await changes(told, [
      ["2026-01-31T23:59:59.998", "3600"],
      ["2026-01-31T23:59:59.999", "-3600"],
    ]);
    await told.story.travelTo("2026-03-01");
    expect(await metering(told.story)).toEqual(["2026-02-01: 1 for 0.001"]);
  });
});
