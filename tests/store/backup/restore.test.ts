// A backup loaded into an empty database: every row once, the schema as migrations make it, newer
// migrations applied, the hold set, counters raised; and whatever fails leaves nothing behind.

import { createHash } from "node:crypto";
import { createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { checkSecretKey } from "../../../src/service/open-store.ts";
import { takeBackup } from "../../../src/store/backup/backup.ts";
import { verifyBackup } from "../../../src/store/backup/format.ts";
import { loadBackup, type RestoreOptions } from "../../../src/store/backup/restore.ts";
import { endHold, readWaiting } from "../../../src/store/backup/resume.ts";
import type { Connection } from "../../../src/store/db/db.ts";
import { migrate } from "../../../src/store/migration/migrate.ts";
import { makeWorld } from "../../crash/world.ts";
import { type App, startApp } from "../../support/app.ts";
import { constraintsOf, contentsOf } from "../../support/contents.ts";
import { admin, emptyDatabase, onClient } from "../../support/database.ts";
import { LATER_NAMES, laterMigrations, TENANTS } from "../../support/later-versions.ts";

const NOW = new Date("2026-05-01T00:00:00.000Z");
const nobody = () => {};
const HEADS = "select project_id, last from log_heads order by project_id";

type LogHead = { readonly project_id: string; readonly last: string };

let app: App;
let folder: string;
let file: string;
/** What the database held when it was backed up: a later test writes more into it. */
let world: { contents: Awaited<ReturnType<typeof contentsOf>>; heads: LogHead[] };
let target: Awaited<ReturnType<typeof emptyDatabase>>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dues-restore-"));
  app = await startApp();
  await checkSecretKey(app.context.db, app.context.secret_key, NOW);
  await makeWorld(app);
  file = await backUp(app.connection, "world.gz");
  const heads = await onClient(app.connection, async (client) => (await client.query(HEADS)).rows);
  world = { contents: await contentsOf(app.connection), heads };
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  target = await emptyDatabase();
});
afterEach(() => target.drop());

async function backUp(connection: Connection, name: string): Promise<string> {
  const path = join(folder, name);
  await takeBackup(connection, createWriteStream(path), { now: NOW, onProgress: nobody });
  return path;
}

async function load(path = file, more: Partial<RestoreOptions> = {}) {
  const header = await verifyBackup(path, nobody);
  const options = { header, held_since: NOW, next_numbers: [], onProgress: nobody, ...more };
  return loadBackup(target.connection, path, options);
}

test("its key is kept first, so that no loaded database is without it", async () => {
  const beforeCommit = () => {
    throw new Error("the folder cannot be written");
  };
  await expect(load(file, { beforeCommit })).rejects.toThrow("the folder cannot be written");
  expect(await isBare()).toBe(true);
});

function ask<T>(text: string): Promise<T[]> {
  return onClient(target.connection, async (client) => (await client.query(text)).rows as T[]);
}

async function isBare(): Promise<boolean> {
  return (
    (await ask("select 1 from pg_class where relnamespace = 'public'::regnamespace")).length === 0
  );
}

/** The same file with its text changed, and its checksum with it. */
function forged(name: string, edit: (text: string) => string): string {
  const text = gunzipSync(readFileSync(file)).toString("latin1");
  const body = Buffer.from(edit(text.slice(0, text.lastIndexOf('{"sha256"'))), "latin1");
  const sha256 = createHash("sha256").update(body).digest("hex");
  const path = join(folder, name);
  writeFileSync(path, gzipSync(Buffer.concat([body, Buffer.from(`{"sha256":"${sha256}"}\n`)])));
  return path;
}

test("every row arrives once, under the same keys and triggers", async () => {
  const restored = await load();
  expect(await contentsOf(target.connection)).toEqual(world.contents);
  expect(await constraintsOf(target.connection)).toEqual(await constraintsOf(app.connection));
  expect(restored.left_out).toEqual([]);
  expect(restored.applied).toEqual([]);
  const invoices = restored.tables.find(({ table }) => table === "invoices");
  expect(invoices?.rows).toBeGreaterThan(5);
});

test("the database is held until the hold is ended, and shows what waits", async () => {
  await load();
  const held = await readWaiting(target.connection, NOW);
  expect(held.held_since).toEqual(NOW);
  expect(held.messages).toBeGreaterThan(0);
  expect(held.counters).toEqual([
    { project: "acme/main/test", year: 2025, last: expect.any(Number) },
  ]);
  await endHold(target.connection, []);
  expect((await readWaiting(target.connection, NOW)).held_since).toBeNull();
});

test("the log goes on behind every position that was given out since the backup", async () => {
  await load();
  const after = await ask<LogHead>(HEADS);
  const moved = world.heads.map(({ project_id, last }) => {
    return { project_id, last: String(Number(last) + 1_000_000_000) };
  });
  expect(after).toEqual(moved);
});

