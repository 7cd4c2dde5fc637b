// What follows an unpaid invoice, as the receiver hears it; several workers at once, downtime, and
// a policy that changes on the way.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import { scheduler } from "../../src/operations/emit.ts";
import { markOverdue } from "../../src/operations/issuing/mark-overdue.ts";
import { sql } from "../../src/store/db/sql.ts";
import { getSettingsById } from "../../src/store/tenants/tenants.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { addUp } from "../../src/workers/loop.ts";
import { startWorkers } from "../../src/workers/start.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { flatFee, instant, Sandbox, sandbox } from "../support/given.ts";
import { Receiver } from "../support/receiver.ts";

const DAY_MS = 86_400_000;
/** Who waits for a lock is not done by then, and all others are. */
const WAIT_MS = 400;
const [R1, R2] = ["invoice.payment_overdue_reminder_1", "invoice.payment_overdue_reminder_2"];
const [SUSPEND, TERMINATE] = ["subscription.suspend_requested", "subscription.terminate_requested"];
const STEPS = [
  { days_after_due: 3, webhook_event: R1 },
  { days_after_due: 7, webhook_event: R2 },
  { days_after_due: 14, webhook_event: SUSPEND },
  { days_after_due: 30, webhook_event: TERMINATE },
];

const dunning = (story: Sandbox, policy: Json = { enabled: true, steps: STEPS }) =>
  story.ok("PUT", "/v1/dunning", policy);

/** A subscription billed once, at its start; due 14 days later. */
async function owe(story: Sandbox, amount_override_cents = 9900) {
  const charges = [flatFee({ amount_override_cents, invoice_timing: "immediate" })];
  const subscription = await story.subscribe({ plan: await story.plan({ charges }) });
  const [invoice] = await story.invoices();
  return { subscription, invoice };
}

/** Event, day of the project's clock, days overdue: in the order of arrival. */
function heard({ received }: Receiver): Json[] {
  return received.map(({ body: { event, created_at, data } }) => [
    event,
    created_at.slice(0, 10),
    data.days_overdue ?? data.overdue_invoice?.days_overdue,
  ]);
}

describe("an unpaid invoice, heard of by webhook", () => {
  let app: App;
  let stop: () => Promise<void>;
  let receiver: Receiver;
  let story: Sandbox;
  let invoice: Json;
  let subscription: Json;

  beforeAll(async () => {
    app = await startApp();
    ({ stop } = startWorkers(app.context, app.connection));
  });
  afterAll(async () => {
    await stop();
    await app.close();
  });
  beforeEach(async () => {
    receiver = await Receiver.start();
    story = await sandbox(app, "2026-03-01");
    const events = STEPS.map((step) => step.webhook_event);
    await story.post("/v1/webhooks", { url: receiver.url(), events });
    await dunning(story);
    ({ invoice, subscription } = await owe(story));
  });
  afterEach(() => receiver.close());

  /** Travels and waits until so many have come in altogether. */
  async function go(to: string, heardOf: number): Promise<void> {
    await story.travelTo(to);
    await receiver.until(heardOf);
  }

  test("is reminded of on day 3, 7, 14 and 30, in this order (S107)", async () => {
    await go("2026-03-17T23:59:59.999", 0);
    await go("2026-03-18", 1);
    await go("2026-03-22", 2);
    await go("2026-03-29", 3);
    await go("2026-04-14", 4);
    await go("2026-09-01", 4);
    expect(heard(receiver)).toEqual([
      [R1, "2026-03-18", 3],
      [R2, "2026-03-22", 7],
      [SUSPEND, "2026-03-29", 14],
      [TERMINATE, "2026-04-14", 30],
    ]);
    const { status } = await story.subscription(subscription.id);
    expect(status).toBe("active");
  });

  test("tells the state of things when the step is sent", async () => {
    await go("2026-03-18", 1);
    await story.suspend(subscription);
    // Reminder 2, and no request to suspend what is suspended.
    await go("2026-04-14", 3);
    const [first, , third] = receiver.received;
    expect(third?.body.event).toBe(TERMINATE);
    expect(first?.body.data).toMatchObject({
      invoice: { id: invoice.id, number: invoice.number, status: "overdue", total_cents: 9900 },
      days_overdue: 3,
    });
    expect(third?.body.data).toMatchObject({
      subscription: { id: subscription.id, status: "suspended" },
      overdue_invoice: { id: invoice.id, number: invoice.number, days_overdue: 30 },
    });
  });

  test("paid while overdue brings no further step (S105, S108)", async () => {
    await go("2026-03-20", 1);
    await story.pay(invoice, 9900);
    await story.travelTo("2026-07-01");
    // A later fact of the same project comes after whatever would have been sent.
    await dunning(story, { enabled: true, steps: [{ days_after_due: 1, webhook_event: R2 }] });
    await owe(story);
    await go("2026-07-16", 2);
    expect(heard(receiver)).toEqual([
      [R1, "2026-03-18", 3],
      [R2, "2026-07-16", 1],
    ]);
  });

  test("paid in part is reminded of further, until the rest is paid (S150)", async () => {
    await go("2026-03-20", 1);
    await story.pay(invoice, 1);
    await go("2026-03-22", 2);
    await story.pay(invoice, 9899);
    await story.travelTo("2026-07-01");
    expect(await story.log("dunning.step_fired")).toHaveLength(2);
    expect(heard(receiver).map(([event]) => event)).toEqual([R1, R2]);
  });

  test("is overdue and nobody hears of it while dunning is off (S106, S110)", async () => {
    await dunning(story, { enabled: false, steps: STEPS });
    await story.travelTo("2026-03-15T23:59:59.999");
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "outstanding" });
    await story.travelTo("2026-07-01");
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "overdue" });
    expect(await story.log("invoice.overdue")).toHaveLength(1);
    expect(await story.log("dunning.step_fired")).toEqual([]);
  });

  test("follows the policy of the day: changed, switched off and on", async () => {
    await go("2026-03-18", 1);
    // Reminder 2 a day earlier; suspension is no longer asked for.
    const steps = [
      { days_after_due: 3, webhook_event: R1 },
      { days_after_due: 6, webhook_event: R2 },
      { days_after_due: 30, webhook_event: TERMINATE },
    ];
    await dunning(story, { enabled: true, steps });
    await go("2026-03-21", 2);
    await dunning(story, { enabled: false, steps });
    await story.travelTo("2026-05-01");
    await dunning(story, { enabled: true, steps: STEPS });
    await go("2026-05-31", 4);
    expect(heard(receiver)).toEqual([
      [R1, "2026-03-18", 3],
      [R2, "2026-03-21", 6],
      // Their days are counted from the one on which it is on again.
      [SUSPEND, "2026-05-15", 61],
      [TERMINATE, "2026-05-31", 77],
    ]);
  });

  test("of an add-on is reminded of, and nothing is asked for", async () => {
    await story.pay(invoice, 9900);
    await story.apply(await story.addOn({ amount_cents: 2500 }), await story.customer());
    await go("2026-09-01", 2);
    expect(heard(receiver).toSorted()).toEqual([
      [R1, "2026-03-18", 3],
      [R2, "2026-03-22", 7],
    ]);
  });

  test("voided on the way brings no further step", async () => {
    await go("2026-03-18", 1);
    await story.post(`/v1/invoices/${invoice.id}/void`);
    await story.travelTo("2026-07-01");
    expect(await story.log("dunning.step_fired")).toHaveLength(1);
  });
});

