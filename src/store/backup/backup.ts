// Takes a backup: every table on one snapshot, while the service runs. Needs no program beside it,
// reads any schema that our migrations have made, and changes nothing.

import type { Writable } from "node:stream";
import pg from "pg";
import { placeOf } from "../db/cluster-nodes.ts";
import { connect, reasonOf } from "../db/connect.ts";
import { copyOut } from "../db/copy.ts";
import type { Connection } from "../db/db.ts";
import { asUnavailable, isUnreachable } from "../db/failures.ts";
import { listApplied } from "../migration/migrate.ts";
import { BackupError, BackupWriter, headerOf } from "./format.ts";
import { isKeyOf } from "./installation.ts";

export type BackupOptions = {
  readonly now: Date;
  /** The key to be put into the file; undefined: the file is made without it. */
  readonly secret_key?: Buffer | undefined;
  readonly onProgress: OnBackupProgress;
};

/** Told which table is being copied, and what part of everything, from 0 to 1, is done. */
export type OnBackupProgress = (table: string, part: number) => void;

export type TableCount = { readonly table: string; readonly rows: number };

export type TakenBackup = {
  /** The name of the newest migration. */
  readonly schema: string;
  readonly tables: readonly TableCount[];
  readonly sha256: string;
};

type SourceTable = {
  readonly name: string;
  readonly columns: readonly string[];
  readonly in_project: boolean;
  readonly bytes: number;
};

/** Settings under which text is the same on every server, and nothing is cut off for its time. */
export const SESSION = `
  set datestyle = 'ISO'; set timezone = 'UTC'; set bytea_output = 'hex';
  set client_encoding = 'UTF8'; set statement_timeout = 0; set lock_timeout = 0;
  set idle_in_transaction_session_timeout = 0`;

export async function takeBackup(
  connection: Connection,
  target: Writable,
  options: BackupOptions,
): Promise<TakenBackup> {
  const client = await connect(connection, "dues backup");
  let is_distributed = false;
  try {
    await client.query(SESSION);
    const place = await placeOf(client);
    is_distributed = place.kind !== "plain" && (await hasDistributedTables(client));
    if (is_distributed) await client.query(ONE_SNAPSHOT_PER_NODE);
    await client.query("begin isolation level repeatable read, read only");
    return await copyTables(client, target, { ...options, is_distributed });
  } catch (error) {
    if (!is_distributed || !isUnreachable(asUnavailable(error))) throw error;
    throw new BackupError(
      `A node of the cluster does not answer: ${reasonOf(error)}. A backup needs all of them. ` +
        "Which one it is, says dues cluster status; start it, then run this again.",
    );
  } finally {
    await client.end();
  }
}

/** One connection to each node: all statements of the transaction see what the first saw. */
const ONE_SNAPSHOT_PER_NODE = "set citus.max_adaptive_executor_pool_size = 1";

async function hasDistributedTables(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query("select 1 from pg_dist_partition limit 1");
  return rows.length > 0;
}

async function copyTables(
  client: pg.ClientBase,
  target: Writable,
  options: BackupOptions & { readonly is_distributed: boolean },
): Promise<TakenBackup> {
  const { is_distributed, onProgress } = options;
  const header = await readHeader(client, options);
  const tables = await listTables(client, is_distributed);
  const projects = is_distributed ? await listProjects(client) : undefined;
  if (projects === undefined) await lockTables(client, tables);
  const writer = new BackupWriter(target, header);
  const total = Math.max(1, sum(tables.map(({ bytes }) => bytes)));
  const counts: TableCount[] = [];
  let before = 0;
  for (const table of tables) {
    const { name, columns, bytes } = table;
    let copied = 0;
    writer.startTable({ table: name, columns });
    onProgress(name, before / total);
    const rows = await copyOut(client, copyStatement(table, projects), (batch) => {
      copied += batch.length;
      onProgress(name, (before + Math.min(copied, bytes)) / total);
      return writer.write(batch);
    });
    await writer.endTable(rows);
    before += bytes;
    counts.push({ table: name, rows });
  }
  const schema = header.migrations.at(-1)?.name ?? "";
  return { schema, tables: counts, sha256: await writer.end() };
}

async function readHeader(client: pg.ClientBase, { now, secret_key }: BackupOptions) {
  const { rows: found } = await client.query("select to_regclass('schema_migrations') as found");
  if (found[0]?.found === null) {
    throw new BackupError("This database has no tables of dues: there is nothing to back up.");
  }
  const migrations = await listApplied(client);
  const { rows: versions } = await client.query<{ server_version: string }>("show server_version");
  const { rows: checks } = await client.query<{ secret_check: Buffer }>(
    "select secret_check from installation",
  );
  const check = checks[0]?.secret_check;
  if (secret_key !== undefined && check !== undefined && !isKeyOf(check, secret_key)) {
    throw new BackupError("The key here is not the one of this database: set SECRET_KEY to that.");
  }
  return headerOf({
    created_at: now.toISOString(),
    server_version: versions[0]?.server_version ?? "",
    migrations,
    secret_check: check?.toString("hex") ?? null,
    ...(secret_key && { secret_key: secret_key.toString("hex") }),
  });
}

/**
 * Every table of ours but that of the migrations: the header names them, a restore applies them.
 * On a cluster shards are left out: they are read through their table.
 */
async function listTables(client: pg.ClientBase, is_distributed: boolean): Promise<SourceTable[]> {
  const size = is_distributed ? "citus_table_size(c.oid)" : "pg_table_size(c.oid)";
  const ours = is_distributed
    ? "exists (select 1 from pg_dist_partition d where d.logicalrelid = c.oid)"
    : "not exists (select 1 from pg_depend e where e.objid = c.oid and e.deptype = 'e')";
  type Row = { name: string; columns: string[]; bytes: string };
  const { rows } = await client.query<Row>(`
    select c.relname as name, ${size} as bytes,
           (select json_agg(a.attname order by a.attnum)
              from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
               and a.attgenerated = '') as columns
      from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition and c.relname <> 'schema_migrations' and ${ours}
     order by c.relname collate "C"`);
  return rows.map(({ name, columns, bytes }) => ({
    name,
    columns,
    in_project: columns.includes("project_id"),
    bytes: Number(bytes),
  }));
}

/** Keeps migrations from changing a table between the snapshot and its turn. */
async function lockTables(client: pg.ClientBase, tables: readonly SourceTable[]): Promise<void> {
  const names = tables.map(({ name }) => pg.escapeIdentifier(name)).join(", ");
  await client.query(`lock table ${names} in access share mode`);
}

/** Projects of the snapshot: the other nodes are asked a moment later, and may have newer ones. */
async function listProjects(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>("select id from projects");
  await client.query("select count(*) from project_anchors");
  return rows.map(({ id }) => id);
}

function copyStatement(table: SourceTable, projects: readonly string[] | undefined): string {
  const name = pg.escapeIdentifier(table.name);
  const columns = table.columns.map((column) => pg.escapeIdentifier(column)).join(", ");
  if (projects === undefined || !table.in_project) return `copy ${name} (${columns}) to stdout`;
  const known = `{${projects.join(",")}}`;
  return `copy (select ${columns} from ${name} where project_id = any('${known}'::uuid[]))
            to stdout`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
