// The laws of a Citus cluster for the schema, read from the catalog of a migrated database.

import type pg from "pg";
import { DELEGATED, PARTS, type StoredFunction } from "./functions.ts";
import type { Catalog } from "./laws.ts";
import { DISTRIBUTED, REFERENCE } from "./tables.ts";

export type Key = { readonly table: string; readonly name: string; readonly columns: string[] };
export type ForeignKey = Key & { readonly target: string; readonly target_columns: string[] };
export type Column = {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly is_identity: boolean;
};

export type Schema = {
  readonly tables: readonly string[];
  readonly primary_keys: readonly Key[];
  readonly unique_keys: readonly Key[];
  readonly foreign_keys: readonly ForeignKey[];
  readonly columns: readonly Column[];
  readonly sequences: readonly string[];
  readonly functions: readonly StoredFunction[];
};

const KEY_COLUMNS = (table: string, keys: string) => `
  array(select a.attname::text
          from unnest(${keys}) with ordinality as k (attnum, n)
          join pg_attribute a on a.attrelid = ${table} and a.attnum = k.attnum
         order by k.n)`;

const UNIQUE = (kind: string) => `
  select i.indrelid::regclass::text as table, i.indexrelid::regclass::text as name,
         ${KEY_COLUMNS("i.indrelid", "i.indkey")} as columns
    from pg_index i
    join pg_class c on c.oid = i.indrelid
   where c.relnamespace = 'public'::regnamespace and (i.indisunique or i.indisexclusion)
     and ${kind}
   order by 1, 2`;

export async function readSchema(client: pg.Client): Promise<Schema> {
  const rows = async <T>(text: string) => (await client.query(text)).rows as T[];
  const inPublic = (kind: string) => `
    select relname::text as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in (${kind}) order by 1`;
  const named = async (text: string) =>
    (await rows<{ name: string }>(text)).map(({ name }) => name);
  return {
    tables: await named(inPublic("'r', 'p', 'v', 'm', 'f'")),
    sequences: await named(inPublic("'S'")),
    primary_keys: await rows(UNIQUE("i.indisprimary")),
    unique_keys: await rows(UNIQUE("not i.indisprimary")),
    foreign_keys: await rows(`
      select conrelid::regclass::text as table, conname::text as name,
             ${KEY_COLUMNS("conrelid", "conkey")} as columns,
             confrelid::regclass::text as target,
             ${KEY_COLUMNS("confrelid", "confkey")} as target_columns
        from pg_constraint
       where contype = 'f' and connamespace = 'public'::regnamespace
       order by 1, 2`),
    columns: await rows(`
      select attrelid::regclass::text as table, attname::text as name,
             format_type(atttypid, null) as type, attidentity <> '' as is_identity
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and attnum > 0
         and not attisdropped
       order by 1, 2`),
    functions: await rows(`
      select p.proname::text as name, pg_get_functiondef(p.oid) as definition,
             l.lanname::text as language, p.prorettype = 'trigger'::regtype as of_trigger,
             array(select distinct n::text
                     from pg_trigger t, unnest(array[t.tgoldtable, t.tgnewtable]) as n
                    where t.tgfoid = p.oid and n is not null) as transitions
        from pg_proc p
        join pg_language l on l.oid = p.prolang
       where p.pronamespace = 'public'::regnamespace
       order by 1`),
  };
}

/** Functions with any number of arguments are known with up to so many. */
const VARIADIC_MAX = 20;

