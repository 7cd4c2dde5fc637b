// Events that come twice, and events that come after their period was billed.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { fees, perUnit, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const FRESH = { accepted: true, duplicate: false };
const REPEAT = { accepted: true, duplicate: true };
const MISMATCH = { ...REPEAT, warning: "payload_mismatch" };

async function metered(at: string, { rate = "0.10", type = "sum", amount_cents = 0 } = {}) {
  const story = await sandbox(app, at);
  const metric = await story.metric(type);
  const plan = await story.plan({ amount_cents, charges: [perUnit(metric, rate)] });
  const subscription = await story.subscribe({ plan });
  return { story, metric, plan, subscription };
}

/** January 2026 with 100 units, closed and billed 1000; the clock stands on 3 February. */
async function afterJanuary(type = "sum") {
  const told = await metered("2026-01-01", { type });
  await told.story.use(told.subscription, told.metric, "100", "2026-01-01T12:00");
  await told.story.travelTo("2026-02-03");
  expect(await told.story.totals()).toEqual([1000]);
  return told;
}

const JANUARY = { period_start: "2026-01-01", period_end: "2026-01-31" };

describe("a transaction_id", () => {
  test("counts once, however often it is sent (S71)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    const event = story.usage(subscription, metric, "100", "2026-01-01T12:00");
    expect(await story.post("/v1/events", event)).toEqual(FRESH);
    expect(await story.post("/v1/events", event)).toEqual(REPEAT);
    expect(await story.post("/v1/events", event)).toEqual(REPEAT);
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([1000]);
  });

  test("counts once when a hundred copies come at once (S72)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    const event = story.usage(subscription, metric, "100", "2026-01-01T12:00");
    const answers: Json[] = await Promise.all(
      Array.from({ length: 100 }, () => story.post("/v1/events", event)),
    );
    expect(answers.filter((answer) => answer.duplicate === false)).toEqual([FRESH]);
    expect(answers.filter((answer) => answer.duplicate === true)).toHaveLength(99);
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([1000]);
  });

  test("of the first copy wins over one with other content, and says so (R11)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    const event = story.usage(subscription, metric, "100", "2026-01-01T12:00");
    await story.post("/v1/events", event);
    expect(await story.post("/v1/events", { ...event, value: "900" })).toEqual({
      ...REPEAT,
      warning: "payload_mismatch",
    });
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([1000]);
  });

  test("of an archived metric, sent again unchanged, is a repeat without a warning", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    const unpriced = await story.metric();
    const event = story.usage(subscription, unpriced, "100", "2026-01-01T12:00");
    await story.post("/v1/events", event);
    expect((await story.call("DELETE", `/v1/metrics/${unpriced.id}`)).status).toBe(204);
    expect(await story.post("/v1/events", event)).toEqual(REPEAT);
    for (const other of [{ value: "900" }, { code: metric.code }, { code: "nothing" }]) {
      expect(await story.post("/v1/events", { ...event, ...other })).toEqual(MISMATCH);
    }
  });

  test("by an external_id that is another's now, sent again unchanged, is a repeat", async () => {
    const { story, metric, plan } = await metered("2026-01-01");
    const first = await story.subscribe({ plan, external_id: "acme-pro" });
    const event = story.usage({ id: "ext:acme-pro" }, metric, "100", "2026-01-01T00:00");
    await story.post("/v1/events", event);
    await story.travelTo("2026-01-02");
    await story.terminate(first);
    const second = await story.subscribe({ plan, external_id: "acme-pro" });
    expect(await story.post("/v1/events", event)).toEqual(REPEAT);
    expect(await story.post("/v1/events", { ...event, subscription_id: first.id })).toEqual(REPEAT);
    for (const subscription_id of [second.id, "ext:nobody"]) {
      expect(await story.post("/v1/events", { ...event, subscription_id })).toEqual(MISMATCH);
    }
  });

  test("belongs to its project (S74)", async () => {
    const first = await metered("2026-01-01");
    const second = await metered("2026-01-01");
    for (const { story, metric, subscription } of [first, second]) {
      const event = { ...story.usage(subscription, metric, "100"), transaction_id: "shared" };
      expect(await story.post("/v1/events", event)).toEqual(FRESH);
      await story.travelTo("2026-02-01");
      expect(await story.totals()).toEqual([1000]);
    }
  });

  test("is remembered for ever (S142)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    const event = story.usage(subscription, metric, "100", "2026-01-01T12:00");
    await story.post("/v1/events", event);
    await story.travelTo("2027-02-05T12:00");
    expect(await story.post("/v1/events", event)).toEqual(REPEAT);
    await story.travelTo("2027-06-01");
    expect(await story.totals()).toEqual([1000]);
  });
});

