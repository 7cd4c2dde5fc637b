// What the metrics say of each duty: how much was done, how much waits, and for how long.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAY_MS } from "../../src/domain/dates.ts";
import { sql } from "../../src/store/db/sql.ts";
import { backlogJob } from "../../src/workers/backlog.ts";
import { dutyBacklog, dutyDone, dutyOldestSeconds } from "../../src/workers/prometheus.ts";
import * as sweeps from "../../src/workers/sweep.ts";
import { webhookJobsJob } from "../../src/workers/webhook-jobs.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { code, makeCustomer, makeSubscription } from "../support/records.ts";
import { runToEnd } from "../support/run-job.ts";

const START = new Date();
const clock = { now: () => START };
let app: App;
beforeAll(async () => {
  app = await startApp({ mode: "live", clock, env: { WEBHOOK_ALLOW_PRIVATE: "1" } });
});
afterAll(() => app.close());

const inDays = (days: number) => new Date(START.getTime() + days * DAY_MS);
const travel = (days: number) => {
  clock.now = () => inDays(days);
};

type Figures = { readonly done: number; readonly backlog: number; readonly oldest_s: number };

/** As the metrics have them once the backlog is measured. */
async function figures(duty: string): Promise<Figures> {
  await backlogJob(app.context).tick();
  const of = async (metric: Pick<typeof dutyDone, "get">) =>
    (await metric.get()).values.find(({ labels }) => labels.duty === duty)?.value ?? Number.NaN;
  return {
    done: await of(dutyDone),
    backlog: await of(dutyBacklog),
    oldest_s: await of(dutyOldestSeconds),
  };
}

/** What waits before the work, and is done by it. */
async function through(duty: string, count: number, work: () => Promise<unknown>) {
  const before = await figures(duty);
  expect(before.backlog).toBe(count);
  await work();
  expect(await figures(duty)).toEqual({ done: before.done + count, backlog: 0, oldest_s: 0 });
  return before.oldest_s;
}

const bill = () => app.runWorkers();

async function owing(): Promise<Json> {
  const customer = await makeCustomer(app);
  return app.post("/v1/invoices", {
    customer_id: customer.id,
    lines: [{ name: "Work", unit_amount_cents: 900 }],
  });
}

describe("a duty of billing tells what it has done, what waits and since when", () => {
  test("closes, overdue invoices, and reminders", async () => {
    travel(0);
    await makeSubscription(app, { plan_id: (await app.post("/v1/plans", plan())).plan.id });
    travel(40);
    expect(await through("close", 1, bill)).toBeGreaterThan(8 * 86_400);
    await owing();
    await app.ok("PUT", "/v1/dunning", {
      enabled: true,
      steps: [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }],
    });
    expect((await figures("replan")).backlog).toBe(1);
    await bill();
    travel(100);
    expect((await figures("overdue")).oldest_s).toBeGreaterThan(20 * 86_400);
    await app.context.db.run(sql`
      update subscriptions set status = 'terminated', terminated_at = ${inDays(100)}`);
    await through("overdue", 2, bill);
    travel(104);
    const [{ dunned }] = await app.context.db.many<Json>(sql`
      select count(*) as dunned from invoices where dunning_on is not null`);
    expect(await through("dunning", dunned, bill)).toBeLessThan(86_400 * 4);
  });

  test("grants that expire, and the wallets that this changes", async () => {
    travel(110);
    const customer = await makeCustomer(app);
    await app.post("/v1/grants", {
      customer_id: customer.id,
      kind: "free",
      amount_cents: 100,
      currency: "USD",
      expires_at: inDays(111).toISOString(),
    });
    travel(112);
    expect(await through("expiry", 1, bill)).toBeCloseTo(86_400, -1);
  });
});

const plan = () => ({
  code: code("p"),
  name: "Plan",
  interval: "monthly",
  amount_cents: 500,
  amount_currency: "USD",
});

describe("a duty of housekeeping as well", () => {
  test("idempotency keys", async () => {
    travel(0);
    const old = new Date(Date.now() - 31 * DAY_MS);
    await app.context.db.run(sql`
      insert into idempotency_keys (scope_id, key, request_hash, status, body, created_at)
      select project_id, 'k' || n, '', 200, '', ${old}
        from project_anchors
       cross join generate_series(1, 3) as n`);
    const sweep = sweeps.idempotencySweepJob(app.context);
    expect(await through("idempotency_sweep", 3, () => sweep.tick())).toBeCloseTo(86_400, -2);
  });

  test("tokens, without the newest of each organization", async () => {
    const { organization_id } = app.profile;
    for (const name of ["a", "b"]) {
      const expires_at = new Date(Date.now() + DAY_MS).toISOString();
      await app.post("/v1/keys", { name, organization_id, scopes: ["read"], expires_at });
    }
    await app.post("/v1/keys", { name: "newest", organization_id, scopes: ["read"] });
    const old = new Date(Date.now() - 31 * DAY_MS);
    await app.context.db.run(sql`
      update tokens set expires_at = ${old} where expires_at is not null`);
    const sweep = sweeps.tokenSweepJob(app.context);
    await through("token_sweep", 2, () => sweep.tick());
  });

  test("changes of the analytics: a change that stays tells since when", async () => {
    await owing();
    const { backlog } = await figures("analytics_totals");
    expect(backlog).toBeGreaterThan(0);
    const measure = backlogJob(app.context);
    await measure.tick();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await measure.tick();
    const { values } = await dutyOldestSeconds.get();
    const oldest = values.find(({ labels }) => labels.duty === "analytics_totals");
    expect(oldest?.value).toBeGreaterThanOrEqual(0.02);
    await through("analytics_totals", backlog, () =>
      runToEnd(sweeps.analyticsTotalsJob(app.context)),
    );
  });

  test("webhook messages; those that wait for their endpoint are not among them", async () => {
    const endpoint = await register(app, "http://127.0.0.1:1025/hook");
    await emitPayments(app, 1, 3);
    await app.context.db.run(sql`
      delete from webhook_queue
       where message_id in (select id from webhook_messages order by id limit 2)`);
    travel(sweeps.WEBHOOKS_KEPT_DAYS + 1);
    const sweep = sweeps.webhookSweepJob(app.context, -1);
    const oldest_s = await through("webhook_sweep", 2, () => sweep.tick());
    expect(oldest_s).toBeCloseTo(86_400, -2);
    travel(0);
    await app.ok("DELETE", `/v1/webhooks/${endpoint.id}`);
    const dropped = (await figures("drop")).done;
    await runToEnd(webhookJobsJob(app.context));
    expect(await figures("drop")).toEqual({ done: dropped + 1, backlog: 0, oldest_s: 0 });
  });

  test("deliveries", async () => {
    await register(app, "http://127.0.0.1:1025/hook");
    await emitPayments(app, 10, 2);
    const before = await figures("delivery");
    expect(before.backlog).toBe(2);
    const courier = new Courier(app);
    await courier.deliver();
    await courier.close();
    expect((await figures("delivery")).done).toBe(before.done + 2);
  });
});
