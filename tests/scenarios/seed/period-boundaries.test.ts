// Where periods begin and end, and what a first, cut-short period costs.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { count, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const dates = ({ issuing_date, due_date, period_start, period_end }: Json) => ({
  issuing_date,
  due_date,
  period_start,
  period_end,
});

test("a first period that starts mid-month is billed by its days (S1)", async () => {
  const story = await sandbox(app, "2026-01-15T10:30");
  const started = await story.subscribe({ amount_cents: 3100 });
  expect(started.started_at).toBe("2026-01-15T10:30:00.000Z");
  expect(started.current_period_start).toBe("2026-01-15T10:30:00.000Z");
  expect(started.current_period_end).toBe("2026-01-31T23:59:59.999Z");

  await story.travelTo("2026-01-31T23:59:59.999");
  expect(await story.invoices()).toEqual([]);
  await story.travelTo("2026-02-01");

  const [invoice, ...others] = await story.invoices();
  expect(others).toEqual([]);
  expect(invoice).toMatchObject({
    number: "INV-2026-0001",
    status: "outstanding",
    payment_status: "pending",
    invoice_type: "subscription",
    subtotal_cents: 1700,
    total_cents: 1700,
    amount_due_cents: 1700,
  });
  expect(dates(invoice)).toEqual({
    issuing_date: "2026-02-01",
    due_date: "2026-02-15",
    period_start: "2026-01-15",
    period_end: "2026-01-31",
  });
  expect(invoice.fees).toHaveLength(1);
  expect(invoice.fees[0]).toMatchObject({
    fee_type: "subscription",
    units: "1",
    amount_cents: 1700,
    amount_currency: "USD",
  });
  const renewed = await story.subscription(started.id);
  expect(renewed.current_period_start).toBe("2026-02-01T00:00:00.000Z");
  expect(renewed.current_period_end).toBe("2026-02-28T23:59:59.999Z");
  expect(renewed.started_at).toBe(started.started_at);
});

test("a period that starts with the month is billed in full (S2)", async () => {
  const story = await sandbox(app, "2026-03-01");
  await story.subscribe({ amount_cents: 3100 });
  await story.travelTo("2026-04-01");
  expect(await story.totals()).toEqual([3100]);
});

test.each([
  { at: "2028-02-10", amount_cents: 2900, end: "2028-02-29", total: 2000, s: "S4, leap year" },
  { at: "2100-02-01", amount_cents: 2800, end: "2100-02-28", total: 2800, s: "S5, whole" },
  { at: "2100-02-15", amount_cents: 2800, end: "2100-02-28", total: 1400, s: "S5, half" },
])("February has the days its year gives it ($s)", async ({ at, amount_cents, end, total }) => {
  const story = await sandbox(app, at);
  const started = await story.subscribe({ amount_cents });
  expect(started.current_period_end).toBe(`${end}T23:59:59.999Z`);
  await story.travelTo(`${at.slice(0, 4)}-03-01`);
  const [invoice] = await story.invoices();
  expect(invoice).toMatchObject({ total_cents: total, period_start: at, period_end: end });
});

test("a week runs from Monday to Sunday, and a week begun on Wednesday costs five days (S6)", async () => {
  const story = await sandbox(app, "2026-01-14");
  const plan = { interval: "weekly" };
  const even = await story.subscribe({ ...plan, amount_cents: 700 });
  await story.subscribe({ ...plan, amount_cents: 1000 });
  expect(even.current_period_end).toBe("2026-01-18T23:59:59.999Z");
  await story.travelTo("2026-01-26");
  expect(await story.totals()).toEqual([500, 714, 700, 1000]);
  const later = await story.subscription(even.id);
  expect(later.current_period_start).toBe("2026-01-26T00:00:00.000Z");
});

test("a week over the end of a year is one week (R2)", async () => {
  const story = await sandbox(app, "2026-12-28");
  const started = await story.subscribe({ interval: "weekly", amount_cents: 700 });
  expect(started.current_period_end).toBe("2027-01-03T23:59:59.999Z");
  await story.travelTo("2027-01-04");
  const [invoice] = await story.invoices();
  expect(invoice).toMatchObject({
    total_cents: 700,
    number: "INV-2027-0001",
    period_start: "2026-12-28",
    period_end: "2027-01-03",
  });
});

test("a quarter ends with March, June, September or December (S8)", async () => {
  const story = await sandbox(app, "2026-02-10");
  const started = await story.subscribe({ interval: "quarterly", amount_cents: 29_900 });
  expect(started.current_period_end).toBe("2026-03-31T23:59:59.999Z");
  await story.travelTo("2026-04-01");
  const second = await story.subscription(started.id);
  expect(second.current_period_start).toBe("2026-04-01T00:00:00.000Z");
  expect(second.current_period_end).toBe("2026-06-30T23:59:59.999Z");
  await story.travelTo("2026-07-01");
  expect(await story.totals()).toEqual([16_611, 29_900]);
});

