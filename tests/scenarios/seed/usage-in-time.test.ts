// Which events count in which period, and which are refused without a trace.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, sharedApp } from "../../support/app.ts";
import { fees, perUnit, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

async function metered(at: string, rate: string, amount_cents = 0, type = "sum") {
  const story = await sandbox(app, at);
  const metric = await story.metric(type);
  const charges = [perUnit(metric, rate)];
  const plan = await story.plan({ amount_cents, charges });
  const subscription = await story.subscribe({ plan });
  return { story, metric, plan, subscription };
}

/** Refused, and then accepted under the same transaction_id once it is right. */
async function refusedAndFree(story: Sandbox, bad: Body, good: Body, status: number) {
  const transaction_id = `once-${JSON.stringify(bad).length}-${JSON.stringify(bad)}`.slice(0, 200);
  const refused = await story.call("POST", "/v1/events", { ...bad, transaction_id });
  expect(refused.status, JSON.stringify(bad)).toBe(status);
  const accepted = await story.post("/v1/events", { ...good, transaction_id });
  expect(accepted).toEqual({ accepted: true, duplicate: false });
}

describe("an event counts", () => {
  test("in the period that holds its instant (S53)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01", "1.00");
    await story.travelTo("2026-01-31T23:00");
    await story.use(subscription, metric, "1", "2026-01-31T23:59:59.999");
    await story.use(subscription, metric, "1", "2026-02-01");
    await story.travelTo("2026-03-01");
    expect(await story.totals()).toEqual([100, 100]);
  });

  test("by its instant, whatever offset it was written with (R7)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01", "1.00");
    await story.travelTo("2026-01-31T23:00");
    await story.use(subscription, metric, "1", "2026-02-01T01:59:59.999+02:00");
    await story.travelTo("2026-03-01");
    const [invoice, ...others] = await story.invoices();
    expect(others).toEqual([]);
    expect(invoice).toMatchObject({ total_cents: 100, period_end: "2026-01-31" });
  });

  test("from the millisecond of the start, not before (S55)", async () => {
    const { story, metric, subscription } = await metered("2026-01-15T10:30", "1");
    const early = { accepted: true, duplicate: false, warning: "before_start" };
    expect(await story.use(subscription, metric, "8", "2026-01-15T10:00")).toEqual(early);
    expect(await story.use(subscription, metric, "4", "2026-01-15T10:29:59.999")).toEqual(early);
    expect(await story.use(subscription, metric, "1", "2026-01-15T10:30")).toEqual({
      accepted: true,
      duplicate: false,
    });
    await story.travelTo("2026-03-01");
    expect(await story.totals()).toEqual([100]);
    const { events } = await story.get("/v1/events?state=unbillable");
    expect(events.map((event: Json) => event.reason)).toEqual(["before_start", "before_start"]);
  });

  test("to the last millisecond of a leap day (S135)", async () => {
    const { story, metric, subscription } = await metered("2028-02-01", "1", 2900);
    await story.travelTo("2028-02-29T12:00");
    await story.use(subscription, metric, "1", "2028-02-29T23:59:59.999");
    await story.use(subscription, metric, "2", "2028-03-01");
    await story.travelTo("2028-04-01");
    expect(await story.totals()).toEqual([3000, 3100]);
  });

  test("while the subscription is suspended (S66)", async () => {
    const { story, metric, subscription } = await metered("2026-04-01", "1", 3000);
    await story.travelTo("2026-04-11");
    await story.suspend(subscription);
    await story.travelTo("2026-04-15");
    expect(await story.use(subscription, metric, "7")).toEqual({
      accepted: true,
      duplicate: false,
    });
    await story.travelTo("2026-05-01");
    // Ten active days of thirty, and all of the usage.
    expect(await story.totals()).toEqual([1700]);
  });

  test("against a charge only in periods that started with it (S62)", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const plan = await story.plan({ amount_cents: 100 });
    const subscription = await story.subscribe({ plan });
    await story.travelTo("2026-01-20");
    await story.post(`/v1/plans/${plan.id}/charges`, perUnit(metric, "2"));
    await story.use(subscription, metric, "3", "2026-01-19");
    await story.travelTo("2026-01-25");
    await story.use(subscription, metric, "5");
    await story.travelTo("2026-02-10");
    await story.use(subscription, metric, "7");
    await story.travelTo("2026-03-01");
    expect(await story.totals()).toEqual([100, 1500]);
  });
});

