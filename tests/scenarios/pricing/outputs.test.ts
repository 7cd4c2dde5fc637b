// What is shown of it all: previews that come true, recurring revenue, what is told to others, and
// names that stay.

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import {
  closeSound,
  expectFault,
  graduated,
  issued,
  lines,
  packages,
  percentage,
  proposePlan,
  volume,
} from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

/** A line without its own id, as a preview has it. */
function asPreviewed(fees: readonly Json[]): unknown[] {
  return fees.map(
    ({ fee_type, charge_id, billable_metric_code, units, amount_cents, properties }) => ({
      fee_type,
      charge_id,
      billable_metric_code,
      units,
      amount_cents,
      properties,
    }),
  );
}

describe("a preview", () => {
  test("P180 of the period's end is the invoice to come", async () => {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const subscription = await story.subscribe({
      amount_cents: 3100,
      minimum_cents: 9000,
      properties: { seats: 2 },
      charges: [
        graduated(metric, "<=10 @1, rest @0.337"),
        volume(metric, "<=10 @1 + 3, rest @0.21"),
        packages(metric, "7", "0.99"),
        percentage(metric, "1.37", { fixed_amount: "0.10" }),
        flatFee({
          amount_override_cents: 333,
          seats: true,
          properties: { quantity_mode: "prorated" },
        }),
      ],
    });
    await story.travelTo("2026-01-20");
    await story.update(subscription, { properties: { seats: 3 } });
    for (const value of ["10.5", "3.25", "-0.75"]) await story.use(subscription, metric, value);
    const preview = await story.preview(subscription, "period_end");
    expect(lines(preview)).toEqual([3100, 1101, 273, 198, 48, 795, 3485]);
    expect(preview.total_cents).toBe(9000);
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(lines(invoice)).toEqual([3100, 1101, 273, 198, 48, 795, 3485]);
    expect(invoice.total_cents).toBe(9000);
    expect(asPreviewed(preview.fees)).toEqual(asPreviewed(invoice.fees));
    const { issuing_date, due_date, period_start, period_end } = preview;
    expect(invoice).toMatchObject({ issuing_date, due_date, period_start, period_end });
  });

  /** The totals of what a change would make, and that asking stores nothing. */
  async function foreseen(story: Sandbox, subscription: Json, change: Body) {
    const before = [await story.subscription(subscription.id), await story.invoices()];
    const sent = { subscription_id: `ext:${subscription.external_id}`, ...change };
    const { invoice_preview, next_invoice_previews } = await story.post(
      "/v1/invoices/preview",
      sent,
    );
    expect([await story.subscription(subscription.id), await story.invoices()]).toEqual(before);
    return [invoice_preview, ...next_invoice_previews];
  }
  const totals = (previews: readonly Json[]) => previews.map((preview) => preview.total_cents);

  async function with7Units() {
    const story = await sandbox(app, "2026-01-01");
    const metric = await story.metric();
    const charges = [perUnit(metric, "1")];
    const subscription = await story.subscribe({ amount_cents: 10_000, charges });
    await story.use(subscription, metric, "7");
    await story.travelTo("2026-01-16T12:00");
    return { story, subscription };
  }

  test("P182 of a change now is what the change then bills", async () => {
    const { story, subscription } = await with7Units();
    const plan = await story.plan({ amount_cents: 20_000, base_timing: "advance" });
    const previews = await foreseen(story, subscription, { plan_id: plan.id, at: "now" });
    expect(totals(previews)).toEqual([5539, 10_323, 0]);
    await story.change(subscription, plan);
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual([
      "2026-01-16: 4839 700",
      "2026-01-16: 10323",
      "2026-02-01: 20000",
    ]);
    const [close, start] = await story.invoices();
    expect(asPreviewed(close.fees)).toEqual(asPreviewed(previews[0].fees));
    expect(asPreviewed(start.fees)).toEqual(asPreviewed(previews[1].fees));
  });

  test("P182 of a change at the period's end too", async () => {
    const { story, subscription } = await with7Units();
    const plan = await story.plan({ amount_cents: 6200 });
    const previews = await foreseen(story, subscription, { plan_id: plan.id, at: "period_end" });
    expect(totals(previews)).toEqual([10_700, 6200]);
    await story.change(subscription, plan, { change_at: "period_end" });
    await story.travelTo("2026-03-01");
    expect(await issued(story)).toEqual(["2026-02-01: 10000 700", "2026-03-01: 6200"]);
  });

  test.each([
    {
      at: "now",
      expected: [7839, 1600, 10_000],
      after: ["2026-01-16: 4839 3000", "2026-01-16: 1600", "2026-02-01: 10000", "2026-02-01: 3100"],
    },
    {
      at: "period_end",
      expected: [15_000, 3100, 10_000],
      after: [
        "2026-02-01: 10000 5000",
        "2026-02-01: 3100",
        "2026-03-01: 10000",
        "2026-03-01: 3100",
      ],
    },
  ])("P190 of a change with quantity and own prices, $at", async ({ at, expected, after }) => {
    const story = await sandbox(app, "2026-01-01");
    const seats = (amount_override_cents: number) =>
      flatFee({ amount_override_cents, seats: true });
    const before = await story.plan({ amount_cents: 10_000, charges: [seats(1000)] });
    const dearer = { amount_cents: 20_000, base_timing: "advance", charges: [seats(2000)] };
    const plan = await story.plan(dearer);
    const subscription = await story.subscribe({ plan: before, properties: { seats: 3 } });
    await story.travelTo("2026-01-16T12:00");
    const more = { properties: { seats: 5 }, overrides: { amount_cents: 3100 } };
    const previews = await foreseen(story, subscription, { plan_id: plan.id, at, ...more });
    expect(totals(previews)).toEqual(expected);
    await story.change(subscription, plan, { change_at: at, ...more });
    await story.travelTo(at === "now" ? "2026-02-01" : "2026-03-01");
    expect(await issued(story)).toEqual(after);
  });

  // 3100 in advance: the change on 16 January gives 1600 back, and the start of the new plan,
  // 16/31 of 6200, is due less that credit.
  test("also: each sees the credit that those before it leave", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 6200, base_timing: "advance" });
    const subscription = await story.subscribe({ amount_cents: 3100, base_timing: "advance" });
    await story.travelTo("2026-01-16T12:00");
    const previews = await foreseen(story, subscription, { plan_id: plan.id });
    expect(
      previews.map(({ subtotal_cents, amount_due_cents }) => [subtotal_cents, amount_due_cents]),
    ).toEqual([
      [-1600, 0],
      [3200, 1600],
      [0, 0],
    ]);
  });

  test("also: in a trial it is 0, and before the start it is refused", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    const trial = await story.subscribe({ plan, trial_days: 10 });
    for (const at of ["now", "period_end"] as const) {
      expect((await story.preview(trial, at)).total_cents).toBe(0);
    }
    const pending = await story.subscribe({ plan, starts_at: "2026-01-20" });
    const sent = { subscription_id: pending.id, at: "now" };
    const refused = await story.call("POST", "/v1/invoices/preview", sent);
    expect([refused.status, refused.body.error.code]).toEqual([422, "not_started"]);
  });
});

