// A project with more than a batch of ended periods has two closes at once, a small one has one.

import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiActivity } from "../../src/api-activity.ts";
import { BATCH_MAX } from "../../src/operations/closing/close.ts";
import type { Db, Tx } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { type App, startApp } from "../support/app.ts";
import { type Sandbox, sandbox } from "../support/given.ts";
import { runToEnd } from "../support/run-job.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** A project whose subscriptions, so many, have all ended their first period. */
async function ended(count: number): Promise<Sandbox> {
  const project = await sandbox(app, "2025-01-01T00:00");
  await project.subscribe({ plan: await project.plan({ amount_cents: 100 }) });
  const { db } = app.context;
  await db.run(sql`
    insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status,
                               properties, started_at, period_no, current_period_start,
                               current_period_next, plan_version, recurring_cents, created_at,
                               updated_at)
    select project_id, gen_random_uuid(), external_id || n, customer_id, plan_id, status,
           properties, started_at, 1, current_period_start, current_period_next, plan_version,
           recurring_cents, created_at, updated_at
      from subscriptions
     cross join generate_series(2, ${count}::integer) as n
     where project_id = ${project.project_id}`);
  await db.run(sql`
    update project_clocks
       set frozen_at = '2025-02-01T00:00:00Z'
     where project_id = ${project.project_id}`);
  return project;
}

/** Runs the job to its end and tells how many of its transactions were open at once. */
async function closeAll(): Promise<number> {
  let open = 0;
  let most = 0;
  const watched: Db = new Proxy(app.context.db, {
    get(target, name) {
      if (name === "forProject") return () => watched;
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "tx") return typeof value === "function" ? value.bind(target) : value;
      return async <T>(work: (tx: Tx) => Promise<T>) => {
        most = Math.max(most, ++open);
        return target.tx(work).finally(() => {
          open -= 1;
        });
      };
    },
  });
  // Nobody is being answered.
  const api_activity = new ApiActivity();
  await runToEnd(billingJob({ ...app.context, db: watched, api_activity }));
  return most;
}

/** Numbers of the invoices: none is left out and none given twice. */
async function numbers({ project_id }: Sandbox): Promise<number[]> {
  const rows = await app.context.db.many<{ number_seq: number }>(sql`
    select number_seq from invoices where project_id = ${project_id} order by number_seq`);
  return rows.map(({ number_seq }) => number_seq);
}

test.each([
  { count: 3, at_once: 1 },
  { count: 2 * BATCH_MAX + 1, at_once: 2 },
])("$count ended periods: $at_once at once, each closed once", async ({ count, at_once }) => {
  const project = await ended(count);
  expect(await closeAll()).toBe(at_once);
  expect(await numbers(project)).toEqual(Array.from({ length: count }, (_, i) => i + 1));
});
