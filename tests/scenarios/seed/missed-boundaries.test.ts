// Ends and changes of a subscription that was set aside: what has ended is billed first.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { fees, flatFee, perUnit, sandbox } from "../../support/given.ts";
import { expectError } from "../../support/shapes.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

async function metered(at: string, { amount_cents }: { amount_cents: number }) {
  const story = await sandbox(app, at);
  const metric = await story.metric();
  const charges = [perUnit(metric, "1")];
  const subscription = await story.subscribe({ amount_cents, charges });
  return { story, metric, subscription };
}

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
    expectError(refused, 422, "unbilled_periods");
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
    expectError(refused, 422, "unbilled_periods");
    expect(refused.body.error.details).toMatchObject(UNBILLABLE);
    await story.update(subscription, { properties: { seats: 1 } });
    await story.change(subscription, plan);
    expect(await story.totals()).toEqual(EACH_AT_ITS_OWN);
  });

  const END = {
    canceled: ["PATCH", "", { status: "canceled" }],
    "terminated without a bill": ["POST", "/terminate", { invoice: "skip" }],
  } as const;

  test.each(["canceled", "terminated without a bill"] as const)(
    "%s, it is refused until the periods before are billed, and then ends without the open one",
    async (how) => {
      const { story, subscription, url } = await overdue();
      const [method, path, body] = END[how];
      const refused = await story.call(method, `${url}${path}`, body);
      expectError(refused, 422, "unbilled_periods");
      expect(refused.body.error.details).toMatchObject(UNBILLABLE);
      expect(await story.subscription(subscription.id)).toMatchObject({ status: "active" });
      await story.update(subscription, { properties: { seats: 1 } });
      await story.ok(method, `${url}${path}`, body);
      expect(await story.totals()).toEqual([3100, 1000]);
    },
  );

  test("with unbilled drop, it ends, and only what cannot be billed is given up", async () => {
    const { story, subscription, url } = await overdue();
    await story.ok("POST", `${url}/terminate`, { unbilled: "drop" });
    // January, and of February what needs no seats.
    expect(await story.totals()).toEqual([3100, 996 + 700]);
    const dropped = (await story.log("subscription.period_dropped")).map(({ payload }) => payload);
    expect(dropped).toMatchObject([
      { period_start: "2026-02-01T00:00:00.000Z", dropped: "due_at_start" },
    ]);
    expect(dropped[0].reason).toContain("seats");
    expect(await story.subscription(subscription.id)).toMatchObject({
      status: "terminated",
      billing_error: null,
    });
  });

  test("with unbilled drop, whole periods are given up, and listed as never billed", async () => {
    const { story, metric, subscription } = await metered("2026-01-01", { amount_cents: 3100 });
    await story.travelTo("2026-01-10");
    const seats = flatFee({ seats: true, amount_override_cents: 1000 });
    const charges = [perUnit(metric, "1"), seats];
    await story.patch(`/v1/plans/${subscription.plan_id}`, { charges });
    await story.travelTo("2026-02-05");
    await story.use(subscription, metric, "7");
    await story.travelTo("2026-04-10");
    await story.use(subscription, metric, "9");
    const url = `/v1/subscriptions/${subscription.id}`;
    expectError(await story.call("PATCH", url, { status: "canceled" }), 422, "unbilled_periods");
    await story.patch(url, { status: "canceled", unbilled: "drop" });
    expect(await story.totals()).toEqual([3100]);
    const dropped = (await story.log("subscription.period_dropped")).map(({ payload }) => [
      payload.period_start.slice(0, 10),
      payload.period_end.slice(0, 10),
      payload.dropped,
    ]);
    expect(dropped).toEqual([
      ["2026-02-01", "2026-02-28", "all"],
      ["2026-03-01", "2026-03-31", "all"],
    ]);
    const { events } = await story.get("/v1/events?state=unbillable");
    expect(events.map(({ value, reason }: Json) => [value, reason])).toEqual([
      ["9", "canceled"],
      ["7", "canceled"],
    ]);
  });

  test("canceled by the call that mends it, each ended period is billed", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-10");
    const charges = [flatFee({ seats: true, amount_override_cents: 1000 })];
    await story.patch(`/v1/plans/${subscription.plan_id}`, { charges });
    await story.travelTo("2026-06-10");
    await story.update(subscription, { status: "canceled", properties: { seats: 2 } });
    expect(await story.totals()).toEqual([3100, 5100, 5100, 5100, 5100]);
  });

  test("unbilled is refused where nothing ends", async () => {
    const { story, url } = await overdue();
    for (const change of [{ properties: { a: 1 } }, { status: "active" }]) {
      const refused = await story.call("PATCH", url, { ...change, unbilled: "drop" });
      expectError(refused, 422, "validation_error");
      expect(refused.body.error.details).toMatchObject([{ field: "unbilled" }]);
    }
  });

  test("a change at the end of the period counts from that of the one that is running", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-10");
    const charges = [flatFee({ seats: true, amount_override_cents: 1000 })];
    await story.patch(`/v1/plans/${subscription.plan_id}`, { charges });
    await story.travelTo("2026-03-05");
    const plan = await story.plan({ amount_cents: 9300 });
    const change = { plan_id: plan.id, change_at: "period_end" };
    const url = `/v1/subscriptions/${subscription.id}`;
    expectError(await story.call("PATCH", url, change), 422, "unbilled_periods");
    await story.update(subscription, { ...change, properties: { seats: 2 } });
    await story.travelTo("2026-05-01");
    expect(await story.totals()).toEqual([3100, 5100, 5100, 9300]);
  });

  test.each(["canceled", "terminated without a bill"] as const)(
    "%s and brought back, it keeps the usage that is never billed (R7)",
    async (how) => {
      const { story, metric, subscription, url } = await overdue();
      const [method, path, body] = END[how];
      await story.ok(method, `${url}${path}`, { ...body, unbilled: "drop" });
      await story.update(subscription, { properties: { seats: 1 } });
      await story.travelTo("2026-02-20");
      await story.setStatus(subscription, "active");
      await story.use(subscription, metric, "2");
      await story.travelTo("2026-04-01");
      const lines = (await story.invoices()).flatMap((invoice) => fees(invoice, "charge"));
      const used = lines.filter((fee) => fee.billable_metric_code === metric.code);
      expect(used.map(({ units }) => units)).toEqual(["0", "2", "0"]);
    },
  );
});