test("P183 recurring revenue is what a full period bills without usage", async () => {
  const story = await sandbox(app, "2026-01-01");
  const metric = await story.metric();
  const seen: number[][] = [];
  const look = async () => {
    const { mrr_cents, active_subscriptions } = await story.get("/v1/analytics");
    seen.push([mrr_cents, active_subscriptions]);
  };
  await story.subscribe({ amount_cents: 1000, minimum_cents: 5000 });
  await look();
  const charges = [perUnit(metric, "1", { minimum_cents: 700 })];
  await story.subscribe({ amount_cents: 1000, charges });
  await look();
  await story.subscribe({ interval: "yearly", amount_cents: 1200, minimum_cents: 120_000 });
  await look();
  const trial = await story.subscribe({ amount_cents: 3000, trial_days: 10 });
  await look();
  await story.subscribe({ amount_cents: 9000, starts_at: "2026-02-20" });
  await look();
  const own = await story.subscribe({ amount_cents: 9000, overrides: { amount_cents: 400 } });
  await look();
  const seats = [flatFee({ amount_override_cents: 100, seats: true })];
  const seated = await story.subscribe({ charges: seats, properties: { seats: 3 } });
  await look();
  await story.update(seated, { properties: { seats: 5 } });
  await look();
  await story.change(own, await story.plan({ amount_cents: 1400 }));
  await look();
  await story.travelTo("2026-01-11");
  await look();
  await story.suspend(trial);
  await look();
  expect(seen).toEqual([
    [5000, 1],
    [6700, 2],
    [16_700, 3],
    [16_700, 4],
    [16_700, 4],
    [17_100, 5],
    [17_400, 6],
    [17_600, 6],
    [18_600, 6],
    [21_600, 6],
    [18_600, 5],
  ]);
});

