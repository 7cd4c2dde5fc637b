// A statement that is cut off at its time limit is the fault of what it was asked for: that one is
// set aside, and holds up neither its project nor another duty of the job.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Pool } from "../../src/store/db/db.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import { billingJob } from "../../src/workers/billing.ts";
import type { Job } from "../../src/workers/loop.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { onClient } from "../support/database.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";
import { runToEnd } from "../support/run-job.ts";

const TOO_LONG = /took longer than a statement/;

let app: App;
/** The workers' connections: their statements are cut off long before a lock is given up. */
let pool: Pool;
let project: Sandbox;
beforeAll(async () => {
  app = await startApp();
  pool = new Pool(app.connection, {
    max: 4,
    statement_timeout_ms: 1_500,
    lock_timeout_ms: 30_000,
    application_name: "dues test workers",
  });
});
beforeEach(async () => {
  project = await sandbox(app, "2025-01-01T00:00");
});
afterAll(async () => {
  await pool.end();
  await app.close();
});

function job(): Job {
  return billingJob({ ...app.context, db: pool });
}

/** While somebody else holds what this statement locks. */
async function beside<T>(locking: Sql, work: () => Promise<T>): Promise<T> {
  return onClient(app.connection, async (client) => {
    await client.query("begin");
    await client.query(locking.text, [...locking.values]);
    const result = await work();
    await client.query("rollback");
    return result;
  });
}

/** The clock moves without doing what is due, as a live project's does. */
async function moveTo(at: string, { project_id }: Sandbox = project): Promise<void> {
  await app.context.db.run(sql`
    update project_clocks set frozen_at = ${at} where project_id = ${project_id}`);
}

/** Its money is locked by a close: what the lock is held on takes too long. */
async function withGrant(): Promise<Json> {
  const customer = await project.customer();
  const grant = { customer_id: customer.id, kind: "free", amount_cents: 100, currency: "USD" };
  await project.post("/v1/grants", grant);
  return customer;
}

const lockCustomer = ({ id }: Json) => sql`
  select 1 from customers where project_id = ${project.project_id} and id = ${id} for update`;

test("one that takes too long is set aside, and the others of its project are closed", async () => {
  const customer = await withGrant();
  const plan = await project.plan({ amount_cents: 500 });
  const slow = await project.subscribe({ plan, customer });
  const quick = [];
  for (let i = 0; i < 40; i++) quick.push(await project.subscribe({ plan }));
  await moveTo("2025-02-01T00:00:00Z");
  const billing = job();
  await beside(lockCustomer(customer), () => runToEnd(billing));
  expect(await project.invoices()).toHaveLength(quick.length);
  expect((await project.subscription(slow.id)).billing_error).toMatch(TOO_LONG);
  expect(await project.log("subscription.set_aside")).toMatchObject([{ resource_id: slow.id }]);

  await app.context.db.run(sql`
    update subscriptions set set_aside_until = null where project_id = ${project.project_id}`);
  await runToEnd(billing);
  expect(await project.invoices()).toHaveLength(quick.length + 1);
  expect((await project.subscription(slow.id)).billing_error).toBeNull();
});

test("late usage that takes too long is put off, and the others' is invoiced", async () => {
  const metric = await project.metric();
  const plan = await project.plan({ charges: [perUnit(metric, "1")] });
  const customer = await withGrant();
  const slow = await project.subscribe({ plan, customer });
  const quick = [await project.subscribe({ plan }), await project.subscribe({ plan })];
  await project.travelTo("2025-01-10");
  for (const one of [slow, ...quick]) await project.terminate(one);
  for (const one of [slow, ...quick]) await project.use(one, metric, "7", "2025-01-06");
  await moveTo("2025-01-11T00:00:00Z");
  const billing = job();
  const isDone = async () => (await project.invoices()).length === quick.length;
  await beside(lockCustomer(customer), async () => {
    // Fewer each time, until it stands alone.
    for (let ticks = 0; ticks < 20 && !(await isDone()); ticks++) await billing.tick();
  });
  expect(await project.invoices()).toHaveLength(quick.length);
  expect((await project.subscription(slow.id)).billing_error).toMatch(TOO_LONG);
});

test("a duty that cannot be done keeps no other from its turn", async () => {
  const { invoice } = await project.post("/v1/invoices", {
    customer_id: (await project.customer()).id,
    lines: [{ name: "Once", unit_amount_cents: 500 }],
  });
  const closing = await sandbox(app, "2025-01-01T00:00");
  await closing.subscribe({ plan: await closing.plan({ amount_cents: 500 }) });
  await moveTo("2025-03-01T00:00:00Z");
  await moveTo("2025-02-01T00:00:00Z", closing);
  // Neither closes nor late usage can be looked at.
  const locked = sql`lock table closed_periods in access exclusive mode`;
  await beside(locked, () => job().tick());
  expect((await project.get(`/v1/invoices/${invoice.id}`)).invoice.status).toBe("overdue");
});
