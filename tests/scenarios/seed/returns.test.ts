// What becomes of a subscription that has ended when it is asked for again.

import { beforeAll, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { flatFee, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

describe("reactivation", () => {
  test("onto an archived plan is refused and changes nothing (S124)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const plan = await story.plan({ amount_cents: 3000 });
    const subscription = await story.subscribe({ plan });
    const ended = await story.terminate(subscription);
    expect((await story.call("DELETE", `/v1/plans/${plan.id}`)).status).toBe(204);
    const url = `/v1/subscriptions/${subscription.id}`;
    const refused = await story.call("PATCH", url, { status: "active" });
    expect([refused.status, refused.body.error.code]).toEqual([422, "plan_archived"]);
    expect(await story.subscription(subscription.id)).toEqual(ended);
  });

  test("into an external_id that another live one has is refused (S124)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const plan = await story.plan({ amount_cents: 3000 });
    const first = await story.subscribe({ plan, external_id: "acme-pro" });
    const ended = await story.terminate(first);
    await story.subscribe({ plan, external_id: "acme-pro" });
    const url = `/v1/subscriptions/${first.id}`;
    const refused = await story.call("PATCH", url, { status: "active" });
    expect([refused.status, refused.body.error.code]).toEqual([409, "already_exists"]);
    expect(await story.subscription(first.id)).toEqual(ended);
  });

  test("opens a period from now and bills nothing for the gap (R4)", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-10");
    await story.terminate(subscription);
    await story.travelTo("2026-04-21T08:00");
    const back = await story.setStatus(subscription, "active");
    expect(back).toMatchObject({
      status: "active",
      terminated_at: null,
      current_period_start: "2026-04-21T08:00:00.000Z",
      current_period_end: "2026-04-30T23:59:59.999Z",
    });
    await story.travelTo("2026-06-01");
    expect(await story.totals()).toEqual([900, 1000, 3000]);
  });
});

describe("a return on the day of the end", () => {
  test.each(["arrears", "advance"])("bills that day once, base in %s (R4)", async (base_timing) => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100, base_timing });
    await story.travelTo("2026-01-15T10:00");
    await story.terminate(subscription);
    await story.setStatus(subscription, "active");
    await story.terminate(subscription);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    const lines = (await story.invoices())
      .filter(({ period_start }) => period_start < "2026-02-01")
      .flatMap(({ fees: all }) => all.map((fee: Json) => fee.amount_cents));
    expect(lines.reduce((sum: number, cents: number) => sum + cents, 0)).toBe(3100);
  });

  test("bills a flat fee again: each period that starts has it", async () => {
    const story = await sandbox(app, "2026-01-01");
    const charges = [flatFee({ amount_override_cents: 500 })];
    const subscription = await story.subscribe({ amount_cents: 3100, charges });
    await story.travelTo("2026-01-15T10:00");
    await story.terminate(subscription);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([1500 + 500, 1600 + 500]);
  });

  test.each(["canceled", "at midnight", "without a bill"])(
    "bills that day where the end has not (%s)",
    async (how) => {
      const story = await sandbox(app, "2026-01-01");
      const subscription = await story.subscribe({ amount_cents: 3100 });
      await story.travelTo(how === "at midnight" ? "2026-01-15" : "2026-01-15T10:00");
      if (how === "canceled") await story.setStatus(subscription, "canceled");
      else await story.terminate(subscription, how === "at midnight" ? {} : { invoice: "skip" });
      await story.setStatus(subscription, "active");
      await story.travelTo("2026-02-01");
      expect(await story.totals()).toEqual(how === "at midnight" ? [1400, 1700] : [1700]);
    },
  );
});

