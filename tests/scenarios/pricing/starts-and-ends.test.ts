// Starts that lie ahead or in the past, and ends that were said before.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, expectFault, issued, spanned } from "../../support/pricing.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const once = (amount_override_cents: number) =>
  flatFee({ amount_override_cents, invoice_timing: "immediate" });

async function priced(at: string) {
  const story = await sandbox(app, at);
  const metric = await story.metric();
  const plan = await story.plan({ amount_cents: 3100, charges: [perUnit(metric, "1"), once(900)] });
  return { story, metric, plan };
}

const active = async (story: Sandbox) => (await story.get("/v1/analytics")).active_subscriptions;

describe("a start that lies ahead", () => {
  test("P120 is pending, and bills nothing until then", async () => {
    const { story, metric, plan } = await priced("2026-01-01");
    const subscription = await story.subscribe({ plan, starts_at: "2026-01-15T10:30" });
    expect(subscription).toMatchObject({
      status: "pending",
      current_period_start: "2026-01-15T10:30:00.000Z",
      current_period_end: "2026-01-31T23:59:59.999Z",
    });
    expect(await active(story)).toBe(0);
    const { subscriptions } = await story.get("/v1/subscriptions?status=pending");
    expect(subscriptions).toEqual([subscription]);
    await story.travelTo("2026-01-14T12:00");
    expect(await story.invoices()).toEqual([]);
    const early = await story.use(subscription, metric, "1", "2026-01-15T10:29:59.999");
    expect(early.warning).toBe("before_start");
    // One unit is sent ahead of the start, one after it, both for its instant.
    const ahead = await story.use(subscription, metric, "1", "2026-01-15T10:30");
    expect(ahead).toEqual({ accepted: true, duplicate: false });
    await story.travelTo("2026-01-15T10:30");
    await story.use(subscription, metric, "1", "2026-01-15T10:30");
    const again = await story.use(subscription, metric, "1", "2026-01-15T10:29:59.999");
    expect(again.warning).toBe("before_start");
    expect(await active(story)).toBe(1);
    expect((await story.subscription(subscription.id)).status).toBe("active");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 900", "2026-02-01: 1700 200"]);
  });

  test("P121 is ended unbilled, begun at once, and not suspended", async () => {
    const { story, plan } = await priced("2026-01-01");
    const starts_at = "2026-01-20";
    const [terminated, canceled, begun, suspended] = [
      await story.subscribe({ plan, starts_at }),
      await story.subscribe({ plan, starts_at }),
      await story.subscribe({ plan, starts_at }),
      await story.subscribe({ plan, starts_at, external_id: "taken" }),
    ];
    const again = await story.call("POST", "/v1/subscriptions", {
      external_id: "taken",
      plan_id: plan.id,
      customer_id: suspended.customer_id,
    });
    expect([again.status, again.body.error.code]).toEqual([409, "already_exists"]);
    await story.travelTo("2026-01-10");
    expect((await story.terminate(terminated)).status).toBe("terminated");
    expect((await story.setStatus(canceled, "canceled")).status).toBe("canceled");
    expect(await story.setStatus(begun, "active")).toMatchObject({
      status: "active",
      current_period_start: "2026-01-10T00:00:00.000Z",
    });
    for (const refused of [
      await story.call("POST", `/v1/subscriptions/${suspended.id}/suspend`),
      await story.call("PATCH", `/v1/subscriptions/${suspended.id}`, { status: "suspended" }),
    ]) {
      expect([refused.status, refused.body.error.code]).toEqual([422, "not_started"]);
    }
    await story.travelTo("2026-02-01");
    expect(await issued(story, terminated)).toEqual([]);
    expect(await issued(story, canceled)).toEqual([]);
    expect(await issued(story, begun)).toEqual(["2026-01-10: 900", "2026-02-01: 2200"]);
    expect(await issued(story, suspended)).toEqual(["2026-01-20: 900", "2026-02-01: 1200"]);
  });

  // The plan is archived after the subscription was made: it starts, and at the prices of then.
  test("also: is not hindered by an archived plan, and has the prices of its start", async () => {
    const { story, plan } = await priced("2026-01-01");
    const subscription = await story.subscribe({ plan, starts_at: "2026-02-01" });
    await story.travelTo("2026-01-10");
    await story.patch(`/v1/plans/${plan.id}`, { amount_cents: 6200 });
    await story.ok("DELETE", `/v1/plans/${plan.id}`);
    await story.travelTo("2026-03-01");
    expect(await issued(story, subscription)).toEqual(["2026-02-01: 900", "2026-03-01: 6200"]);
  });

  // From 5 January in a trial of 5 days: due at its end, the 10th, and 22 of 31 days.
  test("also: begins its trial then", async () => {
    const { story, plan } = await priced("2026-01-01");
    const subscription = await story.subscribe({
      plan,
      starts_at: "2026-01-05T08:00",
      trial_days: 5,
    });
    expect(subscription).toMatchObject({
      status: "pending",
      trial_ends_at: "2026-01-10T00:00:00.000Z",
      current_period_end: "2026-01-09T23:59:59.999Z",
    });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-10: 900", "2026-02-01: 2200"]);
  });
});

