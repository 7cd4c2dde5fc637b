// Subscriptions closed and invoiced per second, and how many statements that takes.

import { strict as assert } from "node:assert";
import { randomBytes } from "node:crypto";
import { readConfig } from "../src/config.ts";
import { testContext } from "../src/main.ts";
import { createPlan } from "../src/operations/change-plan.ts";
import { SCHEDULER } from "../src/operations/emit.ts";
import { startSubscription } from "../src/operations/start-subscription.ts";
import type { PlanCreate } from "../src/schema/plans.ts";
import * as customers from "../src/store/customers.ts";
import type { Db, Pool, Queryable, Tx } from "../src/store/db.ts";
import * as metrics from "../src/store/metrics.ts";
import { sql } from "../src/store/sql.ts";
import { getSettingsById, type ProjectId } from "../src/store/tenants.ts";
import { billingJob } from "../src/workers/billing.ts";
import { figure, openStage, print, type Stage } from "./stage.ts";

const SUBSCRIPTIONS = 20_000;
const DAYS = 31;
const JANUARY = new Date("2026-01-01T00:00:00.000Z");
const FEBRUARY = new Date("2026-02-01T00:00:00.000Z");

export async function benchClose(): Promise<void> {
  const stage = await openStage();
  try {
    await makeBooks(stage);
    const counting = countStatements(stage.db);
    const config = readConfig({ LOG_LEVEL: "error" });
    const clock = { now: () => FEBRUARY };
    const context = testContext({ config, db: counting, clock, secret_key: randomBytes(32) });
    const job = billingJob(context);
    const start = performance.now();
    while ((await job.tick()) > 0);
    const seconds = (performance.now() - start) / 1_000;
    const { invoices, fees } = await stage.db.one<{ invoices: number; fees: number }>(sql`
      select (select count(*) from invoices) as invoices, (select count(*) from fees) as fees`);
    assert.equal(invoices, SUBSCRIPTIONS, "one invoice each");
    assert.equal(fees, SUBSCRIPTIONS * 5, "a base fee and four charges");
    process.stdout.write(
      `\nclose: ${SUBSCRIPTIONS} subscriptions, 4 charges, ${DAYS} days of use\n`,
    );
    print("seconds", figure(seconds));
    print("subscriptions/s", figure(SUBSCRIPTIONS / seconds));
    const { statements } = counting;
    print("statements (counted around the driver)", String(statements));
    print("statements per 1,000 invoices", figure((statements / invoices) * 1_000));
  } finally {
    await stage.end();
  }
}

/** One of everything by the service's own acts, then copies of it by SQL. */
async function makeBooks({ db, profile }: Stage): Promise<void> {
  const project = profile.project_id as ProjectId;
  const settings = await getSettingsById(db, project);
  const first = await db.tx(async (tx) => {
    for (const code of ["calls", "storage"]) {
      const metric = { code, name: code, aggregation_type: "sum" as const, field_name: "n" };
      await metrics.insert(tx, project, metric, JANUARY);
    }
    const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
    const customer = await customers.insert(tx, project, named, JANUARY);
    const { plan } = await createPlan(tx, project, PLAN, SCHEDULER, JANUARY);
    assert.ok(customer);
    const wanted = { external_id: "s1", customer_id: customer.id, plan_id: plan.id };
    return startSubscription(
      tx,
      settings,
      { ...wanted, properties: { seats: 3 } },
      SCHEDULER,
      JANUARY,
    );
  });
  await copySubscription(db, first.id);
  await fillDays(db);
  await db.run(sql`analyze`);
}

const PLAN: PlanCreate = {
  code: "p",
  name: "P",
  interval: "monthly",
  amount_cents: 1_000,
  amount_currency: "USD",
  charges: [
    { type: "standard", metric_ref: "calls", rate: "0.01" },
    { type: "standard", metric_ref: "storage", rate: "0.002" },
    { type: "flat_fee", amount_override_cents: 500 },
    {
      type: "flat_fee",
      amount_override_cents: 100,
      quantity_from: "subscription_property.seats",
    },
  ],
};

async function copySubscription(db: Pool, id: string): Promise<void> {
  await db.run(sql`
    insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status,
                               properties, started_at, period_no, current_period_start,
                               current_period_next, plan_version, recurring_cents, created_at,
                               updated_at)
    select project_id, gen_random_uuid(), 's' || n, customer_id, plan_id, status, properties,
           started_at, period_no, current_period_start, current_period_next, plan_version,
           recurring_cents, created_at, updated_at
      from subscriptions, generate_series(2, ${SUBSCRIPTIONS}::integer) as n
     where id = ${id}`);
}

async function fillDays(db: Pool): Promise<void> {
  await db.run(sql`
    insert into usage_days (project_id, subscription_id, period_no, metric_id, day, events, sum,
                            max, latest, uniques, last_at, last_arrival)
    select s.project_id, s.id, 1, m.id, '2026-01-01'::date + d, 100, 250.5, 9, 3, 0,
           '2026-01-01T12:00:00Z'::timestamptz + d * interval '1 day', d
      from subscriptions s
      join metrics m on m.project_id = s.project_id
     cross join generate_series(0, ${DAYS - 1}::integer) as d`);
}

/** Begin and commit count as well. */
function countStatements(db: Db): Db & { readonly statements: number } {
  let statements = 0;
  const counting = <A extends unknown[], R>(add: number, call: (...given: A) => R) => {
    return (...given: A): R => {
      statements += add;
      return call(...given);
    };
  };
  const counted = (inner: Queryable): Queryable => ({
    many: counting(1, inner.many.bind(inner)) as Queryable["many"],
    maybeOne: counting(1, inner.maybeOne.bind(inner)) as Queryable["maybeOne"],
    one: counting(1, inner.one.bind(inner)) as Queryable["one"],
    run: counting(1, inner.run.bind(inner)),
  });
  return {
    ...counted(db),
    tx<T>(work: (tx: Tx) => Promise<T>) {
      statements += 2;
      return db.tx((tx) => work({ ...counted(tx), last: tx.last.bind(tx) } as Tx));
    },
    snapshot<T>(work: (tx: Queryable) => Promise<T>) {
      statements += 2;
      return db.snapshot((tx) => work(counted(tx)));
    },
    get statements() {
      return statements;
    },
  };
}