test("a batch commits the good events and names the others by index (S83)", async () => {
  const { story, metric, subscription } = await metered("2026-01-01");
  const earlier = Array.from({ length: 3 }, () => story.usage(subscription, metric, "1"));
  for (const event of earlier) await story.post("/v1/events", event);
  const fresh = Array.from({ length: 4 }, () => story.usage(subscription, metric, "10"));
  const events = [
    fresh[0],
    { ...story.usage(subscription, metric, "1"), code: "no-such-metric" },
    ...earlier,
    fresh[1],
    story.usage(subscription, metric, "one"),
    fresh[0],
    fresh[2],
    { value: "1" },
    fresh[3],
    fresh[2],
  ];
  const answer = await story.post("/v1/events/batch", { events });
  expect(answer).toMatchObject({ accepted: 4, duplicates: 5, refused: 3 });
  const at = (wanted: (result: Json) => boolean) =>
    answer.results.filter(wanted).map((result: Json) => result.index);
  expect(at((result) => result.error !== undefined)).toEqual([1, 6, 9]);
  expect(at((result) => result.duplicate)).toEqual([2, 3, 4, 7, 11]);
  expect(at((result) => result.accepted && !result.duplicate)).toEqual([0, 5, 8, 10]);
  expect(answer.results[1].error.code).toBe("not_found");
  expect(answer.results[6].error.code).toBe("validation_error");
  await story.travelTo("2026-02-01");
  expect(await story.invoices()).toMatchObject([{ fees: [{ units: "43", amount_cents: 430 }] }]);
});

describe("late usage", () => {
  test("is billed by the next invoice, as a line that names its period (S76)", async () => {
    const { story, metric, subscription } = await afterJanuary();
    expect(await story.use(subscription, metric, "20", "2026-01-20")).toEqual(FRESH);
    await story.use(subscription, metric, "50", "2026-02-03");
    expect(await story.totals()).toEqual([1000]);
    await story.travelTo("2026-03-01");
    const [, february, ...others] = await story.invoices();
    expect(others).toEqual([]);
    expect(february.total_cents).toBe(700);
    expect(fees(february, "charge")).toMatchObject([{ units: "50", amount_cents: 500 }]);
    const [line, ...lines] = fees(february, "adjustment");
    expect(lines).toEqual([]);
    expect(line).toMatchObject({ units: "20", amount_cents: 200, properties: JANUARY });
    await story.travelTo("2026-06-01");
    expect(await story.totals()).toEqual([1000, 700]);
  });

  test("for a greatest value bills only what it raises (S77)", async () => {
    const raised = await afterJanuary("max");
    await raised.story.use(raised.subscription, raised.metric, "150", "2026-01-20");
    await raised.story.travelTo("2026-03-01");
    const [, february] = await raised.story.invoices();
    expect(february).toMatchObject({ total_cents: 500 });
    expect(fees(february, "adjustment")).toMatchObject([{ amount_cents: 500 }]);

    const below = await afterJanuary("max");
    expect(await below.story.use(below.subscription, below.metric, "80", "2026-01-20")).toEqual(
      FRESH,
    );
    await below.story.travelTo("2026-04-01");
    expect(await below.story.totals()).toEqual([1000]);
  });

  test("of a value that was counted before adds nothing to distinct values (R10)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01", {
      type: "count_unique",
      rate: "1.50",
    });
    await story.use(subscription, metric, "ann", "2026-01-01T12:00");
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "ann", "2026-01-20");
    await story.use(subscription, metric, "bob", "2026-01-20");
    await story.use(subscription, metric, "ann", "2026-02-02");
    await story.travelTo("2026-03-01");
    const [, february] = await story.invoices();
    expect(fees(february, "charge")).toMatchObject([{ units: "1", amount_cents: 150 }]);
    expect(fees(february, "adjustment")).toMatchObject([{ units: "1", amount_cents: 150 }]);
  });

  test("is billed for the last two closed periods, and beyond them said not to be (S80)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    await story.travelTo("2026-04-03");
    expect(await story.use(subscription, metric, "1000", "2026-01-15")).toEqual({
      ...FRESH,
      warning: "late_unbilled",
    });
    expect(await story.use(subscription, metric, "10", "2026-02-15")).toEqual(FRESH);
    await story.travelTo("2026-08-01");
    const [april, ...others] = await story.invoices();
    expect(others).toEqual([]);
    expect(april).toMatchObject({
      total_cents: 100,
      issuing_date: "2026-05-01",
      period_start: "2026-04-01",
    });
    expect(fees(april, "adjustment")).toMatchObject([
      {
        units: "10",
        amount_cents: 100,
        properties: { period_start: "2026-02-01", period_end: "2026-02-28" },
      },
    ]);
    const { events } = await story.get("/v1/events?state=unbillable");
    expect(events).toMatchObject([{ value: "1000", reason: "late_unbilled" }]);
  });

  test("of a terminated subscription gets an invoice of its own (S81)", async () => {
    const { story, metric, subscription } = await metered("2026-02-01");
    await story.use(subscription, metric, "100", "2026-02-01T12:00");
    await story.travelTo("2026-02-10");
    await story.terminate(subscription);
    expect(await story.use(subscription, metric, "20", "2026-02-05")).toEqual(FRESH);
    await story.travelTo("2026-04-01");
    const [final, supplement, ...others] = await story.invoices();
    expect(others).toEqual([]);
    expect(final.total_cents).toBe(1000);
    expect(supplement).toMatchObject({ total_cents: 200, subscription_id: subscription.id });
    expect(supplement.fees).toMatchObject([
      {
        fee_type: "adjustment",
        units: "20",
        amount_cents: 200,
        properties: { period_start: "2026-02-01", period_end: "2026-02-09" },
      },
    ]);
  });

  test("of a period that had no invoice is billed alone (S139)", async () => {
    const { story, metric, subscription } = await metered("2026-01-01");
    await story.travelTo("2026-02-03");
    expect(await story.invoices()).toEqual([]);
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.travelTo("2026-03-01");
    const [february, ...others] = await story.invoices();
    expect(others).toEqual([]);
    expect(february.total_cents).toBe(200);
    expect(fees(february, "adjustment")).toMatchObject([
      { units: "20", amount_cents: 200, properties: JANUARY },
    ]);
  });

  test("is rated at the prices of its own period (R10)", async () => {
    const { story, metric, plan, subscription } = await afterJanuary();
    await story.patch(`/v1/plans/${plan.id}`, { charges: [perUnit(metric, "9")] });
    await story.travelTo("2026-03-02");
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.use(subscription, metric, "2", "2026-03-02");
    await story.travelTo("2026-04-01");
    const march = (await story.invoices()).at(-1);
    expect(fees(march, "charge")).toMatchObject([{ units: "2", amount_cents: 1800 }]);
    expect(fees(march, "adjustment")).toMatchObject([{ units: "20", amount_cents: 200 }]);
  });

  test("is on the final invoice when the subscription ends first (R10)", async () => {
    const { story, metric, subscription } = await afterJanuary();
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.use(subscription, metric, "50", "2026-02-03");
    await story.travelTo("2026-02-04");
    await story.terminate(subscription);
    const [, final] = await story.invoices();
    expect(final).toMatchObject({ total_cents: 700, issuing_date: "2026-02-04" });
    await story.travelTo("2026-05-01");
    expect(await story.totals()).toEqual([1000, 700]);
  });

  test("that outweighs everything else leaves a total of 0 and a credit (R10, R12)", async () => {
    const { story, metric, subscription } = await afterJanuary();
    await story.use(subscription, metric, "-60", "2026-01-20");
    await story.use(subscription, metric, "10", "2026-02-03");
    await story.travelTo("2026-03-02");
    await story.use(subscription, metric, "80", "2026-03-02");
    await story.travelTo("2026-04-01");
    const [, february, march] = await story.invoices();
    expect(february).toMatchObject({
      subtotal_cents: -500,
      total_cents: 0,
      amount_due_cents: 0,
      status: "succeeded",
      payment_status: "succeeded",
    });
    expect(fees(february, "adjustment")).toMatchObject([{ units: "-60", amount_cents: -600 }]);
    expect(march).toMatchObject({
      total_cents: 800,
      credit_applied_cents: 500,
      amount_due_cents: 300,
      status: "outstanding",
    });
  });
});

