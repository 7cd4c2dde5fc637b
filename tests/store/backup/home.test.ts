// A database that was brought into another PostgreSQL, or copied, issues nothing by itself.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { checkSecretKey } from "../../../src/service/open-store.ts";
import { holdIfMoved } from "../../../src/store/backup/home.ts";
import { heldSince } from "../../../src/store/backup/installation.ts";
import { endHold, readWaiting } from "../../../src/store/backup/resume.ts";
import { Pool } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { type App, startApp } from "../../support/app.ts";
import { admin, dropDatabase, onClient, onDatabase, testDatabase } from "../../support/database.ts";

const WAIT = { timeout: 10_000, interval: 20 };
const NOW = new Date("2026-05-01T00:00:00.000Z");

let app: App;
beforeAll(async () => {
  app = await startApp();
  await checkSecretKey(app.context.db, app.context.secret_key, NOW);
});
afterAll(() => app.close());

async function start(): Promise<Date | null> {
  await holdIfMoved(app.connection, NOW);
  return heldSince(app.context.db);
}

async function lastInLog(): Promise<number> {
  const { last } = await app.context.db.one<{ last: number }>(sql`
    select max(last)::float8 as last
      from log_heads`);
  return last;
}

test("one that stays where it was set up goes on, start after start", async () => {
  expect([await start(), await start()]).toEqual([null, null]);
});

test("one that comes from another PostgreSQL is held until somebody says go on", async () => {
  await start();
  // What a dump of another server brings.
  await app.context.db.run(sql`update installation set home = '7000000000000000001/16384'`);
  const before = await lastInLog();
  expect([await start(), await start()]).toEqual([NOW, NOW]);
  // Readers may have seen entries that the dump has not.
  expect(await lastInLog()).toBe(before + 1_000_000_000);
  const { customer } = await app.post("/v1/customers", { external_id: "c", name: "C" });
  const lines = [{ name: "x", unit_amount_cents: 100 }];
  const asked = { customer_id: customer.id, currency: "USD", lines };
  const refused = await app.call("POST", "/v1/invoices", asked);
  expect([refused.status, refused.body.error.code]).toEqual([503, "unavailable"]);
  expect(await readWaiting(app.connection, NOW)).toMatchObject({ held_since: NOW, moved: true });
  await endHold(app.connection, []);
  expect(await readWaiting(app.connection, NOW)).toMatchObject({ held_since: null, moved: false });
  expect(await start()).toBeNull();
  expect((await app.call("POST", "/v1/invoices", asked)).status).toBe(201);
});

test("one that two processes find at once is held once", async () => {
  await start();
  await app.context.db.run(sql`update installation set home = '7000000000000000001/16384'`);
  const before = await lastInLog();
  await onClient(app.connection, async (client) => {
    await client.query("begin");
    await client.query("select 1 from installation for no key update");
    const both = Promise.all([start(), start()]);
    await vi.waitFor(async () => {
      // By another connection: within its transaction this one would see the same state each time.
      const { waiting } = await app.context.db.one<{ waiting: number }>(sql`
        select count(*)::integer as waiting
          from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`);
      expect(waiting).toBe(2);
    }, WAIT);
    await client.query("commit");
    await both;
  });
  expect(await lastInLog()).toBe(before + 1_000_000_000);
  await endHold(app.connection, []);
});

test("a copy beside it, in the same PostgreSQL, is held as well", async () => {
  const { connection, drop } = await testDatabase();
  const copy = `${inject("template")}_copy_${randomBytes(4).toString("hex")}`;
  const options = { max: 1, statement_timeout_ms: 5_000, lock_timeout_ms: 5_000 };
  const from = new Pool(connection, { ...options, application_name: "the first" });
  await checkSecretKey(from, app.context.secret_key, NOW);
  await holdIfMoved(connection, NOW);
  await from.end();
  const server = inject("server");
  await admin(server, `create database ${copy} template ${connection.database}`);
  await holdIfMoved(onDatabase(server, copy), NOW);
  const there = new Pool(onDatabase(server, copy), { ...options, application_name: "the copy" });
  expect(await heldSince(there)).toEqual(NOW);
  await there.end();
  await dropDatabase(server, copy);
  await drop();
});
