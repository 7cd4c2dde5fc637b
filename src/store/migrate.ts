// Brings a database to the schema of this code: numbered files, once each, whoever starts first.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import pg from "pg";
import type { Connection } from "./db.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
const FILE_NAME = /^(\d{4})_[a-z0-9_-]+\.sql$/;
/** Any number, as long as nobody else uses it: all starters wait for one another on it. */
const MIGRATION_LOCK = 4_170_511;
const OLDEST_SERVER = 150_000;

type Migration = { readonly version: number; readonly name: string; readonly text: string };

/** The schema and this code do not fit. The message says what to do. */
export class SchemaError extends Error {}

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => FILE_NAME.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({
      version: Number(FILE_NAME.exec(name)?.[1]),
      name,
      text: await readFile(new URL(name, FOLDER), "utf8"),
    })),
  );
}

export async function schemaVersion(): Promise<number> {
  return (await listMigrations()).at(-1)?.version ?? 0;
}

/** Returns the names of what it applied. */
export async function migrate(connection: Connection): Promise<string[]> {
  const client = new pg.Client({ ...connection, application_name: "dues migrate" });
  await client.connect();
  try {
    await checkServer(client);
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    return await applyMissing(client);
  } finally {
    await client.end();
  }
}

async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query("show server_version_num");
  if (Number(rows[0]?.server_version_num) < OLDEST_SERVER) {
    throw new SchemaError(
      "dues needs PostgreSQL 15 or newer. Point DATABASE_URL at such a server.",
    );
  }
}

async function applyMissing(client: pg.Client): Promise<string[]> {
  await client.query(`
    create table if not exists schema_migrations (
      version integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now())`);
  const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
    "select version, name, checksum from schema_migrations order by version",
  );
  const applied = new Map(rows.map((row) => [row.version, row]));
  const migrations = await listMigrations();
  const newest = rows.at(-1);
  if (newest !== undefined && !migrations.some(({ version }) => version === newest.version)) {
    throw new SchemaError(
      `The database has migration ${newest.name}, which this version of dues does not know. ` +
        "Start the newer version that made it.",
    );
  }
  const done: string[] = [];
  for (const migration of migrations) {
    const before = applied.get(migration.version);
    if (before === undefined) {
      await apply(client, migration);
      done.push(migration.name);
    } else if (before.checksum !== checksum(migration)) {
      throw new SchemaError(
        `Migration ${migration.name} was changed after it was applied. Restore the file.`,
      );
    }
  }
  return done;
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query("begin");
  try {
    // First, so that two who got here anyway cannot both run it.
    await client.query(
      "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
      [migration.version, migration.name, checksum(migration)],
    );
    await client.query(migration.text);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

function checksum(migration: Migration): string {
  return createHash("sha256").update(migration.text).digest("hex");
}
