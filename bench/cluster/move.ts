// Measures how long it takes to move a large database from one PostgreSQL to a cluster, step by
// step as docs/SCALING.md describes it: dump and restore, distribute, serve. Then checks that every
// row and every sum is the same as before, and that a reader of the log goes on with its old cursor
// and gets each entry once.

import { strict as assert } from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";

import { type Connection, Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { growBooks } from "../books.ts";
import type { Write } from "../load.ts";
import { amount, type Bench, type Figure } from "../report.ts";
import {
  call,
  databaseUrl,
  figure,
  headersOf,
  load,
  print,
  type Side,
  type Stage,
  startService,
} from "../stage.ts";
import { assertOnWorker, clusterServers, distributeAll, emptyCluster, openPlain } from "./stage.ts";

const START = new Date("2026-01-01T00:00:00.000Z");
/**
 * The project's clock stands still, so that its analytics are the same whenever they are asked:
 * after the payments of the last month, and before anything is overdue.
 */
const NOW = new Date("2026-01-10T12:00:00.000Z");
const CUSTOMERS = 2_000;
const QUICK_CUSTOMERS = 200;
const INVOICES_EACH = 10;
const EVENTS_EACH = 500;
const DAYS = 5;
/** Entries of the log that are made before the move, and after it. */
const CHANGES = { before: 1_000, after: 200 };
const PAGE = 100;
const PAGES_BEFORE = 3;
/** By then the workers have added up the deltas of the totals, every 2 s. */
const FOLD_MS = 5_000;
/** Cursors are signed with it: the service keeps it when its database moves. */
const KEPT = { SECRET_KEY: "the same key before and after the move" };

export const benchMove: Bench = async ({ quick }) => {
  const customers = quick ? QUICK_CUSTOMERS : CUSTOMERS;
  const servers = clusterServers();
  const old = await openPlain(servers, (stage) => fill(stage, customers));
  const closing = [() => old.end()];
  try {
    const reader = new Follower();
    const analytics = await serving(old, "api", async (service) => {
      await change(old, service, CHANGES.before);
      await reader.follow(old, service, PAGES_BEFORE);
      return call<object>(old, service, "/v1/analytics");
    });
    const rows = await contentsOf(old.db);
    const cluster = await emptyCluster(servers);
    closing.push(() => cluster.drop());
    const [coordinator] = cluster.nodes;
    const figures = [
      await step("pg_dump | pg_restore", () => copy(old.connection, coordinator)),
      await step("dues cluster distribute", () => distributeAll(coordinator)),
    ];
    const moved = { ...old, connection: coordinator, db: poolOn(coordinator) };
    closing.push(() => moved.db.end());
    await assertOnWorker(moved.db, moved.profile.project_id);
    assert.deepEqual(await contentsOf(moved.db), rows, "every row and every sum");
    const began = performance.now();
    await serving(moved, "all", async (service) => {
      await ready(service);
      figures.push(printed("dues serve until it is ready", began));
      const assertAnalytics = async () => {
        const after = await call<object>(moved, service, "/v1/analytics");
        assert.deepEqual(after, analytics, "the same analytics to the cent");
      };
      await assertAnalytics();
      await change(moved, service, CHANGES.after);
      await reader.follow(moved, service);
      await record(moved, service);
      await pause(FOLD_MS);
      await assertAnalytics();
    });
    reader.assertComplete(await logOf(moved));
    return figures.map((one) => ({ ...one, name: `${one.name}, ${sizeOf(customers)}` }));
  } finally {
    for (const close of closing.reverse()) await close();
  }
};

function sizeOf(customers: number): string {
  const [events, invoices] = [customers * EVENTS_EACH, customers * INVOICES_EACH];
  return `${events.toLocaleString("en")} events, ${invoices.toLocaleString("en")} invoices`;
}

function fill(stage: Stage, customers: number): Promise<void> {
  const each = { events_each: EVENTS_EACH, invoices_each: INVOICES_EACH };
  return growBooks(stage, { customers, ...each, start: START, now: NOW, days: DAYS });
}

async function step(name: string, work: () => Promise<unknown>): Promise<Figure> {
  const began = performance.now();
  await work();
  return printed(name, began);
}

function printed(name: string, began: number): Figure {
  const seconds = (performance.now() - began) / 1_000;
  print(name, `${figure(seconds)} s`);
  return amount(`move: ${name}`, "s", seconds, null);
}

async function serving<T>(
  stage: Stage,
  role: "api" | "all",
  work: (service: Side) => Promise<T>,
): Promise<T> {
  const service = await startService(stage, role, KEPT);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

async function ready(service: Side): Promise<void> {
  const answer = await fetch(`${service.url}/readyz`);
  assert.equal(answer.status, 200, await answer.text());
}

function poolOn(connection: Connection): Pool {
  const timeouts = { statement_timeout_ms: 600_000, lock_timeout_ms: 10_000 };
  return new Pool(connection, { max: 2, ...timeouts, application_name: "dues bench" });
}

/** pg_dump and pg_restore of PG_BIN, else those of the path. */
async function copy(from: Connection, to: Connection): Promise<void> {
  const program = (name: string) => join(process.env.PG_BIN ?? "", name);
  const dump = spawn(program("pg_dump"), ["-Fc", "-d", databaseUrl(from)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const restore = spawn(program("pg_restore"), ["--no-owner", "-d", databaseUrl(to)], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  const [dumped, restored] = await Promise.all([
    once(dump, "close"),
    once(restore, "close"),
    pipeline(dump.stdout, restore.stdin),
  ]);
  assert.deepEqual([dumped[0], restored[0]], [0, 0], "both copied everything");
}

/** The rows of each table, and the sums of all its numbers: money, usage, positions. */
async function contentsOf(db: Pool): Promise<Record<string, unknown>> {
  const tables = await db.many<{ name: string; sums: string }>(sql`
    select c.relname as name,
           coalesce(string_agg(', sum(' || quote_ident(a.attname) || ')::text as '
                               || quote_ident(a.attname), '' order by a.attname), '') as sums
      from pg_class c
      left join pg_attribute a
        on a.attrelid = c.oid and not a.attisdropped and a.attnum > 0
       and a.atttypid in ('bigint'::regtype, 'integer'::regtype, 'numeric'::regtype)
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
       and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')
     group by c.relname
     order by c.relname collate "C"`);
  assert.ok(tables.length > 30, "all tables are looked at");
  const contents: Record<string, unknown> = {};
  for (const { name, sums } of tables) {
    const text = `select count(*) as rows${sums} from ${name}`;
    contents[name] = await db.one<object>({ text, values: [] });
  }
  return contents;
}

async function change(stage: Stage, service: Side, count: number): Promise<void> {
  const writes = Array.from({ length: count }, (_, n): Write => {
    const path = `/v1/customers/ext:c${1 + (n % QUICK_CUSTOMERS)}`;
    return { method: "PATCH", path, body: { name: `Name ${n}` } };
  });
  const mix = [{ ask: { kind: "writes" as const, writes }, times: 1 }];
  const how = { connections: 4, seconds: 600, requests: count };
  const result = await load({ url: service.url, headers: headersOf(stage), mix, ...how });
  assert.equal(result.refused, 0, "every change is answered");
}

/** The clock stands at noon, and the event is of that day. */
async function record(stage: Stage, service: Side): Promise<void> {
  const event = { transaction_id: "after the move", subscription_id: "ext:s1", code: "calls" };
  const timestamp = NOW.toISOString();
  const sent = { ...event, timestamp, properties: { n: "3" } };
  const answer = await call<object>(stage, service, "/v1/events", sent);
  assert.deepEqual(answer, { accepted: true, duplicate: false });
}

type LogPage = { billing_events: { id: string }[]; cursor: string; has_more: boolean };

/** Reads the log page by page and remembers where it was. */
class Follower {
  readonly #ids: string[] = [];
  #cursor: string | undefined;

  async follow(stage: Stage, service: Side, pages = Number.POSITIVE_INFINITY): Promise<void> {
    for (let n = 0; n < pages; n++) {
      const behind = this.#cursor === undefined ? "" : `&cursor=${this.#cursor}`;
      const path = `/v1/billing-events?order=asc&limit=${PAGE}${behind}`;
      const page = await call<LogPage>(stage, service, path);
      this.#ids.push(...page.billing_events.map(({ id }) => id));
      this.#cursor = page.cursor;
      if (!page.has_more) return;
    }
  }

  assertComplete(log: readonly string[]): void {
    assert.ok(log.length >= CHANGES.before + CHANGES.after, "old entries and new ones");
    assert.deepEqual(this.#ids, log, "every entry once, in the order of the log");
  }
}

async function logOf({ db, profile }: { db: Pool; profile: Stage["profile"] }): Promise<string[]> {
  const rows = await db.many<{ id: string }>(sql`
    select id from billing_events where project_id = ${profile.project_id} order by position`);
  return rows.map(({ id }) => id);
}