describe("a start or an end of a trial that was missed is not passed over", () => {
  /** Its paid time would begin with seats that nobody gave. */
  async function missed(fields: Json, began: string) {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100, ...fields });
    const seats = flatFee({ seats: true, invoice_timing: "advance", amount_override_cents: 1000 });
    await story.patch(`/v1/plans/${subscription.plan_id}`, { charges: [seats] });
    await story.travelTo("2026-03-10");
    const { billing_error, status } = await story.subscription(subscription.id);
    expect([status, billing_error]).toEqual([began, expect.stringContaining("seats")]);
    return { story, subscription, url: `/v1/subscriptions/${subscription.id}` };
  }

  const pending = () => missed({ starts_at: "2026-02-01T00:00:00Z" }, "pending");

  test("canceled, what has ended since the start is billed, or the call is refused", async () => {
    const { story, subscription, url } = await pending();
    const refused = await story.call("PATCH", url, { status: "canceled" });
    expectError(refused, 422, "unbilled_periods");
    expect((await story.subscription(subscription.id)).status).toBe("pending");
    await story.update(subscription, { status: "canceled", properties: { seats: 1 } });
    expect(await story.totals()).toEqual([1000, 3100, 1000]);
    await story.setStatus(subscription, "active");
    expect(await story.totals()).toEqual([1000, 3100, 1000, 1000]);
  });

  test("with unbilled drop, only what was due at each start is given up", async () => {
    const { story, url } = await pending();
    await story.ok("POST", `${url}/terminate`, { unbilled: "drop" });
    expect(await story.totals()).toEqual([3100, 900]);
    const dropped = (await story.log("subscription.period_dropped")).map(({ payload }) => [
      payload.period_start.slice(0, 10),
      payload.dropped,
    ]);
    expect(dropped.toSorted()).toEqual([
      ["2026-02-01", "due_at_start"],
      ["2026-03-01", "due_at_start"],
    ]);
  });

  test("a trial that is over is not drawn out over the time that was to be paid", async () => {
    const { story, subscription, url } = await missed({ trial_days: 14 }, "active");
    for (const trial_days of [0, 90]) {
      const refused = await story.call("PATCH", url, { trial_days, properties: { seats: 1 } });
      expectError(refused, 422, "validation_error");
    }
    await story.update(subscription, { properties: { seats: 1 } });
    await story.travelTo("2026-03-11");
    expect(await story.totals()).toEqual([1000, 1700, 1000, 3100, 1000]);
  });
});