test("counters are raised and never lowered, for one project or for all", async () => {
  const counters = async () => (await readWaiting(target.connection, NOW)).counters;
  const project = app.profile.project_id;
  await load(file, {
    next_numbers: [{ project: undefined, year: 2026, next: 7, series: "invoices" as const }],
  });
  expect((await counters()).filter(({ year }) => year === 2026).map(({ last }) => last)).toEqual(
    (await ask("select id from projects")).map(() => 6),
  );
  await endHold(target.connection, [{ project, year: 2026, next: 3, series: "invoices" }]);
  await endHold(target.connection, [
    { project: "acme/main/test", year: 2026, next: 1234, series: "invoices" as const },
  ]);
  expect(await counters()).toContainEqual({ project: "acme/main/test", year: 2026, last: 1233 });
});

test("counters of credit notes are raised apart from those of invoices", async () => {
  const series = "credit notes" as const;
  await load(file, { next_numbers: [{ project: "test", year: 2031, next: 9, series }] });
  const raised = await ask("select year, last from credit_note_counters where year = 2031");
  expect(raised).toEqual([{ year: 2031, last: 8 }]);
  expect(await ask("select 1 from invoice_counters where year = 2031")).toEqual([]);
});

test("a project that is not there is named with those that are, and nothing is kept", async () => {
  const next_numbers = [{ project: "nowhere", year: 2026, next: 7, series: "invoices" as const }];
  await expect(load(file, { next_numbers })).rejects.toThrow(
    "are: acme/main/empty, acme/main/test",
  );
  expect(await isBare()).toBe(true);
});

test("a database with rows is refused and stays as it is", async () => {
  await load();
  const before = await contentsOf(target.connection);
  await expect(load()).rejects.toThrow("is not empty");
  expect(await contentsOf(target.connection)).toEqual(before);
});

test("tables of somebody else are refused, though they are empty", async () => {
  await admin(target.connection, "create table theirs (a integer)");
  await expect(load()).rejects.toThrow("is not empty");
});

test("an empty schema of this version is filled", async () => {
  await migrate(target.connection);
  await load();
  expect(await contentsOf(target.connection)).toEqual(world.contents);
});

test("an empty schema of another version is refused", async () => {
  await migrate(target.connection, await laterMigrations());
  await expect(load()).rejects.toThrow("Restore into a database without tables");
});

test("a backup of an older schema is brought to this one, and held", async () => {
  const old = await emptyDatabase();
  try {
    await migrate(old.connection);
    await admin(old.connection, TENANTS);
    const key =
      "insert into installation (secret_check, created_at) values ('\\x00', '2026-01-01')";
    await admin(old.connection, key);
    const path = await backUp(old.connection, "old.gz");
    const migrations = await laterMigrations();
    expect((await load(path, { migrations })).applied).toEqual(LATER_NAMES);
    expect(await ask("select held_since from installation")).toEqual([{ held_since: NOW }]);
    expect(await ask("select motto from projects")).toEqual([{ motto: "live" }, { motto: "live" }]);
    await migrate(old.connection, migrations);
    expect(await constraintsOf(target.connection)).toEqual(await constraintsOf(old.connection));
  } finally {
    await old.drop();
  }
});

test("a backup of a newer version is refused", async () => {
  const newer = forged("newer.gz", (text) => text.replace('"version":1,', '"version":99,'));
  await expect(load(newer)).rejects.toThrow("which this version of dues does not know");
  expect(await isBare()).toBe(true);
});

test("a row that leads nowhere is found by its foreign key, and nothing is kept", async () => {
  const lost = forged("lost.gz", (text) => {
    const [table = ""] = /\{"table":"customers".*?\n\\\.\n\{"rows":\d+\}\n/s.exec(text) ?? [];
    return text.replace(table, table.replace(/\n[\s\S]*?\n\\\.\n.*\n/, '\n\\.\n{"rows":0}\n'));
  });
  await expect(load(lost)).rejects.toThrow(/foreign key/);
  expect(await isBare()).toBe(true);
});

test("a table that is none of ours is left out and named", async () => {
  const more = forged("more.gz", (text) => {
    return `${text}{"table":"theirs","columns":["a"]}\n1\n2\n\\.\n{"rows":2}\n`;
  });
  expect((await load(more)).left_out).toEqual(["theirs"]);
});

test("a backup that is taken while rows are written has one state of them", async () => {
  let writing = true;
  const writer = (async () => {
    for (let n = 0; writing; n++) {
      const event = { transaction_id: `during-${n}`, subscription_id: "ext:s1", code: "calls" };
      await app.call("POST", "/v1/events", { ...event, properties: { n: "1" } });
    }
  })();
  try {
    await load(await backUp(app.connection, "during.gz"));
  } finally {
    writing = false;
    await writer;
  }
  const sums = await ask<{ counted: string; summed: string }>(`
    select (select count(*) from usage_events where unbillable is null) as counted,
           (select sum(events)
              from (select events from usage_days union all select events from usage_parts) d)
             as summed`);
  expect(sums[0]?.counted).toBe(sums[0]?.summed);
});