/** What was billed for January in all, over every invoice. */
async function billedForJanuary(story: Sandbox): Promise<number> {
  const invoices = await story.invoices();
  const lines = invoices.flatMap((invoice) =>
    invoice.fees.filter((fee: Json) =>
      fee.fee_type === "adjustment"
        ? fee.properties.period_start === JANUARY.period_start
        : invoice.period_start === JANUARY.period_start,
    ),
  );
  return lines.reduce((sum, fee) => sum + fee.amount_cents, 0);
}

describe("corrections add up to one fee for all of the usage, in any order of arrival (R10)", () => {
  // 3.7 + 0.1 + 41.3 - 20 + 0.4 + 7.7 = 33.2 units at 0.033: 109.56 cents.
  const VALUES = ["3.7", "0.1", "41.3", "-20", "0.4", "7.7"];
  const ARRIVALS = ["2026-01-31T10:00", "2026-02-02", "2026-02-27", "2026-03-01", "2026-03-31"];

  test.each([
    [[0, 1, 2, 3, 4, 5], 0],
    [[5, 4, 3, 2, 1, 0], 1],
    [[3, 0, 5, 1, 2, 4], 2],
    [[2, 5, 3, 0, 4, 1], 3],
    [[4, 1, 3, 2, 0, 5], 4],
  ])("order %j, shifted by %i", async (order, shift) => {
    const { story, metric, subscription } = await metered("2026-01-01", { rate: "0.033" });
    // Neighbours share a time of arrival; the shift moves who comes before the close.
    const times = order.map((_, i) => ARRIVALS[Math.min(ARRIVALS.length - 1, (i + shift) >> 1)]);
    for (const [i, index] of order.entries()) {
      await story.travelTo(times[i] ?? "2026-03-31");
      await story.use(subscription, metric, VALUES[index] ?? "", "2026-01-31T09:00");
    }
    await story.travelTo("2026-05-01");
    expect(await billedForJanuary(story)).toBe(110);
  });
});