describe("a start in the past", () => {
  test("P122 is taken while its first period is open", async () => {
    const { story, metric, plan } = await priced("2026-01-20");
    const subscription = await story.subscribe({ plan, starts_at: "2026-01-05T08:00" });
    expect(subscription).toMatchObject({
      status: "active",
      started_at: "2026-01-05T08:00:00.000Z",
      current_period_start: "2026-01-05T08:00:00.000Z",
    });
    await story.use(subscription, metric, "4", "2026-01-06");
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-20: 900", "2026-02-01: 2700 400"]);
    expect((await story.totals()).at(-1)).toBe(3100);
  });

  test("P122 is refused when its first period is closed", async () => {
    const { story, plan } = await priced("2026-01-20");
    const yearly = await story.plan({ interval: "yearly", amount_cents: 36_500 });
    const customer = await story.customer();
    const propose = (plan_id: string, starts_at: string, more: Body = {}) =>
      story.call("POST", "/v1/subscriptions", {
        customer_id: customer.id,
        plan_id,
        starts_at,
        ...more,
      });
    const before = "2025-12-31T23:59:59.999Z";
    expectFault(await propose(plan.id, before), "starts_at", "period_closed");
    expectFault(await propose(yearly.id, before), "starts_at", "period_closed");
    // A trial is a first period of its own: this one ended on 10 January.
    const trial = { trial_days: 5 };
    const closed = await propose(plan.id, "2026-01-05T00:00:00.000Z", trial);
    expectFault(closed, "starts_at", "period_closed");
    expect((await story.get("/v1/subscriptions?all=1")).subscriptions).toEqual([]);
    expect((await propose(yearly.id, "2026-01-01T00:00:00.000Z")).status).toBe(201);
  });

  // 27 of 31 days at the price of 5 January, not at that of the 10th; and of a plan made later
  // than the start, at its first.
  test("also: has the prices of that instant, or the plan's first", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    await story.travelTo("2026-01-10");
    await story.patch(`/v1/plans/${plan.id}`, { amount_cents: 6200 });
    await story.travelTo("2026-01-20");
    const later = await story.plan({ amount_cents: 310 });
    const first = await story.subscribe({ plan, starts_at: "2026-01-05" });
    const second = await story.subscribe({ plan: later, starts_at: "2026-01-05" });
    await story.travelTo("2026-03-01");
    expect(await issued(story, first)).toEqual(["2026-02-01: 2700", "2026-03-01: 6200"]);
    expect(await issued(story, second)).toEqual(["2026-02-01: 270", "2026-03-01: 310"]);
  });
});

