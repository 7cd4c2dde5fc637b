// Brings a database to the schema of this code: numbered files, once each, whoever starts first. On
// a cluster that is done at the coordinator; a process at a worker only compares.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { MIGRATIONS } from "../../built.ts";
import { type Place, placeOf } from "../db/cluster-nodes.ts";
import { connect } from "../db/connect.ts";
import type { Connection } from "../db/db.ts";
import { statementsOf } from "../db/sql-statements.ts";
import { distributeLocal, prepareTransaction, releaseLocalRows } from "./distribution.ts";
import { holdersOf, holdersOnNodes, isInTheWay, LockOrder, locksOf, takeLocks } from "./locks.ts";
import { portionedTable, runInPortions } from "./portions.ts";

const FILE_NAME = /^(\d{4})_[a-z0-9_-]+\.sql$/;
/** The advisory lock on which all starters wait for one another: any number nobody else uses. */
const MIGRATION_LOCK = 4_170_511;
const OLDEST_SERVER = 150_000;
/** How long a migration is tried while others use its tables, and the pauses between tries. */
const PATIENCE_MS = 120_000;
const PAUSE_MS = { first: 200, most: 5_000 };

export type Migration = { readonly version: number; readonly name: string; readonly text: string };

/** The schema and this code do not fit. The message says what to do. */
export class SchemaError extends Error {}

export async function listMigrations(): Promise<Migration[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => FILE_NAME.test(name)).sort();
  return Promise.all(
    names.map(async (name) => ({
      version: Number(FILE_NAME.exec(name)?.[1]),
      name,
      text: await readFile(new URL(name, MIGRATIONS), "utf8"),
    })),
  );
}

export async function schemaVersion(): Promise<number> {
  return (await listMigrations()).at(-1)?.version ?? 0;
}

export type MigrationProgress = {
  /** Told when one begins, and how many of all that are missing came before it. */
  migrating?(name: string, before: number, total: number): void;
  migrated?(name: string, ms: number): void;
};

export type Patience = {
  readonly progress?: MigrationProgress;
  /** Told when a migration has to wait for others, as a sentence. */
  readonly say?: (line: string) => void;
  readonly patience_ms?: number;
};

/** Applies what is missing of these migrations, or of this code's, and returns their names. */
export async function migrate(
  connection: Connection,
  migrations?: readonly Migration[],
  patience: Patience = {},
): Promise<string[]> {
  const client = await connect(connection, "dues migrate");
  try {
    await checkServer(client);
    const files = migrations ?? (await listMigrations());
    const place = await placeOf(client);
    if (place.kind === "worker") {
      await compare(client, files, place.coordinator);
      return [];
    }
    await lockMigrations(client);
    return await applyMissing(client, files, patience);
  } finally {
    await client.end();
  }
}

export const ENCODING = "UTF8";

/** The refusal of a database in which what callers send could not be kept, or not be found. */
export function wrongEncoding(name: string, encoding: string): string {
  return (
    `The database ${name} is encoded in ${encoding}, and dues needs ${ENCODING}. Make another one, ` +
    `with another name: create database dues_utf8 encoding '${ENCODING}' locale 'C.UTF-8' ` +
    "template template0; and point DATABASE_URL at it. What is in this one, dues backup and dues " +
    "restore move."
  );
}

export async function checkServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`
    select current_setting('server_version_num')::integer as version,
           current_setting('server_encoding') as encoding, current_database() as name`);
  const { version, encoding, name } = rows[0] ?? {};
  if (version < OLDEST_SERVER) {
    throw new SchemaError(
      "dues needs PostgreSQL 15 or newer. Point DATABASE_URL at such a server.",
    );
  }
  if (encoding !== ENCODING) throw new SchemaError(wrongEncoding(name, encoding));
}

/** Locks the schema until the connection ends: whoever else would change it waits. */
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

