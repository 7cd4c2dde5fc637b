// What an end does to usage: events sent ahead of it, after it, and around a return.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { fees, flatFee, perUnit, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const FRESH = { accepted: true, duplicate: false };
const AFTER_END = { ...FRESH, warning: "after_termination" };

async function metered(at: string, { type = "sum", amount_cents = 0, rate = "1" } = {}) {
  const story = await sandbox(app, at);
  const metric = await story.metric(type);
  const charges = [perUnit(metric, rate)];
  const subscription = await story.subscribe({ amount_cents, charges });
  return { story, metric, subscription };
}

describe("usage sent ahead of an end that then comes", () => {
  test("is not on the final invoice, nor on any later one (R7)", async () => {
    const { story, metric, subscription } = await metered("2026-04-01");
    await story.travelTo("2026-04-30T12:00");
    await story.use(subscription, metric, "10", "2026-04-30T12:00");
    await story.use(subscription, metric, "100", "2026-04-30T12:00:00.001");
    await story.use(subscription, metric, "1000", "2026-04-30T18:00");
    await story.use(subscription, metric, "10000", "2026-05-01T06:00");
    const ended = await story.terminate(subscription);
    expect(ended.terminated_at).toBe("2026-04-30T12:00:00.000Z");
    expect(await story.totals()).toEqual([1000]);
    await story.travelTo("2026-08-01");
    expect(await story.totals()).toEqual([1000]);
    const { events } = await story.get("/v1/events?state=unbillable");
    const reasons = events.map(({ value, reason }: Json) => [value, reason]);
    expect(reasons).toEqual([
      ["10000", "after_termination"],
      ["1000", "after_termination"],
      ["100", "after_termination"],
    ]);
  });

  test.each(["terminated", "canceled"])(
    "does not come back with a %s subscription that does (R7)",
    async (status) => {
      const { story, metric, subscription } = await metered("2026-04-01");
      await story.travelTo("2026-04-30T12:00");
      await story.use(subscription, metric, "10", "2026-04-30T10:00");
      await story.use(subscription, metric, "1000", "2026-04-30T18:00");
      await story.use(subscription, metric, "10000", "2026-05-01T06:00");
      await story.setStatus(subscription, status);
      await story.travelTo("2026-04-30T13:00");
      await story.setStatus(subscription, "active");
      await story.use(subscription, metric, "3", "2026-04-30T18:00");
      await story.use(subscription, metric, "4", "2026-05-01T06:00");
      await story.travelTo("2026-08-01");
      const totals = await story.totals();
      expect(totals).toEqual(status === "terminated" ? [1000, 300, 400] : [300, 400]);
    },
  );
});

describe("usage of the very instant of an end", () => {
  test("that was sent before is billed by it, and none that comes later (S56)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    await story.travelTo("2026-01-15T10:30");
    await story.use(subscription, metric, "1", "2026-01-15T10:29:59.999");
    expect(await story.use(subscription, metric, "10")).toEqual(FRESH);
    const { fees: lines } = await story.preview(subscription, "now");
    await story.terminate(subscription);
    expect(await story.totals()).toEqual([1100]);
    const [final] = await story.invoices();
    expect(final.fees.map(({ id: _id, ...fee }: Json) => fee)).toEqual(lines);
    expect(await story.use(subscription, metric, "100")).toEqual(AFTER_END);
    expect(await story.use(subscription, metric, "4", "2026-01-15T10:29:59.999")).toEqual(FRESH);
    await story.travelTo("2026-03-01");
    expect(await story.totals()).toEqual([1100, 400]);
  });

  test.each(["sum", "count_unique", "latest", "weighted_sum"])(
    "that an end took is not counted again by a return at that instant (%s)",
    async (type) => {
      const story = await sandbox(app, "2026-01-01");
      const weighted = type === "weighted_sum" ? { weighted_by: "hour" } : {};
      const metric = await story.metric(type, weighted);
      const subscription = await story.subscribe({ charges: [perUnit(metric, "1")] });
      await story.travelTo("2026-01-15");
      await story.use(subscription, metric, "10");
      await story.terminate(subscription);
      await story.setStatus(subscription, "active");
      const [used] = (await story.runningUsage(subscription)).charges;
      expect(used.events).toBe(0);
      await story.use(subscription, metric, "3");
      await story.travelTo("2026-01-16");
      await story.terminate(subscription);
      const units = (await story.invoices()).flatMap(({ fees: lines }) =>
        lines.map((fee: Json) => fee.units),
      );
      // The level goes on: 13 for 24 hours.
      const expected = { sum: ["10", "3"], count_unique: ["1", "1"], latest: ["10", "3"] };
      expect(units).toEqual({ ...expected, weighted_sum: ["312"] }[type]);
    },
  );

  test("belongs to the new plan where the plan changes at it", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    await story.travelTo("2026-01-15");
    await story.use(subscription, metric, "10");
    const dearer = await story.plan({ charges: [perUnit(metric, "2")] });
    await story.change(subscription, dearer);
    await story.terminate(subscription);
    expect(await story.totals()).toEqual([2000]);
  });
});