test("P184 every turn of a subscription is logged and told at its instant", async () => {
  const story = await sandbox(app, "2026-01-01");
  const [first, second] = [await story.plan({ amount_cents: 3100 }), await story.plan()];
  const run = { starts_at: "2026-01-05T08:00", trial_days: 5, external_id: "acme" };
  const subscription = await story.subscribe({ plan: first, ...run });
  await story.travelTo("2026-01-20T10:00");
  await story.change(subscription, second);
  await story.change(subscription, first, { change_at: "period_end" });
  await story.update(subscription, { ends_at: "2026-03-10T00:00:00.000Z" });
  await story.travelTo("2026-04-01");
  const turns: [string, string[]][] = [
    ["subscription.started", ["2026-01-05T08:00:00.000Z"]],
    ["subscription.trial_ended", ["2026-01-10T00:00:00.000Z"]],
    ["subscription.plan_changed", ["2026-01-20T10:00:00.000Z", "2026-02-01T00:00:00.000Z"]],
    [
      "subscription.period_renewed",
      [
        "2026-01-10T00:00:00.000Z",
        "2026-01-20T10:00:00.000Z",
        "2026-02-01T00:00:00.000Z",
        "2026-03-01T00:00:00.000Z",
      ],
    ],
    ["subscription.terminated", ["2026-03-10T00:00:00.000Z"]],
  ];
  for (const [type, instants] of turns) {
    const logged = await story.log(type);
    expect([type, logged.map((each) => each.created_at)]).toEqual([type, instants]);
    // The feed shows a message once no older write is under way.
    const told = await vi.waitFor(
      async () => {
        const { webhook_messages } = await story.get("/v1/webhook-messages?all=1");
        const found = webhook_messages.filter(({ event }: Json) => event === type);
        expect(found).toHaveLength(instants.length);
        return found.map(({ body }: Json) => JSON.parse(body));
      },
      { timeout: 10_000, interval: 20 },
    );
    for (const { data } of told) {
      const { id, customer_id } = subscription;
      expect(data.subscription).toMatchObject({ id, external_id: "acme" });
      expect(data.customer).toMatchObject({ id: customer_id });
    }
    if (type !== "subscription.plan_changed") continue;
    expect(
      told.map(({ data }: Json) => [data.subscription.plan_code, data.previous_plan_code]),
    ).toEqual([
      [second.code, first.code],
      [first.code, second.code],
    ]);
  }
});

// By the same rule: the log keeps `canceled` for that one, endpoints hear that it ended.
test("also: a canceled subscription is told as terminated", async () => {
  const story = await sandbox(app, "2026-01-01");
  const subscription = await story.subscribe();
  await story.setStatus(subscription, "canceled");
  expect(await story.log("subscription.canceled")).toHaveLength(1);
  expect(await story.log("subscription.terminated")).toEqual([]);
  await vi.waitFor(async () => {
    const { webhook_messages } = await story.get("/v1/webhook-messages?all=1");
    const [told] = webhook_messages.filter(
      ({ event }: Json) => event === "subscription.terminated",
    );
    expect(JSON.parse(told.body).data.subscription).toMatchObject({ status: "canceled" });
  });
});

test("P189 every fee keeps what documents call it", async () => {
  const story = await sandbox(app, "2026-01-01");
  const m = await story.metric("sum", { name: "Messages" });
  const n = await story.metric("sum", { name: "Notes" });
  const item = await story.item({ name: "Desk", amount_cents: 700 });
  const desk = flatFee({ catalog_item_code: item.code });
  const plan = await story.plan({
    name: "Pro plan",
    amount_cents: 3100,
    minimum_cents: 9000,
    charges: [
      { ...perUnit(m, "1", { minimum_cents: 500 }), name: "API calls" },
      perUnit(n, "1"),
      desk,
      { ...desk, name: "Support" },
    ],
  });
  expect(plan.charges.map((charge: Json) => charge.name)).toEqual([
    "API calls",
    null,
    null,
    "Support",
  ]);
  const subscription = await story.subscribe({ plan });
  await story.use(subscription, m, "2");
  await story.use(subscription, n, "3");
  await story.travelTo("2026-02-03");
  const [january] = await story.invoices();
  await story.post("/v1/catalog", { code: item.code, name: "Renamed", amount_cents: 700 });
  await story.use(subscription, m, "4", "2026-01-20");
  await story.travelTo("2026-03-01");
  const [again, february] = await story.invoices();
  expect(again.fees).toEqual(january.fees);
  const named = (invoice: Json) =>
    invoice.fees
      .filter((fee: Json) => fee.amount_cents !== 0)
      .map((fee: Json) => `${fee.properties.name} ${fee.amount_cents}`);
  expect(named(again)).toEqual([
    "Pro plan 3100",
    "API calls 200",
    "API calls 300",
    "Notes 300",
    "Desk 700",
    "Support 700",
    "Pro plan 3700",
  ]);
  expect(named(february)).toEqual([
    "Pro plan 3100",
    "API calls 500",
    "Renamed 700",
    "Support 700",
    "Pro plan 4000",
    "API calls 400",
    "API calls -300",
    "Pro plan -100",
  ]);
  const long = (length: number) => [{ ...perUnit(m, "1"), name: "x".repeat(length) }];
  expectFault(await proposePlan(story, long(256)), "charges[0].name");
  expect((await proposePlan(story, long(255))).status).toBe(201);
});