/** Applies what is missing, under `lockMigrations` and not at a worker of a cluster. */
export async function applyMissing(
  client: pg.Client,
  migrations: readonly Migration[],
  patience: Patience = {},
): Promise<string[]> {
  await client.query(MIGRATIONS_TABLE);
  const missing = missingOf(migrations, await listApplied(client));
  const place = await placeOf(client);
  const turn = { client, place, order: new LockOrder(), ...patience };
  for (const [before, migration] of missing.entries()) {
    const start_ms = performance.now();
    patience.progress?.migrating?.(migration.name, before, missing.length);
    await applyPatiently(turn, migration);
    patience.progress?.migrated?.(migration.name, Math.round(performance.now() - start_ms));
  }
  if (missing.length > 0 && isDistributed(place)) await releaseLocalRows(client);
  return missing.map(({ name }) => name);
}

/** The migrations to apply. Throws where the database has what these files do not say. */
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

/** Refuses a worker that lacks migrations: its tables follow the coordinator's, changed there. */
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

type Turn = Patience & {
  readonly client: pg.Client;
  readonly place: Place;
  readonly order: LockOrder;
};

/**
 * Processes of the version before may be serving. A migration that finds them in its way gives back
 * what it has locked and tries again, so that they wait for less than a second each time. The pause
 * grows while it is the same table that somebody holds.
 */
async function applyPatiently(turn: Turn, migration: Migration): Promise<void> {
  const { order, say = () => {}, patience_ms = PATIENCE_MS } = turn;
  const until_ms = performance.now() + patience_ms;
  let [tries, pause_ms, before] = [0, PAUSE_MS.first, order.front];
  for (;;) {
    try {
      return await apply(turn, migration);
    } catch (error) {
      if (!isInTheWay(error)) throw error;
      if (performance.now() >= until_ms) throw await refusedFor(turn, migration, patience_ms);
    }
    tries += 1;
    pause_ms =
      tries > 1 && order.front === before ? Math.min(pause_ms * 2, PAUSE_MS.most) : PAUSE_MS.first;
    before = order.front;
    say(
      `Migration ${migration.name} waits for others to let go of ${before ?? "its tables"} ` +
        `(attempt ${tries}); it is tried again in about ${pause_ms} ms.`,
    );
    // A part of the pause is left to chance, so that it does not keep time with what is in the way.
    await delay(pause_ms * (0.5 + Math.random()));
  }
}

async function refusedFor(
  { client, place }: Turn,
  migration: Migration,
  patience_ms: number,
): Promise<SchemaError> {
  const locks = await locksOf(client, migration.text);
  const holders = await (isDistributed(place) ? holdersOnNodes : holdersOf)(client, locks);
  const seen = holders.length === 0 ? "nobody just now" : holders.join(", ");
  return new SchemaError(
    `Migration ${migration.name} could not lock ${locks.map(({ table }) => table).join(", ")} ` +
      `for ${Math.round(patience_ms / 1000)} s; nothing of it was applied. In use by: ${seen}. ` +
      "End what is in the way, with pg_terminate_backend(process) for one, and start again.",
  );
}

async function apply(turn: Turn, migration: Migration): Promise<void> {
  const { client, place, order } = turn;
  const portioned = portionedTable(migration);
  if (portioned !== undefined) {
    const [statement = ""] = statementsOf(migration.text);
    await runInPortions(client, statement, portioned, (work) => inTransaction(client, work));
    return record(client, migration);
  }
  await inTransaction(client, async () => {
    if (isDistributed(place)) await prepareTransaction(client);
    await takeLocks(client, await locksOf(client, migration.text), order);
    await applyWithin(client, migration);
    if (isDistributed(place)) await distributeLocal(client);
  });
}

async function inTransaction(client: pg.Client, work: () => Promise<unknown>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

/** Applies a migration in the caller's transaction, on plain PostgreSQL. */
export async function applyWithin(client: pg.Client, migration: Migration): Promise<void> {
  // First, so that two who got here anyway cannot both run it.
  await record(client, migration);
  const statements = statementsOf(migration.text);
  const portioned = portionedTable(migration);
  if (portioned === undefined) {
    for (const statement of statements) await client.query(statement);
    return;
  }
  await runInPortions(client, statements[0] ?? "", portioned, (work) => work());
}

async function record(client: pg.Client, migration: Migration): Promise<void> {
  await client.query(
    "insert into schema_migrations (version, name, checksum) values ($1, $2, $3)",
    [migration.version, migration.name, checksum(migration)],
  );
}

/** The checksum that schema_migrations keeps. */
export function checksum(migration: Migration): string {
  return createHash("sha256").update(migration.text).digest("hex");
}
