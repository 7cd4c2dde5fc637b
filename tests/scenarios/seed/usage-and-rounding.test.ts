// What usage comes to: five ways to aggregate, one rounding per fee. Which events are refused, and
// when they count, is in c-usage-in-time.test.ts.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, sharedApp } from "../../support/app.ts";
import { fees, perUnit, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

type Month = {
  readonly type?: string;
  readonly rate: string;
  readonly amount_cents?: number;
  readonly currency?: string;
  readonly field_name?: string;
};

/** A January with one metric, one charge and one subscription, from its first instant. */
async function january(month: Month) {
  const story = await sandbox(app, "2026-01-01");
  const { type = "sum", field_name = "units" } = month;
  const metric = await story.metric(type, { field_name });
  const subscription = await story.subscribe({
    amount_cents: month.amount_cents ?? 0,
    amount_currency: month.currency ?? "USD",
    charges: [perUnit(metric, month.rate)],
  });
  const send = (event: Body) =>
    story.post("/v1/events", { ...story.usage(subscription, metric, undefined), ...event });
  return { story, metric, subscription, send };
}

/** The January invoices of these values; the usage line of the first, if there is one. */
async function billed(month: Month, values: readonly string[]) {
  const { story, subscription, metric } = await january(month);
  for (const value of values) await story.use(subscription, metric, value);
  await story.travelTo("2026-02-01");
  const invoices = await story.invoices();
  return { story, invoices, line: invoices[0] && fees(invoices[0], "charge")[0] };
}

describe("a sum", () => {
  test("is exact and rounded once, half away from zero (S41)", async () => {
    const { invoices, line } = await billed({ rate: "0.10" }, ["10", "20.5", "0.25"]);
    expect(line).toMatchObject({ units: "30.75", amount_cents: 308 });
    expect(invoices).toMatchObject([{ subtotal_cents: 308, total_cents: 308 }]);
  });

  test.each([
    ["1000000", [12_340]],
    ["12345", [152]],
    ["41", [1]],
    ["40", []],
    ["1", []],
  ])("of %s units at 0.0001234 makes the invoices %j (S42)", async (units, totals) => {
    const { invoices } = await billed({ rate: "0.0001234" }, [units]);
    expect(invoices.map((invoice) => invoice.total_cents)).toEqual(totals);
  });

  test("at 1.005 is not bent by binary fractions, and shows the exact amount (S43)", async () => {
    const { line } = await billed({ rate: "1.005" }, ["1"]);
    expect(line).toMatchObject({ units: "1", amount_cents: 101 });
    expect(line.properties).toMatchObject({ precise_amount: "100.5", amount: "1.005" });
  });

  test("takes negative values off (S57)", async () => {
    const { line } = await billed({ rate: "0.50" }, ["100", "-30"]);
    expect(line).toMatchObject({ units: "70", amount_cents: 3500 });
  });

  test("below zero bills as nothing and gives no credit (S58)", async () => {
    const { story, invoices, line } = await billed({ rate: "1", amount_cents: 1000 }, [
      "10",
      "-25",
    ]);
    expect(invoices).toMatchObject([{ total_cents: 1000, amount_due_cents: 1000 }]);
    expect(line).toMatchObject({ units: "0", amount_cents: 0 });
    await story.travelTo("2026-03-01");
    const february = (await story.invoices()).at(-1);
    expect(february).toMatchObject({ total_cents: 1000, amount_due_cents: 1000 });
  });

  test("takes its field from the properties, else the value (S129)", async () => {
    const { story, send } = await january({ rate: "1", field_name: "gb" });
    await send({ value: "5", properties: { gb: 7 } });
    await send({ value: "5", properties: { other: 100 } });
    await send({ value: "0.5" });
    await send({ properties: { gb: 3 } });
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(invoice.fees).toMatchObject([{ units: "15.5", amount_cents: 1550 }]);
  });

  test.each([
    { events: 100_000, units: "10000", total: 10_000 },
    { events: 2_000, units: "200", total: 200 },
  ])(
    "of $events events of 0.1 is exact (S45)",
    { timeout: 120_000 },
    async ({ events, units, total }) => {
      const { story, subscription, metric } = await january({ rate: "0.01" });
      for (let sent = 0; sent < events; sent += 10_000) {
        const size = Math.min(10_000, events - sent);
        const batch = Array.from({ length: size }, () => story.usage(subscription, metric, "0.1"));
        const answer = await story.post("/v1/events/batch", { events: batch });
        expect(answer).toMatchObject({ accepted: size, duplicates: 0, refused: 0 });
      }
      await story.travelTo("2026-02-01");
      const [invoice] = await story.invoices();
      expect(invoice.total_cents).toBe(total);
      expect(invoice.fees).toMatchObject([{ units, amount_cents: total }]);
    },
  );
});

test("a count counts events, whatever their values (S46)", async () => {
  const { story, subscription, metric } = await january({ type: "count", rate: "0.01" });
  const kinds = [
    { value: "7" },
    { value: "-3.5" },
    { value: "abc" },
    { value: "" },
    {},
    { properties: { units: "x" } },
    { properties: { units: null } },
  ];
  const batch = Array.from({ length: 1234 }, (_, i) => ({
    ...story.usage(subscription, metric, undefined),
    ...kinds[i % kinds.length],
  }));
  const answer = await story.post("/v1/events/batch", { events: batch });
  expect(answer).toMatchObject({ accepted: 1234, refused: 0 });
  await story.travelTo("2026-02-01");
  const [invoice] = await story.invoices();
  expect(invoice.fees).toMatchObject([{ units: "1234", amount_cents: 1234 }]);
});

test.each([
  { name: "a, b, a, c", values: ["a", "b", "a", "c"], units: "3", total: 450 },
  { name: "the number 1 and the string", values: [1, "1"], units: "1", total: 150 },
  { name: "A and a", values: ["A", "a"], units: "2", total: 300 },
])("distinct values are counted once: $name (S48)", async ({ values, units, total }) => {
  const { story, send } = await january({ type: "count_unique", rate: "1.50" });
  for (const value of values) await send({ properties: { units: value } });
  await story.travelTo("2026-02-01");
  const [invoice] = await story.invoices();
  expect(invoice.fees).toMatchObject([{ units, amount_cents: total }]);
});

test.each([
  { values: ["5", "12", "7"], totals: [2400] },
  { values: ["9", "10"], totals: [2000] },
  { values: [], totals: [] },
  { values: ["-5", "-3"], totals: [] },
])("the greatest of $values at 2 makes the invoices $totals (S49)", async (row) => {
  const { invoices } = await billed({ type: "max", rate: "2" }, row.values);
  expect(invoices.map((invoice) => invoice.total_cents)).toEqual(row.totals);
});

test("the latest is the one with the greatest timestamp, not the last to arrive (S50)", async () => {
  const { story, subscription, metric } = await january({ type: "latest", rate: "1" });
  await story.travelTo("2026-01-20T13:00");
  await story.use(subscription, metric, "5", "2026-01-20T10:00");
  await story.use(subscription, metric, "9", "2026-01-20T12:00");
  await story.use(subscription, metric, "100", "2026-01-20T11:00");
  await story.travelTo("2026-02-01");
  const [invoice] = await story.invoices();
  expect(invoice.fees).toMatchObject([{ units: "9", amount_cents: 900 }]);
});

test("of events of one instant the last to arrive is the latest, in a batch too (R7)", async () => {
  const { invoices } = await billed({ type: "latest", rate: "1" }, ["9", "4", "3"]);
  expect(invoices).toMatchObject([{ total_cents: 300 }]);
  const { story, subscription, metric } = await january({ type: "latest", rate: "1" });
  const events = ["9", "4", "3"].map((value) => story.usage(subscription, metric, value));
  await story.post("/v1/events/batch", { events });
  await story.travelTo("2026-02-01");
  expect(await story.totals()).toEqual([300]);
});

test.each(["latest", "max", "count_unique"])(
  "nothing of a %s carries over into the next period (S52)",
  async (type) => {
    const { story, invoices } = await billed({ type, rate: "1" }, ["7"]);
    expect(invoices).toHaveLength(1);
    await story.travelTo("2026-03-01");
    expect(await story.invoices()).toHaveLength(1);
  },
);

describe("the lines of an invoice", () => {
  test("are one per charge, also on one metric (S59)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const subscription = await story.subscribe({
      charges: [perUnit(metric, "0.10"), perUnit(metric, "0.02")],
    });
    await story.use(subscription, metric, "100");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(invoice.fees.map((fee: Json) => fee.amount_cents)).toEqual([1000, 200]);
    expect(invoice.total_cents).toBe(1200);
  });

  test("are rounded each, never the total (R6)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charges = [perUnit(metric, "0.005"), perUnit(metric, "0.005"), perUnit(metric, "0.004")];
    const subscription = await story.subscribe({ charges });
    await story.use(subscription, metric, "1");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(invoice.fees.map((fee: Json) => fee.amount_cents)).toEqual([1, 1, 0]);
    expect(invoice).toMatchObject({ subtotal_cents: 2, total_cents: 2 });
  });

  test("show unused metrics with 0 beside the base fee (S63)", async () => {
    const { invoices, line } = await billed({ rate: "0.10", amount_cents: 5000 }, []);
    expect(invoices).toMatchObject([{ total_cents: 5000 }]);
    expect(line).toMatchObject({ units: "0", amount_cents: 0 });
  });

  test("do not name a metric that the plan does not charge for (S61)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const subscription = await story.subscribe({ amount_cents: 500 });
    const answer = await story.use(subscription, metric, "1000");
    expect(answer).toEqual({ accepted: true, duplicate: false });
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(invoice.fees).toMatchObject([{ fee_type: "subscription", amount_cents: 500 }]);
    expect(invoice.fees).toHaveLength(1);
  });
});

test.each([{ values: [] }, { values: ["0"] }, { values: ["5", "-5"] }])(
  "usage of $values alone makes no invoice (S64)",
  async ({ values }) => {
    const { invoices } = await billed({ rate: "1" }, values);
    expect(invoices).toEqual([]);
  },
);

test.each([
  { currency: "JPY", rate: "0.5", units: "5", total: 3 },
  { currency: "USD", rate: "0.5", units: "5", total: 250 },
  { currency: "KWD", rate: "0.0005", units: "5", total: 3 },
])("a rate is in main units of $currency (R6)", async ({ currency, rate, units, total }) => {
  const { invoices } = await billed({ currency, rate }, [units]);
  expect(invoices).toMatchObject([{ currency, total_cents: total }]);
});

test.each([
  ["0.500", "0.5"],
  ["007", "7"],
  ["123456789012345.123456789012", "123456789012345.123456789012"],
])("units of %s are written %s (R7)", async (value, units) => {
  const { line } = await billed({ rate: "0.01" }, [value]);
  expect(line.units).toBe(units);
});
