// Spreads tables and functions over the nodes of a Citus cluster. What is still to do is read
// from the catalog, so that `dues cluster distribute` and a later migration do the same.
//
// A migration makes a table with its foreign keys inside `create table`: there it may name
// distributed tables while it is still local, and the keys are made anew when it is distributed, at
// the end of the migration. What needs the new table to be distributed is for the next migration:
// rows that those keys check, and keys of older tables to the new one.

import pg from "pg";
import { ClusterError } from "../db/cluster-nodes.ts";
import { codeOf } from "../db/failures.ts";

/** The table that all the others of a project stand beside. */
const FIRST_TABLE = "customers";

/**
 * Shards are the most nodes that there can ever be, and each makes every statement over all
 * projects dearer: with 8 of them 3.5 ms, with 32 of them 8.9 ms.
 */
export const SHARDS = 16;

/** Tables spread by another column than project_id. An idempotency key's scope may be wider. */
const OTHER_COLUMNS: Readonly<Record<string, string>> = { idempotency_keys: "scope_id" };

/**
 * Functions that run on the node of the project, which the named argument says. A forced function
 * does so inside a transaction too, but may not insert from a select. A function without such an
 * argument is part of statements, and every node has it. A migration that makes one adds it here.
 */
export const SPREAD: readonly Spread[] = [
  { name: "add_analytics_deltas", argument: "project", is_forced: false },
  { name: "lock_usage", argument: "project", is_forced: true },
  { name: "record_usage", argument: "project", is_forced: false },
  { name: "sent_days", argument: null, is_forced: false },
  { name: "sent_events", argument: null, is_forced: false },
  { name: "try_lock", argument: "scope", is_forced: true },
  { name: "try_locks", argument: "project", is_forced: true },
];

type Spread = {
  readonly name: string;
  readonly argument: string | null;
  readonly is_forced: boolean;
};

/** A table that is not distributed yet; one without a column is to be whole on every node. */
export type LocalTable = {
  readonly name: string;
  readonly column: string | null;
  readonly bytes: number;
  readonly indexes: number;
};

export type DistributedTable = LocalTable & { readonly rows: number; readonly ms: number };

export type LocalFunction = Spread & { readonly signature: string };

export type TableProgress = {
  /** Told when the copy of a table begins, and how many of all bytes came before it. */
  starting(table: LocalTable, bytes_before: number, bytes_total: number): void;
  done(table: DistributedTable): void;
};

const SILENT: TableProgress = { starting() {}, done() {} };

/** How long to wait for a table that another session holds, before nobody can use it any more. */
const LOCK_MS = 5_000;
const LOCK_NOT_AVAILABLE = "55P03";

export async function listLocalTables(client: pg.ClientBase): Promise<LocalTable[]> {
  type Row = { name: string; in_project: boolean; bytes: string; indexes: string };
  const { rows } = await client.query<Row>(`
    select c.relname as name, pg_total_relation_size(c.oid) as bytes,
           (select count(*) from pg_index i where i.indrelid = c.oid) as indexes,
           exists (select 1
                     from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'project_id'
                      and not a.attisdropped) as in_project
      from pg_class c
      left join pg_dist_partition d on d.logicalrelid = c.oid
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
       and not c.relispartition and not relation_is_a_known_shard(c.oid)
       and not exists (select 1 from pg_depend e where e.objid = c.oid and e.deptype = 'e')
       and (d.logicalrelid is null or (d.partmethod = 'n' and d.repmodel <> 't'))
     order by c.relname collate "C"`);
  const tables = rows.map(({ name, in_project, bytes, indexes }) => ({
    name,
    column: OTHER_COLUMNS[name] ?? (in_project ? "project_id" : null),
    bytes: Number(bytes),
    indexes: Number(indexes),
  }));
  return [...tables].sort((a, b) => placeInOrder(a) - placeInOrder(b));
}

/** The order of distributing: what every node has, then the table that the others stand beside. */
function placeInOrder({ name, column }: LocalTable): number {
  if (column === null) return 0;
  return name === FIRST_TABLE ? 1 : 2;
}

/** Functions that are not spread as they should be: run where they are called, or on one node. */
export async function listLocalFunctions(client: pg.ClientBase): Promise<LocalFunction[]> {
  const { rows } = await client.query<{ name: string; signature: string }>(
    `select f.name, p.oid::regprocedure::text as signature
       from unnest($1::text[], $2::text[], $3::boolean[]) as f (name, argument, is_forced)
       join pg_proc p on p.proname = f.name and p.pronamespace = current_schema()::regnamespace
       left join pg_catalog.pg_dist_object o
         on o.classid = 'pg_proc'::regclass and o.objid = p.oid and o.objsubid = 0
      where o.objid is null
         or (o.distribution_argument_index is null and f.argument is not null)
         or coalesce(o.force_delegation, false) <> f.is_forced
      order by f.name`,
    [
      SPREAD.map(({ name }) => name),
      SPREAD.map(({ argument }) => argument),
      SPREAD.map(({ is_forced }) => is_forced),
    ],
  );
  return rows.flatMap(({ name, signature }) =>
    SPREAD.filter((each) => each.name === name).map((each) => ({ ...each, signature })),
  );
}

