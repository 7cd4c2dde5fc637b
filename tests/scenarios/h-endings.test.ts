// What an end does to usage: events sent ahead of it, after it, and around a return.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import { fees, flatFee, perUnit, sandbox } from "../support/given.ts";
import { expectError } from "../support/shapes.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

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
    await story.use(subscription, metric, "10", "2026-04-30T11:59:59.999");
    await story.use(subscription, metric, "100", "2026-04-30T12:00");
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

test("an end at the very instant of a start bills no day and no usage (R4)", async () => {
  const { story, metric, subscription } = await metered("2026-04-01", { amount_cents: 3000 });
  await story.travelTo("2026-05-01");
  await story.use(subscription, metric, "5", "2026-05-01");
  await story.terminate(subscription);
  await story.travelTo("2026-08-01");
  expect(await story.totals()).toEqual([3000]);
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

describe("a period whose boundary was missed is not drawn out to an end behind it", () => {
  /** January cannot be closed: February would begin with seats that nobody gave. */
  async function overdue() {
    const { story, metric, subscription } = await metered("2026-01-01", { amount_cents: 3100 });
    await story.travelTo("2026-01-10");
    const seats = flatFee({ seats: true, invoice_timing: "advance", amount_override_cents: 1000 });
    const charges = [perUnit(metric, "1"), seats];
    await story.patch(`/v1/plans/${subscription.plan_id}`, { charges });
    await story.travelTo("2026-02-05");
    await story.use(subscription, metric, "7");
    await story.travelTo("2026-02-10");
    expect((await story.subscription(subscription.id)).billing_error).toContain("seats");
    return { story, metric, subscription, url: `/v1/subscriptions/${subscription.id}` };
  }

  const UNBILLABLE = [{ field: "properties", code: "unbillable" }];
  /** January, the seats of February, and 9 of its 28 days with the 7 calls. */
  const EACH_AT_ITS_OWN = [3100, 1000, 996 + 700];

  test("terminated, it is refused with the reason until that is mended (R7)", async () => {
    const { story, subscription, url } = await overdue();
    const refused = await story.call("POST", `${url}/terminate`);
    expectError(refused, 422, "validation_error");
    expect(refused.body.error.details).toMatchObject(UNBILLABLE);
    expect((await story.subscription(subscription.id)).status).toBe("active");
    expect(await story.totals()).toEqual([]);
    await story.update(subscription, { properties: { seats: 1 } });
    await story.terminate(subscription);
    expect(await story.totals()).toEqual(EACH_AT_ITS_OWN);
  });

  test("the call that ends it can mend it as well", async () => {
    const { story, subscription } = await overdue();
    await story.update(subscription, { status: "terminated", properties: { seats: 1 } });
    expect(await story.totals()).toEqual(EACH_AT_ITS_OWN);
  });

  test("moved to another plan now, it is refused with the reason", async () => {
    const { story, metric, subscription, url } = await overdue();
    const plan = await story.plan({ charges: [perUnit(metric, "5")] });
    const refused = await story.call("PATCH", url, { plan_id: plan.id });
    expectError(refused, 422, "validation_error");
    expect(refused.body.error.details).toMatchObject(UNBILLABLE);
    await story.update(subscription, { properties: { seats: 1 } });
    await story.change(subscription, plan);
    expect(await story.totals()).toEqual(EACH_AT_ITS_OWN);
  });

  test.each(["canceled", "terminated without a bill"])(
    "%s and brought back, it keeps the usage that is never billed (R7)",
    async (how) => {
      const { story, metric, subscription } = await overdue();
      if (how === "canceled") await story.setStatus(subscription, "canceled");
      else await story.terminate(subscription, { invoice: "skip" });
      await story.update(subscription, { properties: { seats: 1 } });
      await story.travelTo("2026-02-20");
      await story.setStatus(subscription, "active");
      await story.use(subscription, metric, "2");
      await story.travelTo("2026-04-01");
      const lines = (await story.invoices()).flatMap((invoice) => fees(invoice, "charge"));
      const used = lines.filter((fee) => fee.billable_metric_code === metric.code);
      expect(used.map(({ units }) => units)).toEqual(["2", "0"]);
    },
  );
});
