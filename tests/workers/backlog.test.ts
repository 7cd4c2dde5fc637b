// What the metrics say about work that waits: webhooks that are due, periods that are not closed,
// subscriptions that were set aside.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { COUNTED_MAX, closeBacklog, webhookBacklog } from "../../src/store/work/backlog.ts";
import { backlogJob } from "../../src/workers/backlog.ts";
import * as metrics from "../../src/workers/prometheus.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";
import { makePlan, makeSubscription } from "../support/records.ts";

/** Positions behind all that is written here. */
const FAR = 1_000_000;
const NEXT_PERIOD = new Date("2026-02-01T00:00:00Z");
const LATER = new Date("2026-02-01T01:00:00Z");

async function read(gauge: Pick<typeof metrics.webhooksDue, "get">): Promise<number> {
  return (await gauge.get()).values[0]?.value ?? Number.NaN;
}

describe("webhooks", () => {
  let app: App;
  let receiver: Receiver;
  let endpoint: Json;

  beforeAll(async () => {
    app = await startApp({ mode: "live", env: { WEBHOOK_ALLOW_PRIVATE: "1" } });
    receiver = await Receiver.start();
  });
  afterAll(async () => {
    await receiver.close();
    await app.close();
  });
  beforeEach(async () => {
    if (endpoint !== undefined) await app.ok("DELETE", `/v1/webhooks/${endpoint.id}`);
    endpoint = await register(app, receiver.url());
  });

  const moveDue = (seconds: number) =>
    app.context.db.run(sql`
      update webhook_queue
         set due_at = statement_timestamp() + make_interval(secs => ${seconds})`);

  test("are counted from when they are due until they are delivered", async () => {
    const { db } = app.context;
    expect(await webhookBacklog(db)).toEqual({ due: 0, oldest_due_s: 0 });
    await emitPayments(app, 1, 3);
    expect((await webhookBacklog(db)).due).toBe(3);
    const courier = new Courier(app);
    await courier.deliver();
    await courier.close();
    expect(await webhookBacklog(db)).toEqual({ due: 0, oldest_due_s: 0 });
  });

  test("show for how long the oldest has been due", async () => {
    await emitPayments(app, 1, 1);
    await moveDue(-90);
    await emitPayments(app, 2, 1);
    const { due, oldest_due_s } = await webhookBacklog(app.context.db);
    expect(due).toBe(2);
    expect(oldest_due_s).toBeGreaterThanOrEqual(90);
    expect(oldest_due_s).toBeLessThan(150);
  });

  test("that wait for a retry, or for their endpoint to be enabled, are not due", async () => {
    await emitPayments(app, 1, 2);
    await moveDue(600);
    expect(await webhookBacklog(app.context.db)).toEqual({ due: 0, oldest_due_s: 0 });
    await moveDue(0);
    expect((await webhookBacklog(app.context.db)).due).toBe(2);
    await app.patch(`/v1/webhooks/${endpoint.id}`, { enabled: false });
    expect(await webhookBacklog(app.context.db)).toEqual({ due: 0, oldest_due_s: 0 });
  });

  test("are counted no further than the limit", async () => {
    await app.context.db.run(sql`
      insert into webhook_messages (project_id, position, id, event, body, created_at)
      select a.project_id, ${FAR}::bigint + n, gen_random_uuid(), 'payment.succeeded', '{}',
             statement_timestamp()
        from project_anchors a
       cross join generate_series(1, ${COUNTED_MAX + 50}::integer) as n
       where a.project_id = ${app.profile.project_id}`);
    await app.context.db.run(sql`
      insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
      select m.project_id, ${endpoint.id}::uuid, m.id,
             statement_timestamp() - interval '10 seconds'
        from webhook_messages m
       where m.project_id = ${app.profile.project_id} and m.position > ${FAR}`);
    const { due, oldest_due_s } = await webhookBacklog(app.context.db);
    expect(due).toBe(COUNTED_MAX);
    expect(oldest_due_s).toBeGreaterThanOrEqual(10);
    await backlogJob(app.context).tick();
    expect(await read(metrics.webhooksDue)).toBe(COUNTED_MAX);
    expect(await read(metrics.webhookOldestDueSeconds)).toBeGreaterThanOrEqual(10);
  });
});

describe("periods", () => {
  const START = new Date("2026-01-10T00:00:00Z");
  const clock = { now: () => START };
  let app: App;
  let subscription: Json;

  beforeEach(async () => {
    clock.now = () => START;
    app = await startApp({ mode: "live", clock });
    subscription = await makeSubscription(app, await withSeats(app));
  });
  afterEach(() => app.close());

  test("are waiting from their end until they are closed", async () => {
    const { db } = app.context;
    expect(await closeBacklog(db, clock.now())).toEqual({ set_aside: 0, oldest_ended_at: null });
    expect((await closeBacklog(db, NEXT_PERIOD)).oldest_ended_at).toEqual(NEXT_PERIOD);
    clock.now = () => LATER;
    await backlogJob(app.context).tick();
    expect(await read(metrics.oldestUnclosedPeriodSeconds)).toBe(3_600);
    expect(await app.runWorkers()).toBe(1);
    await backlogJob(app.context).tick();
    expect(await read(metrics.oldestUnclosedPeriodSeconds)).toBe(0);
  });

  test("of a subscription that was set aside are counted apart", async () => {
    const next = new Date("2026-03-02T00:00:00Z");
    clock.now = () => next;
    await setSeats(app, "abc");
    await app.runWorkers();
    await backlogJob(app.context).tick();
    expect(await read(metrics.subscriptionsSetAside)).toBe(1);
    expect(await read(metrics.oldestUnclosedPeriodSeconds)).toBe(0);
    const path = `/v1/subscriptions/${subscription.id}/terminate`;
    await setSeats(app, "2");
    await app.post(path, {});
    expect(await closeBacklog(app.context.db, next)).toEqual({
      set_aside: 0,
      oldest_ended_at: null,
    });
  });

  test("of a frozen sandbox are set aside by its own clock, and never waiting", async () => {
    const sandbox = await startApp({ mode: "sandbox", at: "2026-01-10T00:00:00Z" });
    const { db } = sandbox.context;
    await makeSubscription(sandbox, await withSeats(sandbox));
    await setSeats(sandbox, "abc");
    expect(await closeBacklog(db, LATER)).toEqual({ set_aside: 0, oldest_ended_at: null });
    await sandbox.travelTo("2026-02-02T00:00:00Z");
    const wall = new Date("2026-01-10T00:00:00Z");
    expect(await closeBacklog(db, wall)).toEqual({ set_aside: 1, oldest_ended_at: null });
    await sandbox.close();
  });
});

/** A plan that is billed by a property of the subscription. */
async function withSeats(app: App) {
  const quantity_from = "subscription_property.seats";
  const charges = [{ type: "flat_fee", amount_override_cents: 100, quantity_from }];
  const plan = await makePlan(app, { charges });
  return { plan_id: plan.id, properties: { seats: 2 } };
}

/** The API would refuse a property that cannot be billed. */
async function setSeats(app: App, seats: string): Promise<void> {
  await app.context.db.run(sql`
    update subscriptions
       set properties = jsonb_build_object('seats', ${seats}::text)`);
}
