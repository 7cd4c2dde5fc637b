// A subscription whose period cannot be closed is told once per reason, however it was found.

import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import { onlyProjects } from "../../src/store/db/project-filter.ts";
import { sql } from "../../src/store/db/sql.ts";
import { closeBacklog } from "../../src/store/work/backlog.ts";
import { type App, startApp } from "../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../support/given.ts";

type Line = { level: "warn" | "error"; about: Record<string, unknown> };

let app: App;
let project: Sandbox;
/** What the operator's log says of subscriptions that were set aside. */
const logged: Line[] = [];
beforeAll(async () => {
  app = await startApp();
  for (const level of ["warn", "error"] as const) {
    vi.spyOn(app.context.log, level).mockImplementation((about: unknown, message?: string) => {
      if (message !== "a subscription was set aside") return;
      logged.push({ level, about: about as Line["about"] });
    });
  }
});
beforeEach(async () => {
  logged.length = 0;
  project = await sandbox(app, "2025-01-01T00:00");
});
afterAll(() => app.close());

/** The clock moves without closing, as a live project's does; then the worker comes, twice. */
async function closeTwice(): Promise<void> {
  await app.context.db.run(sql`
    update project_clocks
       set frozen_at = '2025-02-01T00:00:00Z'
     where project_id = ${project.project_id}`);
  for (let i = 0; i < 2; i++) {
    await app.context.db.run(sql`
      update subscriptions
         set set_aside_until = null
       where project_id = ${project.project_id}`);
    await app.runWorkers();
  }
}

const told = async (id: string, type = "subscription.set_aside") =>
  (await project.log(type)).filter(({ resource_id }) => resource_id === id);
const FAILED = "subscription.billing_failed";

async function subscribed() {
  const plan = await project.plan({
    charges: [flatFee({ amount_override_cents: 100, seats: true })],
  });
  return project.subscribe({ plan, properties: { seats: "1" } });
}

test("a reason of any length, found while the invoice was worked out", async () => {
  const { id } = await subscribed();
  await app.context.db.run(sql`
    update subscriptions
       set properties = jsonb_build_object('seats', repeat('x', 2000))
     where project_id = ${project.project_id} and id = ${id}`);
  await closeTwice();
  expect(await told(id)).toHaveLength(1);
  expect(await told(id, FAILED)).toHaveLength(1);
  const { billing_error } = await project.subscription(id);
  expect(billing_error).toHaveLength(500);
  const { project_id } = project;
  const about = { project_id, subscription_id: id, reason: billing_error, err: undefined };
  expect(logged).toEqual([{ level: "warn", about }]);
});

/** Its close cannot be written: the row is there already. */
async function closeBeforehand(id: string): Promise<void> {
  await app.context.db.run(sql`
    insert into closed_periods (project_id, subscription_id, period_no, starts_at, ends_at,
                                plan_id, plan_version, billable, billed, closed_at)
    select project_id, id, period_no, current_period_start, current_period_next, plan_id,
           plan_version, true, '{}', created_at
      from subscriptions
     where project_id = ${project.project_id} and id = ${id}`);
}

test("a reason that the database gave when the close was written", async () => {
  const { id } = await subscribed();
  await closeBeforehand(id);
  await closeTwice();
  expect(await told(id)).toHaveLength(1);
  expect(await told(id, FAILED)).toHaveLength(1);
  expect((await project.subscription(id)).billing_error).toContain("duplicate key");
  const about = { project_id: project.project_id, subscription_id: id, err: expect.any(Error) };
  expect(logged).toMatchObject([{ level: "error", about }]);
});

/** Such as no call would take: the plan began to ask for seats later. */
async function setSeats(id: string, seats: string): Promise<void> {
  await app.context.db.run(sql`
    update subscriptions
       set properties = jsonb_build_object('seats', ${seats}::text), set_aside_until = null
     where project_id = ${project.project_id} and id = ${id}`);
}

test("one of each kind in the same batch", async () => {
  const [written, decided] = [await subscribed(), await subscribed()];
  await closeBeforehand(written.id);
  await setSeats(decided.id, "many");
  await closeTwice();
  const seen = logged.map(({ level, about }) => [about.subscription_id, level]);
  expect(new Map(seen as [string, string][])).toEqual(
    new Map([
      [written.id, "error"],
      [decided.id, "warn"],
    ]),
  );
  expect(logged).toHaveLength(2);
});

test("another reason is logged, and that it fails is not told again until it was billed", async () => {
  const { id } = await subscribed();
  await setSeats(id, "many");
  await closeTwice();
  await setSeats(id, "more");
  await closeTwice();
  expect(await told(id)).toHaveLength(2);
  expect(await told(id, FAILED)).toMatchObject([{ payload: { reason: expect.any(String) } }]);

  await setSeats(id, "2");
  await app.runWorkers();
  expect((await project.subscription(id)).billing_error).toBeNull();
  await setSeats(id, "again");
  const report = await project.travelTo("2025-03-01");
  expect(report.billing_failed_count).toBe(1);
  expect((await project.get("/v1/analytics")).billing_failed_count).toBe(1);
  expect(await told(id, FAILED)).toHaveLength(2);
});

test.each(["/v1/clock/advance", "/v1/clock"])("a reason that POST %s meets", async (path) => {
  const { id } = await subscribed();
  await setSeats(id, "many");
  const travel = (at: string) =>
    project.post(path, path === "/v1/clock" ? { frozen_at: at } : { to: at });
  await travel("2025-02-01T00:00:00Z");
  await travel("2025-02-02T00:00:00Z");
  const { billing_error: reason } = await project.subscription(id);
  const about = { project_id: project.project_id, subscription_id: id, reason };
  expect(logged).toMatchObject([{ level: "warn", about }]);
  expect(await told(id)).toHaveLength(1);
});

test("late usage that cannot be invoiced holds up no other's, and is tried again", async () => {
  const metric = await project.metric();
  const plan = await project.plan({ charges: [perUnit(metric, "1")] });
  const [a, b] = [await project.subscribe({ plan }), await project.subscribe({ plan })];
  await project.travelTo("2025-01-10");
  for (const one of [a, b]) await project.terminate(one);
  for (let i = 0; i < 2; i++) await project.use(a, metric, "9000000000000", "2025-01-06");
  await project.use(b, metric, "7", "2025-01-06");
  await project.travelTo("2025-01-12");
  const invoiced = async () =>
    (await project.invoices()).map(({ subscription_id, total_cents }) => [
      subscription_id,
      total_cents,
    ]);
  expect(await invoiced()).toEqual([[b.id, 700]]);
  expect(await told(a.id)).toHaveLength(1);
  expect(await told(a.id, FAILED)).toHaveLength(1);
  expect((await project.subscription(a.id)).billing_error).toMatch("beyond");
  expect(await asideHere()).toBe(1);

  await project.use(a, metric, "-17999999999999", "2025-01-07");
  await project.travelTo("2025-01-13");
  expect(await invoiced()).toEqual([
    [b.id, 700],
    [a.id, 100],
  ]);
  expect((await project.subscription(a.id)).billing_error).toBeNull();
  expect(await asideHere()).toBe(0);
});

/** As the metrics and the doctor count them. */
async function asideHere(): Promise<number> {
  const { db, clock } = app.context;
  const found = await closeBacklog(
    db,
    clock.now(),
    onlyProjects([project.project_id as ProjectId]),
  );
  return found.set_aside;
}