describe("usage behind an end that is set", () => {
  test("is answered so, and billed all the same when the end is taken back", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    await story.travelTo("2026-01-15");
    await story.update(subscription, { ends_at: "2026-01-15T12:00:00Z" });
    expect(await story.use(subscription, metric, "1", "2026-01-15T11:59:59.999")).toEqual(FRESH);
    expect(await story.use(subscription, metric, "10", "2026-01-15T12:00")).toEqual(AFTER_END);
    const kept = await story.metric();
    const other = await story.subscribe({ charges: [perUnit(kept, "1")] });
    await story.update(other, { ends_at: "2026-01-15T12:00:00Z" });
    expect(await story.use(other, kept, "5", "2026-01-15T18:00")).toEqual(AFTER_END);
    await story.update(other, { ends_at: null });
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([100, 500]);
  });
});

describe("usage of a period that was ended without a bill", () => {
  test.each(["canceled", "skip"])(
    "is listed as never billed, with the reason (%s)",
    async (how) => {
      const { story, metric, subscription } = await metered("2026-04-01");
      await story.travelTo("2026-05-10");
      await story.use(subscription, metric, "7", "2026-04-20");
      await story.use(subscription, metric, "5");
      await story.use(subscription, metric, "3", "2026-05-10T18:00");
      if (how === "canceled") await story.setStatus(subscription, "canceled");
      else await story.terminate(subscription, { invoice: "skip" });
      const listed = async (query: string) => {
        const { events, total_count } = await story.get(`/v1/events?count=1&${query}`);
        expect(total_count).toBe(events.length);
        return events.map(({ value, reason, state }: Json) => [value, state, reason]);
      };
      const of = `subscription_id=${subscription.id}`;
      const never = [
        ["3", "unbillable", "after_termination"],
        ["5", "unbillable", "canceled"],
      ];
      expect(await listed("state=unbillable")).toEqual(never);
      expect(await listed(`state=unbillable&${of}`)).toEqual(never);
      expect(await listed(`state=billable&${of}`)).toEqual([["7", "billable", null]]);
      expect(await listed(of)).toEqual([...never, ["7", "billable", null]]);
      const paged = await story.get("/v1/events?state=unbillable&limit=1");
      expect(paged).toMatchObject({ has_more: true, events: [{ value: "3" }] });
      const rest = await story.get(`/v1/events?state=unbillable&limit=1&cursor=${paged.cursor}`);
      expect(rest).toMatchObject({ has_more: false, events: [{ value: "5" }] });
    },
  );
});

test("usage of the gap between an end and a return is accepted, said so, and never billed (R7)", async () => {
  const { story, metric, subscription } = await metered("2026-04-01");
  await story.travelTo("2026-04-10");
  await story.terminate(subscription);
  await story.travelTo("2026-04-11");
  expect(await story.use(subscription, metric, "5", "2026-04-10T12:00")).toEqual(AFTER_END);
  await story.travelTo("2026-04-12");
  await story.setStatus(subscription, "active");
  expect(await story.use(subscription, metric, "7", "2026-04-10T12:00")).toEqual(AFTER_END);
  expect(await story.use(subscription, metric, "1", "2026-04-12")).toEqual(FRESH);
  await story.travelTo("2026-08-01");
  expect(await story.totals()).toEqual([100]);
});