test("switched on while an invoice becomes overdue, it has its reminder", async () => {
  const app = await startApp();
  const { db, config } = app.context;
  const by = scheduler(config);
  const story = await sandbox(app, "2026-03-01");
  await owe(story);
  const settings = await getSettingsById(db, story.project_id as ProjectId);
  let put: Promise<unknown> | undefined;
  await db.tx(async (tx) => {
    const marked = await markOverdue(tx, settings, by, new Date("2026-03-20T00:00:00Z"));
    expect(marked.done).toBe(1);
    put = dunning(story);
    await Promise.race([put, pause(WAIT_MS)]);
  });
  await put;
  await story.travelTo("2026-03-25");
  expect(await story.log("dunning.step_fired")).not.toEqual([]);
  await app.close();
});

test("paid in part before it is marked overdue, it is marked and reminded of", async () => {
  const app = await startApp();
  const story = await sandbox(app, "2026-03-01");
  await dunning(story);
  const { invoice } = await owe(story);
  // The clock moves without doing what is due, as a live project's does.
  await app.context.db.run(sql`
    update project_clocks
       set frozen_at = '2026-03-20T00:00:00Z'
     where project_id = ${story.project_id}`);
  await story.pay(invoice, 100);
  await app.runWorkers();
  expect((await story.invoice(invoice.id)).status).toBe("overdue");
  expect(await story.log("invoice.overdue")).toHaveLength(1);
  expect(await story.log("dunning.step_fired")).toHaveLength(1);
  await app.close();
});

describe("three workers at once", () => {
  test("send each step once, in order, one a day, also after a downtime", async () => {
    const clock = { at: new Date(instant("2026-03-01")), now: () => clock.at };
    const app = await startApp({ mode: "live", clock });
    const story = new Sandbox(app, app.profile.project_id as ProjectId);
    await dunning(story);
    const invoices = 20;
    for (let i = 0; i < invoices; i++) {
      await story.apply(await story.addOn({ amount_cents: 100 }), await story.customer());
      await owe(story);
    }
    const jobs = Array.from({ length: 3 }, () => billingJob(app.context));
    const work = async () => {
      for (let more = true; more; ) {
        more = addUp(await Promise.all(jobs.map((job) => job.tick()))).more;
      }
    };
    // Nobody works from March to the middle of May; then a day at a time.
    const sentOn: string[][] = [];
    for (let day = 0; day < 6; day++) {
      clock.at = new Date(Date.parse("2026-05-15T06:00:00Z") + day * DAY_MS);
      await work();
      const fired = await story.log("dunning.step_fired");
      sentOn.push(fired.map(({ payload }) => payload.webhook_event));
    }
    const perDay = sentOn.map((all, i) => all.length - (sentOn[i - 1]?.length ?? 0));
    // Both kinds are reminded of twice; only subscriptions are asked to be suspended and ended.
    expect(perDay).toEqual([2 * invoices, 2 * invoices, invoices, invoices, 0, 0]);
    const byInvoice = new Map<string, string[]>();
    for (const { resource_id, payload } of await story.log("dunning.step_fired")) {
      byInvoice.set(resource_id, [...(byInvoice.get(resource_id) ?? []), payload.webhook_event]);
    }
    expect(byInvoice.size).toBe(2 * invoices);
    for (const events of byInvoice.values()) {
      expect([[R1, R2], STEPS.map((step) => step.webhook_event)]).toContainEqual(events);
    }
    await app.close();
  });
});
