// Loads a backup into an empty database, in one transaction: the schema that the backup was made
// with, its rows, foreign keys checked, the migrations that came later, and the hold. Whatever ends
// it early leaves the database as it was.

import pg from "pg";
import { placeOf } from "../db/cluster-nodes.ts";
import { connect } from "../db/connect.ts";
import { copyIn } from "../db/copy.ts";
import type { Connection } from "../db/db.ts";
import { dropKeysAndTriggers, prepareTransaction } from "../migration/distribution.ts";
import {
  applyWithin,
  checkServer,
  checksum,
  listApplied,
  listMigrations,
  lockMigrations,
  MIGRATIONS_TABLE,
  type Migration,
} from "../migration/migrate.ts";
import { SESSION, type TableCount } from "./backup.ts";
import { BackupError, type BackupHeader, type OnBytesRead, readTables } from "./format.ts";
import { hold } from "./home.ts";
import { type NextNumber, type PassedCounter, raiseCounters } from "./invoice-counters.ts";

export type RestoreOptions = {
  readonly header: BackupHeader;
  /** The instant from which the database is held; null where it goes on at once. */
  readonly held_since: Date | null;
  readonly next_numbers: readonly NextNumber[];
  readonly onProgress: OnBytesRead;
  /** Called when all is loaded and nothing is committed: without its key a backup is no use. */
  readonly beforeCommit?: () => void;
  /** Migrations to use instead of those of this code. */
  readonly migrations?: readonly Migration[];
};

export type Restored = {
  readonly tables: readonly TableCount[];
  /** Tables of the file that are none of ours. */
  readonly left_out: readonly string[];
  /** Migrations that are newer than the backup. */
  readonly applied: readonly string[];
  /** Counters that were higher already than they should be raised to. */
  readonly passed: readonly PassedCounter[];
};

export async function loadBackup(
  connection: Connection,
  file: string,
  options: RestoreOptions,
): Promise<Restored> {
  const client = await connect(connection, "dues restore");
  try {
    await checkServer(client);
    await client.query(SESSION);
    await lockMigrations(client);
    await client.query("begin");
    const restored = await loadWithin(client, file, options);
    options.beforeCommit?.();
    await client.query("commit");
    // Until it has figures about the new rows the server may choose slow ways to them. It makes
    // them by itself within minutes, so the restore has succeeded without this too.
    await client.query("analyze").catch(() => {});
    return restored;
  } finally {
    await client.end();
  }
}

async function loadWithin(
  client: pg.Client,
  file: string,
  { header, held_since, next_numbers, onProgress, migrations }: RestoreOptions,
): Promise<Restored> {
  const { known, newer } = compare(migrations ?? (await listMigrations()), header);
  const place = await placeOf(client);
  if (place.kind === "worker") {
    throw new BackupError(
      `DATABASE_URL names a worker of a cluster. Point it at the coordinator, ${place.coordinator}.`,
    );
  }
  const is_distributed = place.kind === "coordinator" && place.is_distributed;
  if (is_distributed) await prepareTransaction(client);
  await makeSchema(client, known, newer, is_distributed);
  const loaded = await loadTables(client, file, onProgress);
  for (const migration of newer) await applyWithin(client, migration);
  // The next start keeps where it is now.
  await client.query("update installation set home = null");
  const passed = await raiseCounters(client, next_numbers);
  if (held_since !== null) await hold(client, held_since);
  return { ...loaded, applied: newer.map(({ name }) => name), passed };
}

/** Which of our migrations the backup has, and which came later. */
function compare(ours: readonly Migration[], { migrations }: BackupHeader) {
  for (const { version, name, checksum: theirs } of migrations) {
    const own = ours.find((each) => each.version === version);
    if (own === undefined || checksum(own) !== theirs) {
      throw new BackupError(
        `The backup has migration ${name}, which this version of dues does not know. Restore it ` +
          "with the version that made it.",
      );
    }
  }
  const versions = new Set(migrations.map(({ version }) => version));
  return {
    known: ours.filter(({ version }) => versions.has(version)),
    newer: ours.filter(({ version }) => !versions.has(version)),
  };
}

/** Makes the schema. The database has no tables, or those of the backup's schema without rows. */
async function makeSchema(
  client: pg.Client,
  known: readonly Migration[],
  newer: readonly Migration[],
  is_distributed: boolean,
): Promise<void> {
  const tables = await listTables(client);
  if (tables.length === 0) {
    await client.query(MIGRATIONS_TABLE);
    for (const migration of known) await applyWithin(client, migration);
    return;
  }
  if (!tables.includes("schema_migrations")) throw notEmpty(tables[0] ?? "");
  for (const name of tables) {
    const isEmpty = name === "schema_migrations" || !(await hasRows(client, name));
    if (!isEmpty) throw notEmpty(name);
  }
  const applied = await listApplied(client);
  const isSame =
    applied.length === known.length &&
    applied.every(({ version }, i) => version === known[i]?.version);
  if (isSame && (newer.length === 0 || !is_distributed)) return;
  throw new BackupError(
    `The database has the schema of ${applied.at(-1)?.name}, and the backup that of ` +
      `${known.at(-1)?.name}. Restore into a database without tables` +
      `${is_distributed ? ", then run: dues cluster distribute" : "."}`,
  );
}

function notEmpty(table: string): BackupError {
  return new BackupError(
    `The database is not empty (there are rows in ${table}): a backup is restored into an empty ` +
      "one. Set DUES_DATA to another folder, or DATABASE_URL to another database.",
  );
}

async function hasRows(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query(`select 1 from ${pg.escapeIdentifier(table)} limit 1`);
  return rows.length > 0;
}

async function listTables(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(`
    select c.relname as name
      from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition
       and not exists (select 1 from pg_depend e where e.objid = c.oid and e.deptype = 'e')
     order by c.relname collate "C"`);
  return rows.map(({ name }) => name);
}

/**
 * Loads the rows without foreign keys, so that tables come in any order and all rows are checked
 * together when the keys are made anew; and without triggers, whose effects are in the backup.
 */
async function loadTables(client: pg.Client, file: string, onProgress: OnBytesRead) {
  const present = new Set(await listTables(client));
  const dropped = await dropKeysAndTriggers(
    client,
    [...present].map((name) => ({ name })),
  );
  const tables: TableCount[] = [];
  const left_out: string[] = [];
  for await (const { table, columns, rows, count } of readTables(file, onProgress)) {
    if (!present.has(table)) {
      for await (const _ of rows);
      left_out.push(table);
      continue;
    }
    const names = columns.map((column) => pg.escapeIdentifier(column)).join(", ");
    const statement = `copy ${pg.escapeIdentifier(table)} (${names}) from stdin`;
    const loaded = await copyIn(client, statement, rows);
    if (loaded !== count()) {
      throw new BackupError(`${table} has ${count()} rows in the backup, and ${loaded} arrived.`);
    }
    tables.push({ table, rows: loaded });
  }
  for (const { make } of dropped) await client.query(make);
  return { tables, left_out };
}
