// Brings a database to the schema of this code: numbered files, once each, whoever starts first. On
// a cluster that is done at the coordinator; a process at a worker only compares.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import pg from "pg";
import { type Place, placeOf } from "./cluster-nodes.ts";
import type { Connection } from "./db.ts";
import { distributeLocal, prepareTransaction, releaseLocalRows } from "./distribution.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
const FILE_NAME = /^(\d{4})_[a-z0-9_-]+\.sql$/;
/** Any number, as long as nobody else uses it: all starters wait for one another on it. */
const MIGRATION_LOCK = 4_170_511;
const OLDEST_SERVER = 150_000;

export type Migration = { readonly version: number; readonly name: string; readonly text: string };

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

/** Returns the names of what it applied, of these migrations or those of this code. */
export async function migrate(
  connection: Connection,
  migrations?: readonly Migration[],
): Promise<string[]> {
  const client = new pg.Client({ ...connection, application_name: "dues migrate" });
  // When it breaks, the statement that waits for it fails by itself.
  client.on("error", () => {});
  await client.connect();
  try {
    await checkServer(client);
    const files = migrations ?? (await listMigrations());
    const place = await placeOf(client);
    if (place.kind === "worker") {
      await compare(client, files, place.coordinator);
      return [];
    }
    await lockMigrations(client);
    return await applyMissing(client, files);
  } finally {
    await client.end();
  }
}

export async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query("show server_version_num");
  if (Number(rows[0]?.server_version_num) < OLDEST_SERVER) {
    throw new SchemaError(
      "dues needs PostgreSQL 15 or newer. Point DATABASE_URL at such a server.",
    );
  }
}

/** Until the connection ends. Whoever else would change the schema waits. */
export async function lockMigrations(client: pg.Client): Promise<void> {
  await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
}

export type Applied = {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
};

export async function listApplied(client: pg.ClientBase): Promise<Applied[]> {
  const { rows } = await client.query<Applied>(
    "select version, name, checksum from schema_migrations order by version",
  );
  return rows;
}

export const MIGRATIONS_TABLE = `
  create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now())`;

/** Under `lockMigrations`, and not at a worker of a cluster. */
export async function applyMissing(
  client: pg.Client,
  migrations: readonly Migration[],
): Promise<string[]> {
  await client.query(MIGRATIONS_TABLE);
  const missing = missingOf(migrations, await listApplied(client));
  const place = await placeOf(client);
  for (const migration of missing) await apply(client, migration, place);
  if (missing.length > 0 && isDistributed(place)) await releaseLocalRows(client);
  return missing.map(({ name }) => name);
}

/** What is to be applied. Throws where the database has what these files do not say. */
function missingOf(migrations: readonly Migration[], applied: readonly Applied[]): Migration[] {
  const newest = applied.at(-1);
  if (newest !== undefined && !migrations.some(({ version }) => version === newest.version)) {
    throw new SchemaError(
      `The database has migration ${newest.name}, which this version of dues does not know. ` +
        "Start the newer version that made it.",
    );
  }
  const before = new Map(applied.map((row) => [row.version, row]));
  return migrations.filter((migration) => {
    const row = before.get(migration.version);
    if (row !== undefined && row.checksum !== checksum(migration)) {
      throw new SchemaError(
        `Migration ${migration.name} was changed after it was applied. Restore the file.`,
      );
    }
    return row === undefined;
  });
}

/** A worker's tables follow those of the coordinator, and Citus refuses to change them here. */
async function compare(
  client: pg.Client,
  migrations: readonly Migration[],
  coordinator: string,
): Promise<void> {
  const { rows } = await client.query("select to_regclass('schema_migrations') as found");
  const applied = rows[0]?.found === null ? [] : await listApplied(client);
  const missing = missingOf(migrations, applied);
  if (missing.length === 0) return;
  const act = applied.length === 0 ? "dues cluster distribute" : "dues migrate";
  throw new SchemaError(
    `DATABASE_URL names a worker of a cluster, where migration ${missing[0]?.name} is missing. ` +
      `Run "${act}" with DATABASE_URL at the coordinator, ${coordinator}, then start again.`,
  );
}

function isDistributed(place: Place): boolean {
  return place.kind === "coordinator" && place.is_distributed;
}

async function apply(client: pg.Client, migration: Migration, place: Place): Promise<void> {
  await client.query("begin");
  try {
    if (isDistributed(place)) await prepareTransaction(client);
    await applyWithin(client, migration);
    if (isDistributed(place)) await distributeLocal(client);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** Inside the caller's transaction, on plain PostgreSQL. */
export async function applyWithin(client: pg.Client, migration: Migration): Promise<void> {
  // First, so that two who got here anyway cannot both run it.
  await client.query(
    "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
    [migration.version, migration.name, checksum(migration)],
  );
  await client.query(migration.text);
}

export function checksum(migration: Migration): string {
  return createHash("sha256").update(migration.text).digest("hex");
}