describe("an end that was said before", () => {
  test("P123 is that of a termination at its instant", async () => {
    const { story, metric } = await priced("2026-01-01");
    const plan = await story.plan({ amount_cents: 3100, charges: [perUnit(metric, "1")] });
    const subscription = await story.subscribe({ plan, ends_at: "2026-01-20T10:00" });
    expect(subscription.ends_at).toBe("2026-01-20T10:00:00.000Z");
    await story.travelTo("2026-01-20T09:00");
    await story.use(subscription, metric, "1", "2026-01-20T09:59:59.999");
    await story.use(subscription, metric, "1", "2026-01-20T10:00");
    await story.travelTo("2026-01-20T12:00");
    expect(await story.subscription(subscription.id)).toMatchObject({
      status: "terminated",
      terminated_at: "2026-01-20T10:00:00.000Z",
    });
    const late = await story.use(subscription, metric, "1", "2026-01-20T10:00");
    expect(late.warning).toBe("after_termination");
    await story.travelTo("2026-04-01");
    expect(await issued(story)).toEqual(["2026-01-20: 2000 100"]);
    expect((await story.invoices()).map(spanned)).toEqual(["2026-01-01 to 2026-01-20: 2000 100"]);
  });

  test("P123 can be cleared and moved", async () => {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    const cleared = await story.subscribe({ plan, ends_at: "2026-01-20T10:00" });
    const moved = await story.subscribe({ plan, ends_at: "2026-01-20T10:00" });
    await story.travelTo("2026-01-10");
    expect((await story.update(cleared, { ends_at: null })).ends_at).toBeNull();
    await story.update(moved, { ends_at: "2026-01-25T00:00:00.000Z" });
    await story.travelTo("2026-02-01");
    expect(await issued(story, cleared)).toEqual(["2026-02-01: 3100"]);
    expect(await issued(story, moved)).toEqual(["2026-01-25: 2400"]);
    expect((await story.subscription(cleared.id)).status).toBe("active");
  });

  test("P124 on a boundary is that period as a whole and nothing of the next", async () => {
    const story = await sandbox(app, "2026-01-01");
    const charges = [
      flatFee({ amount_override_cents: 500 }),
      flatFee({ amount_override_cents: 70, invoice_timing: "advance" }),
    ];
    const ends_at = "2026-02-01";
    const arrears = await story.subscribe({ amount_cents: 3100, charges, ends_at });
    const ahead = { amount_cents: 3100, base_timing: "advance", ends_at };
    const advance = await story.subscribe(ahead);
    await story.travelTo("2026-05-01");
    expect(await issued(story, arrears)).toEqual(["2026-01-01: 70", "2026-02-01: 3100 500"]);
    expect(await issued(story, advance)).toEqual(["2026-01-01: 3100"]);
    for (const { id } of [arrears, advance]) {
      expect(await story.subscription(id)).toMatchObject({
        status: "terminated",
        terminated_at: "2026-02-01T00:00:00.000Z",
      });
    }
    expect(await story.log("subscription.period_renewed")).toEqual([]);
  });

  // The return forgets the end: nothing ends it on 25 January again.
  test("also: is gone after an earlier end and a return", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100, ends_at: "2026-01-25" });
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    await story.travelTo("2026-01-12");
    expect((await story.setStatus(subscription, "active")).ends_at).toBeNull();
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-10: 1000", "2026-02-01: 2000"]);
  });

  // Start and end of one day, 15 January 10:00 to 18:00: the day counts once.
  test("also: may come on the day of the start", async () => {
    const story = await sandbox(app, "2026-01-01");
    const run = { starts_at: "2026-01-15T10:00", ends_at: "2026-01-15T18:00" };
    await story.subscribe({ amount_cents: 3100, ...run });
    await story.travelTo("2026-02-01");
    expect(await issued(story)).toEqual(["2026-01-15: 100"]);
  });
});

