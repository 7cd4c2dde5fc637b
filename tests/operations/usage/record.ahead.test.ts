// Usage of periods that are not open yet: sent ahead of its time, or while a close is behind. It
// counts in the period that its instant lies in, whatever becomes of the schedule meanwhile.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { closeDue } from "../../../src/operations/closing/close.ts";
import { scheduler } from "../../../src/operations/emit.ts";
import { type Sql, sql } from "../../../src/store/db/sql.ts";
import { getSettingsById } from "../../../src/store/tenants/tenants.ts";
import * as usageLocks from "../../../src/store/usage/locks.ts";
import { type App, type Body, type Json, startApp } from "../../support/app.ts";
import { countOnNodes } from "../../support/database.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound, spanned } from "../../support/pricing.ts";

const WAITING = sql`
  select count(*)
    from pg_stat_activity
   where wait_event_type = 'Lock' and datname = current_database()`;

const FRESH = { accepted: true, duplicate: false };

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

describe("usage without a timestamp, at a process whose clock is behind", () => {
  /** As if a machine three seconds ahead had begun the open period. */
  async function begunAhead(story: Sandbox, subscription: Json, column: Sql) {
    await app.context.db.tx((tx) =>
      tx.run(sql`
        update subscriptions
           set ${column}, current_period_start = current_period_start + interval '3 s'
         where project_id = ${story.project_id} and id = ${subscription.id}`),
    );
  }

  test("is of a subscription that was just started", async () => {
    const story = await sandbox(app, "2026-01-10");
    const metric = await story.metric();
    const subscription = await story.subscribe({ charges: [perUnit(metric, "1")] });
    await begunAhead(story, subscription, sql`started_at = started_at + interval '3 s'`);
    expect(await story.use(subscription, metric, "5")).toEqual(FRESH);
    const early = await story.use(subscription, metric, "7", "2026-01-10");
    expect(early.warning).toBe("before_start");
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([500]);
  });

  test("is of a subscription that has just returned", async () => {
    const story = await sandbox(app, "2026-01-10");
    const metric = await story.metric();
    const subscription = await story.subscribe({ charges: [perUnit(metric, "1")] });
    await story.travelTo("2026-01-12");
    await story.terminate(subscription);
    await story.travelTo("2026-01-15");
    await story.setStatus(subscription, "active");
    await begunAhead(story, subscription, sql`updated_at = updated_at`);
    expect(await story.use(subscription, metric, "5")).toEqual(FRESH);
    const early = await story.use(subscription, metric, "7", "2026-01-15");
    expect(early.warning).toBe("after_termination");
    await story.travelTo("2026-02-01");
    expect(await story.totals()).toEqual([500]);
  });
});

describe("a start that was set for later", () => {
  async function pending(starts_at: string, at: string) {
    const story = await sandbox(app, at);
    const metric = await story.metric();
    const charges = [perUnit(metric, "1")];
    const plan = await story.plan({ charges });
    const yearly = await story.plan({ interval: "yearly", charges });
    const subscription = await story.subscribe({ plan, starts_at });
    return { story, metric, yearly, subscription };
  }

  const billed = async (story: Sandbox) => (await story.invoices()).map(spanned);

  test("and comes earlier: usage sent ahead is of the period behind the boundary", async () => {
    const { story, metric, subscription } = await pending("2026-02-01", "2026-01-31T12:00");
    await story.use(subscription, metric, "3", "2026-02-01T06:00");
    await story.setStatus(subscription, "active");
    await story.use(subscription, metric, "2");
    await story.travelTo("2026-03-01");
    expect(await billed(story)).toEqual([
      "2026-01-31 to 2026-01-31: 200",
      "2026-02-01 to 2026-02-28: 300",
    ]);
  });

  test("and is withdrawn: usage sent ahead is never billed, not even on a return", async () => {
    const { story, metric, subscription } = await pending("2026-02-01", "2026-01-31T12:00");
    await story.use(subscription, metric, "3", "2026-02-01T06:00");
    await story.setStatus(subscription, "canceled");
    await story.travelTo("2026-02-01T05:00");
    await story.setStatus(subscription, "active");
    await story.use(subscription, metric, "2");
    await story.travelTo("2026-03-01");
    expect(await billed(story)).toEqual(["2026-02-01 to 2026-02-28: 200"]);
  });

  test("and changes its plan: usage sent ahead follows the new interval", async () => {
    const { story, metric, yearly, subscription } = await pending(
      "2026-01-31T23:00",
      "2026-01-31T22:30",
    );
    await story.use(subscription, metric, "3", "2026-02-01T10:00");
    await story.change(subscription, yearly);
    await story.travelTo("2027-01-01");
    expect(await billed(story)).toEqual(["2026-01-31 to 2026-12-31: 300"]);
  });
});