describe("a value that is no decimal is refused and its transaction_id stays free", () => {
  test.each(["sum", "max", "latest"])("for %s (S67)", async (type) => {
    const { story, metric, subscription } = await metered("2026-01-01", "1", 0, type);
    const good = story.usage(subscription, metric, "1");
    for (const value of ["abc", "1e3", "", "NaN", "Infinity", "0x10", "1,5", "--1"]) {
      await refusedAndFree(story, { ...good, value }, good, 422);
    }
    await refusedAndFree(story, { ...good, properties: { units: "1e3" } }, good, 422);
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([type === "sum" ? 900 : 100]);
  });
});

test("an unknown metric or subscription, also of another project, leaves nothing behind (S68)", async () => {
  const { story, metric, subscription } = await metered("2026-01-01", "1");
  const other = await metered("2026-01-01", "1");
  const good = story.usage(subscription, metric, "1");
  const unknown = "00000000-0000-4000-8000-000000000000";
  await refusedAndFree(story, { ...good, code: "no-such-metric" }, good, 404);
  await refusedAndFree(story, { ...good, subscription_id: unknown }, good, 404);
  await refusedAndFree(story, { ...good, subscription_id: "ext:nobody" }, good, 404);
  await refusedAndFree(story, { ...good, subscription_id: other.subscription.id }, good, 404);
  await story.travelTo("2026-02-01");
  expect(await story.totals()).toEqual([400]);
  await other.story.travelTo("2026-02-01");
  expect(await other.story.totals()).toEqual([]);
});

test("a timestamp is a full, real instant at most a day ahead (S131)", async () => {
  const { story, metric, subscription } = await metered("2026-01-01", "1");
  await story.travelTo("2026-01-31T12:00");
  const good = story.usage(subscription, metric, "1", "2026-02-01T11:59:59");
  for (const timestamp of [
    "2026-02-01T12:00:01.000Z",
    "2026-01-31T11:00:00.000",
    "2026-02-30T00:00:00.000Z",
    "2026-01-31",
  ]) {
    await refusedAndFree(story, { ...good, timestamp }, good, 422);
  }
  await story.travelTo("2026-03-01");
  const [february, ...others] = await story.invoices();
  expect(others).toEqual([]);
  expect(february).toMatchObject({ total_cents: 400, period_start: "2026-02-01" });
});

describe("what is shown beforehand is what is billed", () => {
  test("running usage never falls while events come in, and the close bills it (S69)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01", "0.01");
    const sending = Array.from({ length: 60 }, () => story.use(subscription, metric, "1"));
    const seen: number[] = [];
    let running = true;
    const all = Promise.all(sending).finally(() => {
      running = false;
    });
    while (running) {
      const { charges } = await story.runningUsage(subscription);
      seen.push(Number(charges[0].units));
    }
    await all;
    const { charges } = await story.runningUsage(subscription);
    seen.push(Number(charges[0].units));
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(charges[0]).toMatchObject({ units: "60", amount_cents: 60, events: 60 });
    const portal = await story.get(`/v1/portal/${subscription.customer_id}?refresh=1`);
    expect(portal.subscriptions[0].usage).toMatchObject([
      { code: metric.code, units: "60", amount_cents: 60 },
    ]);
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([60]);
  });

  test.each(["sum", "count", "count_unique", "max", "latest"])(
    "for a %s the usage shown equals the fee, and the preview equals the invoice (R7)",
    async (type) => {
      const { story, metric, subscription } = await metered("2026-01-15", "0.015", 3100, type);
      await story.travelTo("2026-01-31T20:00");
      for (const [value, day] of [
        ["10.5", "17"],
        ["99.25", "20"],
        ["10.5", "20"],
        ["-3", "31"],
        ["12.125", "30"],
      ] as const) {
        await story.use(subscription, metric, value, `2026-01-${day}T08:00`);
      }
      // Sent ahead for the next period: in neither figure.
      await story.use(subscription, metric, "1000", "2026-02-01T08:00");
      const usage = await story.runningUsage(subscription);
      const { fees: lines, ...shown } = await story.preview(subscription, "period_end");
      await story.travelTo("2026-02-01");
      const [invoice] = await story.invoices();

      const [line] = fees(invoice, "charge");
      expect(usage.charges).toMatchObject([
        { units: line.units, amount_cents: line.amount_cents, charge_id: line.charge_id },
      ]);
      expect(invoice).toMatchObject(shown);
      expect(invoice.fees.map(({ id: _id, ...fee }: Json) => fee)).toEqual(lines);
      const sum = lines.reduce((total: number, fee: Json) => total + fee.amount_cents, 0);
      expect(invoice.total_cents).toBe(sum);
    },
  );
});