describe("what no subscription can run by", () => {
  test.each<[string, Body, string, string?]>([
    ["ends_at in the past", { ends_at: "2026-01-09T00:00:00.000Z" }, "ends_at"],
    ["ends_at now", { ends_at: "2026-01-10T00:00:00.000Z" }, "ends_at"],
    [
      "ends_at at starts_at",
      { starts_at: "2026-01-20T00:00:00.000Z", ends_at: "2026-01-20T00:00:00.000Z" },
      "ends_at",
    ],
    ["ends_at without a zone", { ends_at: "2026-01-20T00:00:00" }, "ends_at"],
    ["starts_at without a zone", { starts_at: "2026-01-20T00:00:00" }, "starts_at"],
    ["an anchor for calendar", { anchor_date: "2026-01-15" }, "anchor_date"],
    ["2026-02-30", { billing_time: "anniversary", anchor_date: "2026-02-30" }, "anchor_date"],
    ["unknown billing_time", { billing_time: "lunar" }, "billing_time", "enum"],
    ["trial_days -1", { trial_days: -1 }, "trial_days", "minimum"],
    ["trial_days 731", { trial_days: 731 }, "trial_days"],
    ["trial_days 1.5", { trial_days: 1.5 }, "trial_days"],
  ])("P125 %s", async (_, fields, field, code) => {
    const { story, plan } = await priced("2026-01-10");
    const { id: customer_id } = await story.customer();
    const sent = { customer_id, plan_id: plan.id, ...fields };
    expectFault(await story.call("POST", "/v1/subscriptions", sent), field, code);
    expect((await story.get("/v1/subscriptions?all=1")).subscriptions).toEqual([]);
    expect(await story.invoices()).toEqual([]);
  });

  test("P125 trial_days outside a trial, and an end that has passed", async () => {
    const { story, plan } = await priced("2026-01-10");
    const made: Json = await story.subscribe({ plan });
    const subscription = await story.subscription(made.id);
    const url = `/v1/subscriptions/${made.id}`;
    expectFault(await story.call("PATCH", url, { trial_days: 3 }), "trial_days");
    for (const ends_at of ["2026-01-10T00:00:00.000Z", "2026-01-09T00:00:00.000Z"]) {
      expectFault(await story.call("PATCH", url, { ends_at }), "ends_at");
    }
    expect(await story.subscription(made.id)).toEqual(subscription);
  });

  test("P125 trial_days of a plan", async () => {
    const { story } = await priced("2026-01-10");
    for (const trial_days of [-1, 731, "7"]) {
      const terms = { code: "x", name: "X", interval: "monthly", amount_currency: "USD" };
      const answer = await story.call("POST", "/v1/plans", { ...terms, trial_days });
      expectFault(answer, "trial_days");
    }
  });
});

describe("a start whose quantity is missing", () => {
  async function lacking(starts_at: string, to: string) {
    const story = await sandbox(app, "2026-01-01");
    const plan = await story.plan({ amount_cents: 3100 });
    const subscription = await story.subscribe({ plan, starts_at });
    const seats = { seats: true, invoice_timing: "advance", amount_override_cents: 1000 };
    await story.patch(`/v1/plans/${plan.id}`, { charges: [flatFee(seats)] });
    await story.travelTo(to);
    return { story, subscription, url: `/v1/subscriptions/${subscription.id}` };
  }

  test("is refused by its field when a caller asks for it now", async () => {
    const { story, url } = await lacking("2026-02-01", "2026-01-10");
    const refused = await story.call("PATCH", url, { status: "active" });
    expectFault(refused, "properties", "unbillable");
    await story.patch(url, { status: "active", properties: { seats: 1 } });
    expect(await story.totals()).toEqual([1000]);
  });

  test.each([{}, { status: "active" }])(
    "begins where it was set, once that is mended (%j)",
    async (more) => {
      const { story, subscription, url } = await lacking("2026-01-05", "2026-01-10");
      expect((await story.subscription(subscription.id)).billing_error).toContain("seats");
      await story.patch(url, { properties: { seats: 1 }, ...more });
      await story.travelTo("2026-01-11");
      expect(await story.subscription(subscription.id)).toMatchObject({
        status: "active",
        started_at: "2026-01-05T00:00:00.000Z",
      });
      await story.travelTo("2026-02-01");
      expect((await story.totals()).slice(0, 2)).toEqual([1000, 2700]);
    },
  );
});
