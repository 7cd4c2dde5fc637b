// The job that looks at wallets after usage: by batches that shrink when one fails, round by round.

import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import type { Job } from "../../src/workers/loop.ts";
import { dutyBacklog, dutyDone, dutyOldestSeconds } from "../../src/workers/prometheus.ts";
import { watchWalletsJob } from "../../src/workers/watch-wallets.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { copyId, copyRow } from "../support/counted-reads.ts";
import { admin } from "../support/database.ts";
import { makeCustomer } from "../support/records.ts";

const COPIES = 119;
const WALLETS = COPIES + 1;
let app: App;
let customer: Json;
beforeAll(async () => {
  app = await startApp();
  customer = await makeCustomer(app);
  await app.ok("PUT", `/v1/customers/${customer.id}/wallets/USD`, { low_balance_cents: 0 });
  const { connection, profile } = app;
  const id = copyId(1);
  await copyRow(connection, "customers", profile.project_id, COPIES, {
    id,
    external_id: "'c' || n",
    seq: "t.seq + n",
    short_id: "'cust_' || left(md5(n::text), 4)",
    short_id_unique: "false",
  });
  await copyRow(connection, "wallets", profile.project_id, COPIES, { customer_id: id });
});
afterAll(() => app.close());
afterEach(() => admin(app.connection, "drop trigger if exists fails on wallets"));

/** As after usage of every customer. */
const used = () => app.context.db.run(sql`update wallets set looked_mark = 'before'`);

async function notLookedAt(): Promise<readonly string[]> {
  const rows = await app.context.db.many<{ id: string }>(sql`
    select customer_id as id from wallets where looked_mark = 'before'`);
  return rows.map(({ id }) => id);
}

async function figures() {
  const of = async (metric: Pick<typeof dutyDone, "get">) =>
    (await metric.get()).values.find(({ labels }) => labels.duty === "wallet_usage")?.value;
  return {
    done: Number(await of(dutyDone)),
    backlog: await of(dutyBacklog),
    oldest_s: Number(await of(dutyOldestSeconds)),
  };
}

/** As the loop runs it, until it would pause. */
async function round(job: Job): Promise<number> {
  for (let failed = 0; ; ) {
    const report = await job.tick();
    failed += report.failed ?? 0;
    if (!report.more) return failed;
  }
}

async function failWhere(condition: string): Promise<void> {
  await admin(
    app.connection,
    `create or replace function fails() returns trigger language plpgsql as $$
     begin
       perform set_config('test.looked',
         (coalesce(nullif(current_setting('test.looked', true), ''), '0')::integer + 1)::text, true);
       if ${condition} then
         raise 'canceling statement due to statement timeout' using errcode = '57014';
       end if;
       return null;
     end $$`,
  );
  await admin(
    app.connection,
    "create trigger fails after update on wallets for each row execute function fails()",
  );
}

test("a round goes on batch by batch, and tells what it has done and what is left", async () => {
  await used();
  const { done } = await figures();
  const job = watchWalletsJob(app.context);
  expect((await job.tick()).more).toBe(true);
  const between = await figures();
  expect(between).toMatchObject({ done: done + 100, backlog: WALLETS - 100 });
  expect(between.oldest_s).toBeGreaterThan(0);
  await round(job);
  expect(await figures()).toEqual({ done: done + WALLETS, backlog: 0, oldest_s: 0 });
  expect(await notLookedAt()).toEqual([]);
});

test("batches that run into the time limit are tried again with less, at once", async () => {
  await used();
  await failWhere("current_setting('test.looked')::integer > 10");
  expect(await round(watchWalletsJob(app.context))).toBeGreaterThan(1);
  expect(await notLookedAt()).toEqual([]);
});

test("a wallet that fails alone holds up none, and is looked at in the next round", async () => {
  await used();
  await failWhere(`new.customer_id = '${customer.id}'`);
  const job = watchWalletsJob(app.context);
  expect(await round(job)).toBeGreaterThan(0);
  expect(await notLookedAt()).toEqual([customer.id]);
  expect(await figures()).toMatchObject({ backlog: 0, oldest_s: 0 });
  await admin(app.connection, "drop trigger fails on wallets");
  expect(await round(job)).toBe(0);
  expect(await notLookedAt()).toEqual([]);
});