export async function readCatalog(client: pg.Client, schema: Schema): Promise<Catalog> {
  const { rows } = await client.query<{ name: string; volatile: boolean; mutable: boolean }>(`
    select f.name, bool_or(p.provolatile = 'v') as volatile, bool_or(p.provolatile <> 'i') as mutable
      from pg_proc p
     cross join lateral generate_series(
             p.pronargs - p.pronargdefaults,
             case when p.provariadic = 0 then p.pronargs else ${VARIADIC_MAX} end) as n
     cross join lateral (select p.proname || '/' || n) as f (name)
     where p.pronamespace = 'pg_catalog'::regnamespace
     group by f.name`);
  const isJoinable = ({ type }: Column) => /^(text|jsonb|.*\[\])$/.test(type);
  const others = schema.columns.filter((column) => !isJoinable(column)).map(({ name }) => name);
  const joinable = schema.columns.filter(({ name }) => !others.includes(name));
  return {
    volatile: new Set(rows.flatMap(({ name, volatile }) => (volatile ? [name] : []))),
    mutable: new Set(rows.flatMap(({ name, mutable }) => (mutable ? [name] : []))),
    own: new Set(calledFunctions(schema)),
    joinable: new Set(joinable.map(({ name }) => name)),
  };
}

/** Every table is in one list, and what is in a list exists. */
export function listFaults({ tables }: Pick<Schema, "tables">): string[] {
  const listed = [...REFERENCE, ...Object.keys(DISTRIBUTED)];
  const unlisted = tables.filter((table) => !listed.includes(table));
  const missing = listed.filter((table) => !tables.includes(table));
  const twice = REFERENCE.filter((table) => table in DISTRIBUTED);
  return [
    ...unlisted.map((table) => `${table} is in no list: reference or distributed?`),
    ...missing.map((table) => `${table} is listed and does not exist`),
    ...twice.map((table) => `${table} is in both lists`),
  ];
}

/** A shard checks keys by itself, and is moved by its primary key. */
export function keyFaults(schema: Schema): string[] {
  const keyed = new Set(schema.primary_keys.map(({ table }) => table));
  const bare = schema.tables.filter((table) => !keyed.has(table));
  const keys = [...schema.primary_keys, ...schema.unique_keys];
  const wide = keys.filter(({ table, columns }) => {
    const column = DISTRIBUTED[table];
    return column !== undefined && !columns.includes(column);
  });
  return [
    ...bare.map((table) => `${table} has no primary key: its shards could not be moved`),
    ...wide.map(({ table, name }) => `${table}: ${name} does not contain ${DISTRIBUTED[table]}`),
  ];
}

/** A shard can only look into the shard beside it, or into the copy that its node has. */
export function foreignKeyFaults({ foreign_keys }: Pick<Schema, "foreign_keys">): string[] {
  return foreign_keys.flatMap(({ table, name, columns, target, target_columns }) => {
    if (REFERENCE.includes(target)) return [];
    const place = columns.indexOf(DISTRIBUTED[table] ?? "");
    if (place >= 0 && target_columns[place] === DISTRIBUTED[target]) return [];
    return [`${table}: ${name} to ${target} does not name the project on both sides`];
  });
}

const OF_ONE_SERVER = /^(xid|xid8|tid|cid|pg_snapshot|txid_snapshot|pg_lsn)$/;

/** Numbers that each node counts for itself are no data. */
export function countedFaults({ columns, sequences }: Schema): string[] {
  return [
    ...sequences.map((name) => `${name} is a sequence: each node would count by itself`),
    ...columns.flatMap(({ table, name, type, is_identity }) => [
      ...(is_identity ? [`${table}.${name} is an identity column`] : []),
      ...(OF_ONE_SERVER.test(type) ? [`${table}.${name} is of type ${type}`] : []),
    ]),
  ];
}

export function delegationFaults({ functions }: Pick<Schema, "functions">): string[] {
  const own = calledFunctions({ functions });
  return [
    ...own.filter((name) => !DELEGATED.includes(name)).map((name) => `${name} is not delegated`),
    ...DELEGATED.filter((name) => !own.includes(name)).map((name) => `${name} does not exist`),
  ];
}

/** By the service, each as a whole statement. */
function calledFunctions({ functions }: Pick<Schema, "functions">): string[] {
  const called = functions.filter(({ name, of_trigger }) => !of_trigger && !PARTS.includes(name));
  return called.map(({ name }) => name);
}