test("a half-year ends with June or December (R2)", async () => {
  const story = await sandbox(app, "2026-05-31");
  // 31 May and the 30 days of June, of the 181 days from January to June.
  const started = await story.subscribe({ interval: "semiannual", amount_cents: 18_100 });
  expect(started.current_period_end).toBe("2026-06-30T23:59:59.999Z");
  await story.travelTo("2027-01-01");
  const invoices = await story.invoices();
  expect(invoices.map((invoice) => invoice.total_cents)).toEqual([3100, 18_100]);
  expect(invoices[1]).toMatchObject({ period_start: "2026-07-01", period_end: "2026-12-31" });
});

test.each([
  { year: 2026, total: 60_493 },
  { year: 2028, total: 60_328 },
])("half of the year $year is billed by that year's days (S10)", async ({ year, total }) => {
  const story = await sandbox(app, `${year}-07-01`);
  const started = await story.subscribe({ interval: "yearly", amount_cents: 120_000 });
  expect(started.current_period_end).toBe(`${year}-12-31T23:59:59.999Z`);
  await story.travelTo(`${year + 1}-01-01`);
  expect(await story.totals()).toEqual([total]);
});

test("a year begun on its last day costs that day, then the calendar year follows (S11)", async () => {
  const story = await sandbox(app, "2026-12-31");
  const started = await story.subscribe({ interval: "yearly", amount_cents: 36_500 });
  await story.travelTo("2027-01-01");
  const next = await story.subscription(started.id);
  expect(next.current_period_start).toBe("2027-01-01T00:00:00.000Z");
  expect(next.current_period_end).toBe("2027-12-31T23:59:59.999Z");
  await story.travelTo("2028-01-01");
  expect(await story.totals()).toEqual([100, 36_500]);
});

test("a jump over three closes makes three invoices, each at its own time (S17)", async () => {
  const story = await sandbox(app, "2025-12-01");
  const started = await story.subscribe({ amount_cents: 3000 });
  await story.travelTo("2026-01-31");
  const before = await story.invoices();
  expect(before.map((invoice) => invoice.number)).toEqual(["INV-2026-0001"]);

  const report = await story.travelTo("2026-04-10");

  const invoices = (await story.invoices()).slice(1);
  expect(invoices.map(({ number, total_cents }) => [number, total_cents])).toEqual([
    ["INV-2026-0002", 3000],
    ["INV-2026-0003", 3000],
    ["INV-2026-0004", 3000],
  ]);
  expect(invoices.map((invoice) => invoice.issuing_date)).toEqual([
    "2026-02-01",
    "2026-03-01",
    "2026-04-01",
  ]);
  expect(invoices.map((invoice) => invoice.period_start)).toEqual([
    "2026-01-01",
    "2026-02-01",
    "2026-03-01",
  ]);
  expect(count(report, "subscription.period_renewed")).toBe(3);
  expect(report).toMatchObject({ periods_closed: 3, invoices_created: 3 });
  const [, , march] = (await story.webhooks("subscription.period_renewed")).slice(1);
  expect(march).toMatchObject({
    subscription: { id: started.id, current_period_start: "2026-04-01T00:00:00.000Z" },
    previous_period: { start: "2026-03-01T00:00:00.000Z", end: "2026-03-31T23:59:59.999Z" },
  });
  const instants = report.events.map((event: Json) => event.at);
  expect(instants).toEqual([...instants].sort());
  const april = await story.subscription(started.id);
  expect(april.current_period_start).toBe("2026-04-01T00:00:00.000Z");
  expect(april.current_period_end).toBe("2026-04-30T23:59:59.999Z");
});

test("the clock never goes back over a close (S19)", async () => {
  const story = await sandbox(app, "2026-01-01");
  const started = await story.subscribe({ amount_cents: 3000 });
  await story.travelTo("2026-02-10");

  const to = "2026-01-20T00:00:00.000Z";
  const advanced = await story.call("POST", "/v1/clock/advance", { to });
  expect(advanced.status).toBe(409);
  const frozen = await story.call("POST", "/v1/clock", { frozen_at: to });
  expect(frozen.status).toBe(409);
  expect(await story.now()).toBe("2026-02-10T00:00:00.000Z");
  expect(await app.runWorkers()).toBe(0);
  expect(await story.totals()).toEqual([3000]);
  const unchanged = await story.subscription(started.id);
  expect(unchanged.current_period_start).toBe("2026-02-01T00:00:00.000Z");

  // Standing still is no way back either: nothing is due a second time.
  const report = await story.travelTo("2026-02-10");
  expect(report).toMatchObject({ periods_closed: 0, invoices_created: 0, events: [] });
});