describe("a return on the day of the end keeps the usage of both periods apart", () => {
  test.each([
    { type: "sum", first: 17, late: 2, second: 5 },
    { type: "count", first: 2, late: 1, second: 1 },
    { type: "count_unique", first: 2, late: 1, second: 1 },
    { type: "max", first: 10, late: 0, second: 5 },
    { type: "latest", first: 7, late: -5, second: 5 },
  ])("for a $type (R7, R10)", async ({ type, first, late, second }) => {
    const { story, metric, subscription } = await metered("2026-04-01", { type });
    await story.travelTo("2026-04-15T10:00");
    await story.use(subscription, metric, "10", "2026-04-15T09:00");
    await story.use(subscription, metric, "7", "2026-04-15T09:30");
    await story.terminate(subscription);
    await story.travelTo("2026-04-15T11:00");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-04-15T12:00");
    await story.use(subscription, metric, "5", "2026-04-15T11:00");
    expect(await story.use(subscription, metric, "2", "2026-04-15T09:45")).toEqual(FRESH);
    const running = await story.runningUsage(subscription);
    expect(running.charges).toMatchObject([{ units: String(second) }]);
    await story.travelTo("2026-05-01");
    const [final, month] = await story.invoices();
    expect(final.total_cents).toBe(first * 100);
    expect(fees(month, "charge")).toMatchObject([{ units: String(second) }]);
    const corrections = fees(month, "adjustment").map((fee) => fee.amount_cents);
    expect(corrections).toEqual(late === 0 ? [] : [late * 100]);
    expect(month.subtotal_cents).toBe((second + late) * 100);
  });
});

describe("the preview of an end now equals the final invoice", () => {
  test.each(["sum", "count", "count_unique", "max", "latest"])(
    "for a %s, with late usage and usage sent ahead (R7)",
    async (type) => {
      const { story, metric, subscription } = await metered("2026-03-10", {
        type,
        amount_cents: 3100,
        rate: "0.33",
      });
      await story.use(subscription, metric, "12", "2026-03-10T06:00");
      await story.travelTo("2026-04-15T10:00");
      await story.use(subscription, metric, "40", "2026-03-20");
      await story.use(subscription, metric, "10.5", "2026-04-02");
      await story.use(subscription, metric, "7", "2026-04-15T09:00");
      await story.use(subscription, metric, "100", "2026-04-15T10:00");
      await story.use(subscription, metric, "200", "2026-04-16T09:00");
      const { fees: lines, ...shown } = await story.preview(subscription, "now");
      await story.terminate(subscription);
      const final = (await story.invoices()).at(-1);
      expect(final).toMatchObject(shown);
      expect(final.fees.map(({ id: _id, ...fee }: Json) => fee)).toEqual(lines);
    },
  );
});

test("an end at the very instant of a start bills no day, and the usage of that instant (R4)", async () => {
  const { story, metric, subscription } = await metered("2026-04-01", { amount_cents: 3000 });
  await story.travelTo("2026-05-01");
  await story.use(subscription, metric, "5", "2026-05-01");
  await story.terminate(subscription);
  await story.travelTo("2026-08-01");
  expect(await story.totals()).toEqual([3000, 500]);
});

test("an end during a suspension still bills usage and flat fees (R5, R8)", async () => {
  const story = await sandbox(app, "2026-04-01");
  const metric = await story.metric();
  const charges = [perUnit(metric, "1"), flatFee({ amount_override_cents: 250 })];
  const subscription = await story.subscribe({ amount_cents: 3000, charges });
  await story.suspend(subscription);
  await story.travelTo("2026-04-10");
  await story.use(subscription, metric, "4", "2026-04-09");
  await story.terminate(subscription);
  const [final] = await story.invoices();
  expect(final.fees.map((fee: Json) => fee.amount_cents)).toEqual([0, 400, 250]);
});
