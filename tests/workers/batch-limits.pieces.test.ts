// A piece of housekeeping that runs into the time limit of its statements is tried again with less,
// so that it ends however slow the database is.

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import type { Job } from "../../src/workers/loop.ts";
import * as sweeps from "../../src/workers/sweep.ts";
import { webhookJobsJob } from "../../src/workers/webhook-jobs.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { emitPayments, register } from "../support/courier.ts";
import { admin } from "../support/database.ts";

/** More than this at once is cut off. */
const ROWS = 100;
const MANY = 1_100;
let app: App;
let endpoint: Json;
beforeAll(async () => {
  app = await startApp();
  endpoint = await register(app, "http://127.0.0.1:1025/hook");
  await admin(
    app.connection,
    `create function cut_off() returns trigger language plpgsql as $$
     begin
       if (select count(*) from touched) > ${ROWS} then
         raise 'canceling statement due to statement timeout' using errcode = '57014';
       end if;
       return null;
     end $$`,
  );
});
afterAll(() => app.close());
afterEach(() => admin(app.connection, `drop trigger if exists cut_off on ${slow}`));

let slow = "";

/** The event on the table is too slow for many rows. */
async function slowFor(event: "insert" | "update" | "delete", table: string): Promise<void> {
  slow = table;
  await admin(
    app.connection,
    `create trigger cut_off after ${event} on ${table}
       referencing ${event === "delete" ? "old" : "new"} table as touched
       for each statement execute function cut_off()`,
  );
}

/** Runs on though pieces fail, as a worker does. Returns how many did. */
async function failuresOf(job: Job): Promise<number> {
  let failures = 0;
  for (let idle = 0; idle < 2; ) {
    try {
      const { more, failed = 0 } = await job.tick();
      failures += failed;
      idle = more || failed > 0 ? 0 : idle + 1;
    } catch {
      failures += 1;
      idle = 0;
    }
  }
  return failures;
}

const count = async (query: Sql) => (await app.context.db.one<{ n: number }>(query)).n;
const path = () => `/v1/webhooks/${endpoint.id}`;

test("messages that are replayed, and dropped with their endpoint", async () => {
  await emitPayments(app, 1, MANY);
  await app.context.db.run(sql`delete from webhook_queue`);
  await app.post(`${path()}/replay`, { since: "2020-01-01T00:00:00Z" });
  await app.context.db.run(sql`
    delete from webhook_queue`);
  await app.context.db.run(sql`
    update webhook_jobs set after_at = since, after_position = -1, done = 0`);
  await slowFor("insert", "webhook_queue");
  expect(await failuresOf(webhookJobsJob(app.context))).toBeGreaterThan(0);
  expect(await count(sql`select count(*) as n from webhook_queue`)).toBeGreaterThanOrEqual(MANY);
  await admin(app.connection, "drop trigger cut_off on webhook_queue");

  await app.ok("DELETE", path());
  await slowFor("delete", "webhook_queue");
  expect(await failuresOf(webhookJobsJob(app.context))).toBeGreaterThan(0);
  expect(await count(sql`select count(*) as n from webhook_queue`)).toBe(0);
});

test("old messages, keys and changes of the analytics", async () => {
  await slowFor("delete", "webhook_messages");
  expect(await failuresOf(sweeps.webhookSweepJob(app.context, -1))).toBeGreaterThan(0);
  expect(await count(sql`select count(*) as n from webhook_messages`)).toBe(0);
  await admin(app.connection, "drop trigger cut_off on webhook_messages");

  await app.context.db.run(sql`
    insert into idempotency_keys (scope_id, key, request_hash, status, body, created_at)
    select project_id, 'k' || n, '', 200, '', '2020-01-01'
      from project_anchors
     cross join generate_series(1, ${MANY}::integer) as n`);
  await slowFor("delete", "idempotency_keys");
  expect(await failuresOf(sweeps.idempotencySweepJob(app.context))).toBeGreaterThan(0);
  expect(await count(sql`select count(*) as n from idempotency_keys`)).toBe(0);
  await admin(app.connection, "drop trigger cut_off on idempotency_keys");

  await app.context.db.run(sql`
    insert into analytics_deltas (project_id, kind, key, count, cents)
    select project_id, 'due', 'USD', 1, 1
      from project_anchors
     cross join generate_series(1, ${MANY}::integer) as n`);
  await slowFor("delete", "analytics_deltas");
  expect(await failuresOf(sweeps.analyticsTotalsJob(app.context))).toBeGreaterThan(0);
  expect(await count(sql`select count(*) as n from analytics_deltas`)).toBe(0);
});