/**
 * Must come first in a transaction that distributes or changes distributed tables: shards are then
 * changed one after the other, which is what allows foreign keys to change in the same transaction.
 * Our triggers stay within a project, so within a node, which Citus cannot know. A new table that
 * names a reference table is not to become a third kind, which may name no distributed table.
 */
export async function prepareTransaction(client: pg.ClientBase): Promise<void> {
  await client.query(`
    set local citus.multi_shard_modify_mode = 'sequential';
    set local citus.enable_unsafe_triggers = on;
    set local citus.enable_local_reference_table_foreign_keys = off`);
}

/**
 * Distributes all that is not distributed, inside the caller's transaction: foreign keys and
 * triggers are dropped and made anew in it, and whatever ends it early leaves the schema as it was.
 */
export async function distributeLocal(
  client: pg.ClientBase,
  { shards = SHARDS, progress = SILENT }: { shards?: number; progress?: TableProgress } = {},
): Promise<{ tables: DistributedTable[]; functions: string[] }> {
  const tables = await listLocalTables(client);
  const done: DistributedTable[] = [];
  if (tables.length > 0) {
    await lockAlone(client, tables);
    const dropped = await dropKeysAndTriggers(client, tables);
    const bytes_total = tables.reduce((sum, { bytes }) => sum + bytes, 0);
    let bytes_before = 0;
    for (const table of tables) {
      progress.starting(table, bytes_before, bytes_total);
      const distributed = await distributeTable(client, table, shards);
      bytes_before += table.bytes;
      done.push(distributed);
      progress.done(distributed);
    }
    for (const { make } of dropped) await client.query(make);
  }
  const functions = await listLocalFunctions(client);
  for (const one of functions) await distributeFunction(client, one);
  return { tables: done, functions: functions.map(({ signature }) => signature) };
}

async function distributeFunction(
  client: pg.ClientBase,
  { signature, argument, is_forced }: LocalFunction,
): Promise<void> {
  if (argument === null) {
    await client.query("select create_distributed_function($1::regprocedure)", [signature]);
    return;
  }
  await client.query(
    `select create_distributed_function($1::regprocedure, $2, colocate_with => $3,
                                        force_delegation => $4)`,
    [signature, argument, FIRST_TABLE, is_forced],
  );
}

async function lockAlone(client: pg.ClientBase, tables: readonly LocalTable[]): Promise<void> {
  const names = tables.map(({ name }) => pg.escapeIdentifier(name)).join(", ");
  await client.query(`set local lock_timeout = ${LOCK_MS}`);
  try {
    await client.query(`lock table ${names} in access exclusive mode`);
  } catch (error) {
    if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw new ClusterError(
      "Another session is using a table of this database. Find it in pg_stat_activity, end it, " +
        "then run this again.",
    );
  }
  await client.query("set local lock_timeout = 0; set local statement_timeout = 0");
}

type Dropped = { readonly drop: string; readonly make: string };

/**
 * Drops foreign keys and triggers, and says how to make them again. Citus takes no key between a
 * table that is distributed and one that is not yet, and its copying would have triggers count
 * every row a second time.
 */
export async function dropKeysAndTriggers(
  client: pg.ClientBase,
  tables: readonly { readonly name: string }[],
): Promise<Dropped[]> {
  const { rows } = await client.query<Dropped>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
            format('alter table %s add constraint %I %s', conrelid::regclass, conname,
                   pg_get_constraintdef(oid)) as make
       from pg_constraint
      where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace
        and (conrelid::regclass = any($1::regclass[]) or confrelid::regclass = any($1::regclass[]))
      union all
     select format('drop trigger %I on %s', tgname, tgrelid::regclass), pg_get_triggerdef(oid)
       from pg_trigger
      where not tgisinternal and tgrelid::regclass = any($1::regclass[])
      order by 1`,
    [tables.map(({ name }) => pg.escapeIdentifier(name))],
  );
  for (const { drop } of rows) await client.query(drop);
  return rows;
}

async function distributeTable(
  client: pg.ClientBase,
  table: LocalTable,
  shards: number,
): Promise<DistributedTable> {
  const start_ms = performance.now();
  const name = pg.escapeIdentifier(table.name);
  const { rows } = await client.query<{ count: string }>(`select count(*) from ${name}`);
  if (table.column === null) {
    await client.query("select create_reference_table($1)", [name]);
  } else if (table.name === FIRST_TABLE) {
    await client.query("select create_distributed_table($1, $2, shard_count => $3)", [
      name,
      table.column,
      shards,
    ]);
  } else {
    await client.query("select create_distributed_table($1, $2, colocate_with => $3)", [
      name,
      table.column,
      FIRST_TABLE,
    ]);
  }
  const ms = Math.round(performance.now() - start_ms);
  return { ...table, rows: Number(rows[0]?.count), ms };
}

/**
 * Releases the rows that the coordinator had before, which it keeps although nobody sees them. Done
 * after the commit, for whatever table has some, so that a run that was cut short is caught up.
 */
export async function releaseLocalRows(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(`
    select c.oid::regclass::text as name
      from pg_class c
      join pg_dist_partition d on d.logicalrelid = c.oid
     where c.relnamespace = current_schema()::regnamespace and pg_relation_size(c.oid) > 0
       and (d.partmethod = 'h' or d.repmodel = 't')`);
  for (const { name } of rows) {
    await client.query("select truncate_local_data_after_distributing_table($1)", [name]);
  }
}
