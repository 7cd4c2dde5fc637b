// Migrations beside processes that go on using the tables: nobody is told of a deadlock, nobody
// waits long, and who holds a table for good is named.

import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Connection } from "../../../src/store/db/db.ts";
import { relationsIn } from "../../../src/store/migration/locks.ts";
import { listMigrations, type Migration, migrate } from "../../../src/store/migration/migrate.ts";
import { emptyDatabase } from "../../support/database.ts";
import { until } from "../../support/processes.ts";

/** Writes to the tables that the migrations change, in the opposite of their own order. */
const WRITES = [
  "update portal_views set body = body where false",
  "update projects set name = name where false",
  "update customers set name = name where false",
  "update subscriptions set status = status where false",
  "update metrics set name = name where false",
  "update webhook_messages set event = event where false",
  "update billing_events set event_type = event_type where false",
];
const CALLERS = 6;
/** What a request waits for a lock. */
const LOCK_MS = 2_000;

let connection: Connection;
let drop: () => Promise<void>;
const clients: pg.Client[] = [];

beforeEach(async () => {
  ({ connection, drop } = await emptyDatabase());
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await drop();
});

async function open(): Promise<pg.Client> {
  const client = new pg.Client({
    ...connection,
    lock_timeout: LOCK_MS,
    application_name: "caller",
  });
  client.on("error", () => {});
  await client.connect();
  clients.push(client);
  return client;
}

type Seen = { count: number; most_ms: number; readonly errors: string[] };

/** Runs transactions over all the tables until it is told to stop. */
async function load(client: pg.Client, seen: Seen, run: { stop: boolean }): Promise<void> {
  while (!run.stop) {
    const start_ms = performance.now();
    try {
      await client.query("begin");
      for (const write of WRITES) {
        await client.query(write);
        await pause(2);
      }
      await client.query("commit");
    } catch (error) {
      seen.errors.push((error as Error).message);
      await client.query("rollback");
    }
    seen.count += 1;
    seen.most_ms = Math.max(seen.most_ms, performance.now() - start_ms);
  }
}

/** Until each caller has done so many more transactions than by now. */
function eachDoes(more: number, seen: readonly Seen[]): Promise<void> {
  const before = seen.map(({ count }) => count);
  return until(() => seen.every(({ count }, i) => count >= (before[i] ?? 0) + more));
}

test("under writes in the opposite order no caller fails or waits for two seconds", async () => {
  await migrate(connection);
  const run = { stop: false };
  const callers = await Promise.all(Array.from({ length: CALLERS }, open));
  const seen = callers.map((): Seen => ({ count: 0, most_ms: 0, errors: [] }));
  const loads = callers.map((client, i) => load(client, seen[i] as Seen, run));
  await eachDoes(4, seen);
  // Several in a row, each of which alone would meet the callers.
  const later = [90, 91, 92, 93].map((version) => ({
    version,
    name: `00${version}_again.sql`,
    text: WRITES.toReversed()
      .map((write) => `alter table ${write.split(" ")[1]} add column c${version} integer;`)
      .join("\n"),
  }));
  const lines: string[] = [];
  const all = [...(await listMigrations()), ...later];
  const applied = await migrate(connection, all, { say: (line) => lines.push(line) });
  await eachDoes(4, seen);
  run.stop = true;
  await Promise.all(loads);
  expect(applied).toContain("0093_again.sql");
  expect(seen.flatMap(({ errors }) => errors)).toEqual([]);
  expect(Math.min(...seen.map(({ count }) => count))).toBeGreaterThan(5);
  expect(Math.max(...seen.map(({ most_ms }) => most_ms))).toBeLessThan(LOCK_MS);
});

const ADDED: Migration = {
  version: 1,
  name: "0001_added.sql",
  text: "alter table a add column n integer; create index b_by_n on b (n);",
};

test("a table in use is asked for again and again, and those behind wait for moments", async () => {
  const [holder, reader] = [await open(), await open()];
  await holder.query("create table a (id integer); create table b (n integer)");
  await holder.query("begin; update b set n = n");
  const lines: string[] = [];
  const done = migrate(connection, [ADDED], { say: (line) => lines.push(line) });
  let most_ms = 0;
  while (lines.length < 3) {
    const start_ms = performance.now();
    await reader.query("select * from a");
    most_ms = Math.max(most_ms, performance.now() - start_ms);
    await pause(5);
  }
  await holder.query("commit");
  expect(await done).toEqual([ADDED.name]);
  expect(lines[2]).toMatch(/^Migration 0001_added\.sql waits .* of b \(attempt 3\); .* 800 ms\.$/);
  expect(most_ms).toBeLessThan(1_000);
});

test("who holds a table for too long is named, and nothing is applied", async () => {
  const holder = await open();
  await holder.query("create table a (id integer); create table b (n integer)");
  await holder.query("begin; update b set n = n");
  const { rows } = await holder.query("select pg_backend_pid() as pid");
  const refused = migrate(connection, [ADDED], { patience_ms: 500 });
  await expect(refused).rejects.toThrow(
    new RegExp(
      `0001_added\\.sql could not lock a, b .* In use by: process ${rows[0].pid} ` +
        '\\("caller", idle in transaction for \\d s\\)\\. End what is in the way',
    ),
  );
  await holder.query("rollback");
  expect((await holder.query("select * from schema_migrations")).rows).toEqual([]);
  expect(await migrate(connection, [ADDED])).toEqual([ADDED.name]);
});

test("locks are those of the statements, not of notes, texts and functions", () => {
  const text = `
    -- alter table noted;
    create table made (id uuid references parents);
    ALTER TABLE ONLY changed ADD COLUMN c text default 'update texts';
    create unique index on counted (id);
    create trigger t after update of id on watched for each row execute function f();
    create function f() returns trigger language plpgsql as $$
    begin
      update inside set id = 1;
    end $$;
    do $$ begin delete from done; end $$;
    update filled set id = 1; drop index shown; create policy p on walled using (true);`;
  const locks = Object.fromEntries(relationsIn(text));
  const [all, writes] = ["access exclusive", "share row exclusive"];
  expect(locks).toMatchObject({
    parents: writes,
    changed: all,
    counted: writes,
    watched: writes,
    done: writes,
    filled: writes,
    shown: all,
    walled: all,
  });
  for (const name of ["noted", "texts", "inside", "made"]) expect(locks).not.toHaveProperty(name);
});