describe("a return on the day of the end bills a day that nobody has billed", () => {
  const days = async (story: Sandbox) =>
    (await story.invoices()).flatMap(({ fees }) =>
      fees.map(({ properties }: Json) => properties.billable_days),
    );

  test("as it was suspended then", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-10");
    await story.suspend(subscription);
    await story.travelTo("2026-01-15T10:00");
    await story.terminate(subscription);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    expect(await days(story)).toEqual([9, 17]);
  });

  test("as it ended in the millisecond in which it began", async () => {
    const story = await sandbox(app, "2026-01-15T10:00");
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.terminate(subscription);
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    expect(await days(story)).toEqual([17]);
  });

  test("as the plan was changed on it, and what followed was canceled", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-15T10:00");
    await story.change(subscription, await story.plan({ amount_cents: 3100 }));
    await story.setStatus(subscription, "canceled");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-02-01");
    expect(await days(story)).toEqual([14, 17]);
  });

  test("but not one that an end before the last has billed", async () => {
    const story = await sandbox(app, "2026-01-01");
    const subscription = await story.subscribe({ amount_cents: 3100, base_timing: "advance" });
    await story.travelTo("2026-01-15T10:00");
    for (const ended of ["terminated", "canceled"]) {
      await story.setStatus(subscription, ended);
      await story.setStatus(subscription, "active");
    }
    expect(await days(story)).toEqual([31, 15, 16, 16]);
  });
});

test("one that was withdrawn before it began is billed its start when it comes back", async () => {
  const story = await sandbox(app, "2026-01-10");
  const setup = flatFee({ amount_override_cents: 900, invoice_timing: "immediate" });
  const subscription = await story.subscribe({
    charges: [setup],
    starts_at: "2026-02-01T00:00:00Z",
  });
  await story.setStatus(subscription, "canceled");
  await story.setStatus(subscription, "active");
  expect(await story.totals()).toEqual([900]);
  await story.terminate(subscription);
  await story.setStatus(subscription, "active");
  expect(await story.totals()).toEqual([900]);
});

describe("suspending one that has ended", () => {
  test.each(["terminated", "canceled"])(
    "calls it suspended and opens nothing, however often it is asked (%s)",
    async (how) => {
      const story = await sandbox(app, "2026-04-01");
      const plan = await story.plan({ amount_cents: 3000, base_timing: "advance" });
      const customer = await story.customer();
      const subscription = await story.subscribe({ plan, customer, external_id: "acme-pro" });
      await story.travelTo("2026-04-10");
      const ended = await story.setStatus(subscription, how);
      const billed = await story.totals();
      await story.travelTo("2026-04-12");
      for (const _ of [1, 2]) {
        expect(await story.suspend(subscription)).toEqual({ ...ended, status: "suspended" });
      }
      expect(await story.log("subscription.suspended")).toMatchObject([{ payload: { from: how } }]);
      await story.travelTo("2026-07-01");
      expect(await story.totals()).toEqual(billed);
      expect(await story.subscription(subscription.id)).toMatchObject({
        status: "suspended",
        terminated_at: "2026-04-10T00:00:00.000Z",
      });
      // It holds no name.
      await story.subscribe({ plan, customer, external_id: "acme-pro" });
    },
  );

  test("then terminating it makes it terminated again, without an invoice", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-10");
    const ended = await story.terminate(subscription);
    await story.travelTo("2026-04-12");
    await story.suspend(subscription);
    await story.travelTo("2026-04-14");
    expect(await story.terminate(subscription)).toEqual(ended);
    expect(await story.totals()).toEqual([900]);
  });

  test("leaves a return to active, which begins a new period", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    await story.travelTo("2026-04-10");
    await story.terminate(subscription);
    await story.suspend(subscription);
    await story.travelTo("2026-04-21");
    const back = await story.setStatus(subscription, "active");
    expect(back).toMatchObject({ status: "active", terminated_at: null });
    await story.travelTo("2026-05-01");
    expect(await story.totals()).toEqual([900, 1000]);
    await story.suspend(subscription);
    expect(await story.setStatus(subscription, "active")).toMatchObject({ status: "active" });
  });

  test("lists it as suspended, and not as what it was", async () => {
    const story = await sandbox(app, "2026-04-01");
    const subscription = await story.subscribe({ amount_cents: 3000 });
    const other = await story.subscribe({ amount_cents: 3000 });
    await story.suspend(other);
    await story.terminate(subscription);
    await story.suspend(subscription);
    const listed = async (status: string) => {
      const { subscriptions } = await story.get(`/v1/subscriptions?status=${status}`);
      return subscriptions.map(({ id }: Json) => id);
    };
    expect(await listed("suspended")).toEqual([other.id, subscription.id]);
    expect(await listed("terminated")).toEqual([]);
  });
});
