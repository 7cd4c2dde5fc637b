// A project with years behind it, and the service in this process on one connection to it: so every
// page of the database that a call touches is known.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import type { Context } from "../src/context.ts";
import { Bounds } from "../src/http/admission/bound.ts";
import type { Method, Route } from "../src/http/route.ts";
import { routeTable } from "../src/http/table.ts";
import type { ProjectId } from "../src/ids.ts";
import { apiServer } from "../src/service/api-server.ts";
import { Pool } from "../src/store/db/db.ts";
import { sql } from "../src/store/db/sql.ts";
import type { App, Json } from "../tests/support/app.ts";
import { Client } from "../tests/support/client.ts";
import { testContext } from "../tests/support/context.ts";
import { makeEveryRecord, type Records } from "../tests/support/every-record.ts";
import { type Much, multiply } from "../tests/support/many-rows.ts";
import { code, makeInvoice, paymentOf } from "../tests/support/records.ts";
import { freezeClocks } from "./books.ts";
import { headersOf, openStage, type Stage } from "./stage.ts";

/** The project's clock stands still here: what is due is the same whenever this runs. */
export const NOW = new Date("2026-03-05T09:00:00.000Z");
const READY = { draining: false, schema_version: 0, warnings: [] };
const STATEMENT_MS = 600_000;

export type Answer = { readonly status: number; readonly text: string };

export type Site = {
  readonly stage: Stage;
  readonly project: ProjectId;
  readonly context: Context;
  readonly routes: readonly Route[];
  /** Of each kind the record that has much, by the part of the path that names the kind. */
  readonly records: Records;
  call(method: Method, path: string, body?: object): Promise<Answer>;
  /** What `work` returns, and how many pages of tables and indexes it touched. */
  counted<T>(work: () => Promise<T>): Promise<readonly [T, number]>;
  /** A statement outside of what the service may do: no trigger and no foreign key hears of it. */
  beside(statement: string): Promise<void>;
  end(): Promise<void>;
};

export async function openSite(much: Much, events: Much): Promise<Site> {
  const stage = await openStage();
  await freezeClocks(stage.db, NOW);
  const db = new Pool(stage.connection, {
    max: 1,
    statement_timeout_ms: STATEMENT_MS,
    lock_timeout_ms: STATEMENT_MS,
    application_name: "dues bench, counted",
  });
  const config = readConfig({ LOG_LEVEL: "silent", BASE_URL: "" });
  const secret_key = randomBytes(32);
  const context = testContext({ config, db, clock: systemClock, secret_key });
  const { fastify } = apiServer(context, READY);
  await fastify.ready();
  let calls = 0;
  const call = async (method: Method, url: string, body?: object) => {
    const headers = headersOf(stage);
    const payload = body === undefined ? {} : { payload: body };
    // Nobody calls so often that he is refused for it.
    const remoteAddress = `10.${calls >> 16}.${(calls >> 8) & 255}.${calls & 255}`;
    calls += 1;
    const answer = await fastify.inject({ method, url, headers, remoteAddress, ...payload });
    return { status: answer.statusCode, text: answer.body };
  };
  const client = new pg.Client({ ...stage.connection });
  await client.connect();
  const project = stage.profile.project_id as ProjectId;
  const records = await makeRecords(context, project, call);
  await beside(client, PREPARED);
  await multiply(client, project, much, events);
  await beside(client, settled(records));
  const end = async () => {
    await client.end();
    await fastify.close();
    await db.end();
    await stage.end();
  };
  return {
    stage,
    project,
    context,
    records,
    call,
    end,
    routes: routeTable(context, READY, new Bounds()),
    counted: (work) => countPages(db, work),
    beside: (statement) => beside(client, statement),
  };
}

/**
 * A few of the messages are copied, those with a delivery. Nobody but the call that is measured
 * touches a page.
 */
const PREPARED = `
  delete from webhook_messages m
   where not exists (select 1 from webhook_attempts a
                      where a.project_id = m.project_id and a.message_id = m.id);
  do $$ declare grown regclass; begin
    for grown in select relid from pg_stat_user_tables loop
      execute format('alter table %s set (autovacuum_enabled = false)', grown);
    end loop;
  end $$`;

async function beside(client: pg.Client, statement: string): Promise<void> {
  await client.query(`set session_replication_role = replica; ${statement}`);
}

/**
 * What copies leave to be done: the log goes on behind them, and of the subscriptions of the
 * customer with much all but one are another's, who is not asked for. A wallet tells what all that
 * run have used so far.
 */
function settled({ customers, subscriptions }: Records): string {
  return `
    update log_heads h
       set last = greatest(last, (select max(position) from billing_events e
                                   where e.project_id = h.project_id),
                           (select max(position) from webhook_messages m
                             where m.project_id = h.project_id));
    update subscriptions
       set customer_id = (select id from customers where id <> '${customers}' order by id limit 1)
     where customer_id = '${customers}' and id <> '${subscriptions}';
    analyze`;
}

/** One of everything by the service's own acts, called as tests call it. */
async function makeRecords(context: Context, project: ProjectId, call: Site["call"]) {
  const ok = async (method: string, path: string, body?: object): Promise<Json> => {
    const { status, text } = await call(method as Method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  // As much of a test's app as is used of it.
  const app = { context, ok } as unknown as App;
  const own = new Client(app, { token: "", project });
  const records = await makeEveryRecord(own);
  const { payment } = await own.post("/v1/payments", paymentOf(await makeInvoice(own)));
  const refund = { payment_id: payment.id, amount_cents: 1, provider_refund_id: code("r") };
  await own.post("/v1/refunds", refund);
  return records;
}

async function countPages<T>(db: Pool, work: () => Promise<T>): Promise<readonly [T, number]> {
  const before = await pagesTouched(db);
  const result = await work();
  return [result, (await pagesTouched(db)) - before];
}

/** Those of this one connection's past too, which tells them once it is asked to. */
async function pagesTouched(db: Pool): Promise<number> {
  await db.run(sql`select pg_stat_force_next_flush()`);
  const { pages } = await db.one<{ pages: number }>(sql`
    select sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0)
               + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0)
               + coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0)
               + coalesce(tidx_blks_hit, 0) + coalesce(tidx_blks_read, 0))::bigint as pages
      from pg_statio_user_tables`);
  return pages;
}