type Live = { readonly live: App; readonly path: string; setNow(at: string): void };

/** A live project with one subscription by usage, since 15 January, on a clock that can be set. */
async function startLive(terms: Body): Promise<Live> {
  let now = new Date("2026-01-15T08:00:00.000Z");
  const live = await startApp({ mode: "live", clock: { now: () => now } });
  const post = live.post.bind(live);
  await post("/v1/metrics", { code: "n", name: "N", aggregation_type: "sum", field_name: "n" });
  const charges = [{ type: "standard", metric_ref: "n", rate: "1" }];
  const priced = { name: "P", amount_currency: "USD", charges };
  const { plan } = await post("/v1/plans", { code: "monthly", interval: "monthly", ...priced });
  await post("/v1/plans", { code: "weekly", interval: "weekly", ...priced });
  const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  const { customer } = await post("/v1/customers", named);
  const of = { external_id: "s", customer_id: customer.id, plan_id: plan.id };
  const { subscription } = await post("/v1/subscriptions", { ...of, ...terms });
  const setNow = (at: string) => {
    now = new Date(at);
  };
  return { live, path: `/v1/subscriptions/${subscription.id}`, setNow };
}

function useOne(live: App, timestamp: string): Promise<Json> {
  const event = { transaction_id: timestamp, subscription_id: "ext:s", code: "n", timestamp };
  return live.post("/v1/events", { ...event, properties: { n: "1" } });
}

test("a scheduled change to another interval, and a close that is behind", async () => {
  const { live, path, setNow } = await startLive({ billing_time: "anniversary" });
  const { plans } = await live.get("/v1/plans");
  const { id: plan_id } = plans.find(({ code }: Json) => code === "weekly");
  await live.patch(path, { plan_id, change_at: "period_end" });
  setNow("2026-02-20T08:00:00.000Z");
  for (const day of ["14", "16", "20"]) await useOne(live, `2026-02-${day}T00:00:00.000Z`);
  setNow("2026-03-08T00:00:00.000Z");
  await live.runWorkers();
  const { invoices } = await live.get("/v1/invoices");
  expect(
    invoices.map((one: Json) => [one.period_start, one.period_end, one.total_cents]).reverse(),
  ).toEqual([
    ["2026-01-15", "2026-02-14", 100],
    ["2026-02-15", "2026-02-21", 200],
  ]);
  await closeSound(live);
});

test("usage behind an end waits for the worker that is doing it", async () => {
  const end = "2026-02-01T00:00:00.000Z";
  const { live, setNow } = await startLive({ ends_at: end });
  const { db, clock, config } = live.context;
  await useOne(live, "2026-01-15T08:00:00.000Z");
  setNow("2026-02-01T00:00:01.000Z");
  const settings = await getSettingsById(db, live.profile.project_id as ProjectId);
  await db.tx((tx) => usageLocks.raiseCutoff(tx, settings.id, clock.now()));
  let answer: Promise<Json> | undefined;
  await db.tx(async (tx) => {
    await closeDue(tx, settings, scheduler(config), clock.now(), "cutoff");
    answer = useOne(live, "2026-02-01T00:00:00.500Z");
    const waiting = () => countOnNodes(live.connection, WAITING);
    await expect.poll(waiting, { timeout: 10_000 }).toBeGreaterThan(0);
  });
  expect(await answer).toMatchObject({ accepted: true, warning: "after_termination" });
  await closeSound(live);
});
