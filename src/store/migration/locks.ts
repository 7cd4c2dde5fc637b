// The locks of a migration, taken before anything of it runs, so that it can start beside processes
// of the version before: in one order, and given back soon when somebody is in the way.

import pg from "pg";
import { askAllNodes } from "../db/cluster-nodes.ts";
import { DATABASE_NOW } from "../db/db.ts";
import { codeOf } from "../db/failures.ts";

type Mode = "access exclusive" | "share row exclusive";

export type TableLock = { readonly table: string; readonly mode: Mode };

/**
 * How long all locks of a migration may take together. Less than the second after which PostgreSQL
 * looks for deadlocks: of two that wait for each other the migration gives way, never the traffic.
 * Callers that queue behind it wait for this long at most, and then for the migration itself.
 */
const WAIT_MS = 600;
/** The part of the server's deadlock_timeout that may be waited, where that is below a second. */
const SHARE_OF_DEADLOCK_TIMEOUT = 0.6;
const HOLDERS_MAX = 3;
/** How long all nodes may take to answer who holds what. */
const NODES_MS = 5_000;

const PATTERNS: readonly [RegExp, Mode][] = [
  [/\b(?:alter|drop) table (?:if exists )?(?:only )?(\w+)/gi, "access exclusive"],
  [/\btruncate (?:table )?(?:only )?(\w+)/gi, "access exclusive"],
  // An index stands for its table: dropping one locks that too.
  [/\b(?:alter|drop) index (?:if exists )?(\w+)/gi, "access exclusive"],
  [/\b(?:create|alter|drop) policy [^;]*?\bon (\w+)/gi, "access exclusive"],
  [/\bdrop trigger [^;]*?\bon (\w+)/gi, "access exclusive"],
  [/\bcreate (?:unique )?index [^;(]*?\bon (?:only )?(\w+)/gi, "share row exclusive"],
  [/\bcreate (?:or replace )?(?:constraint )?trigger [^;]*?\bon (\w+)/gi, "share row exclusive"],
  [/\breferences (\w+)/gi, "share row exclusive"],
  [/\b(?:insert into|update|delete from) (?:only )?(\w+)/gi, "share row exclusive"],
];

const NOTES_AND_TEXTS = /--.*$|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/gm;
/** Bodies of functions: what they say is run later, by those who call them. */
const FUNCTION_BODIES =
  /\bcreate (?:or replace )?(?:function|procedure)\b[^;$]*(\$\w*\$)[\s\S]*?\1/gi;

/** The relations that a migration's text changes or refers to, whether or not they are there. */
export function relationsIn(text: string): Map<string, Mode> {
  const plain = text
    .replace(NOTES_AND_TEXTS, " ")
    .replace(/\s+/g, " ")
    .replace(FUNCTION_BODIES, " ");
  const found = new Map<string, Mode>();
  for (const [pattern, mode] of PATTERNS) {
    for (const [, name = ""] of plain.matchAll(pattern)) {
      const key = name.toLowerCase();
      if (found.get(key) !== "access exclusive") found.set(key, mode);
    }
  }
  return found;
}

/** The locks on tables that are there, in the order of their names. */
export async function locksOf(client: pg.ClientBase, text: string): Promise<TableLock[]> {
  const wanted = relationsIn(text);
  const { rows } = await client.query<{ said: string; table: string }>(
    `select c.relname as said, coalesce(t.relname, c.relname) as table
       from pg_class c
       left join pg_index i on i.indexrelid = c.oid
       left join pg_class t on t.oid = i.indrelid
      where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'i', 'I')
        and c.relname = any($1::text[])
      order by coalesce(t.relname, c.relname) collate "C"`,
    [[...wanted.keys()]],
  );
  const locks = new Map<string, Mode>();
  for (const { said, table } of rows) {
    const mode = wanted.get(said) ?? "access exclusive";
    if (locks.get(table) !== "access exclusive") locks.set(table, mode);
  }
  return [...locks].map(([table, mode]) => ({ table, mode }));
}

/**
 * The order in which tables are locked: by name, but a table that was in use comes first from then
 * on. Whoever holds it is then not kept from going on by what we have locked already, so that after
 * as many attempts as there are tables at most, ours is the order of the traffic.
 */
export class LockOrder {
  #first: readonly string[] = [];

  putFirst(table: string): void {
    this.#first = [table, ...this.#first.filter((each) => each !== table)];
  }

  of(locks: readonly TableLock[]): TableLock[] {
    const place = ({ table }: TableLock) => {
      const found = this.#first.indexOf(table);
      return found < 0 ? this.#first.length : found;
    };
    return locks.toSorted((a, b) => place(a) - place(b));
  }

  get front(): string | undefined {
    return this.#first[0];
  }
}

/**
 * Takes the locks of a migration in its transaction. On a cluster the nodes lock too, and only a
 * limit on the whole statement counts there.
 */
export async function takeLocks(
  client: pg.ClientBase,
  locks: readonly TableLock[],
  order: LockOrder,
): Promise<void> {
  const wait_ms = await waitOf(client);
  const until_ms = performance.now() + wait_ms;
  for (const { table, mode } of order.of(locks)) {
    const left_ms = Math.max(1, Math.round(until_ms - performance.now()));
    await client.query(`set local statement_timeout = ${left_ms}`);
    try {
      await client.query(`lock table ${pg.escapeIdentifier(table)} in ${mode} mode`);
    } catch (error) {
      if (isInTheWay(error)) order.putFirst(table);
      throw error;
    }
  }
  await client.query("set local statement_timeout = 0");
  await client.query(`set local lock_timeout = ${wait_ms}`);
}

async function waitOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ deadlock_ms: number }>(
    "select setting::integer as deadlock_ms from pg_settings where name = 'deadlock_timeout'",
  );
  const limit_ms = Math.floor((rows[0]?.deadlock_ms ?? 1_000) * SHARE_OF_DEADLOCK_TIMEOUT);
  return Math.max(1, Math.min(WAIT_MS, limit_ms));
}

/** Errors for serialization, deadlock, lock timeout, and the limit on taking the locks. */
const IN_THE_WAY = new Set(["40001", "40P01", "55P03", "57014"]);

/** Whether a migration failed because of what others do at the same time: it may be run again. */
export function isInTheWay(error: unknown): boolean {
  return IN_THE_WAY.has(codeOf(error));
}

type Holder = {
  readonly pid: number;
  readonly name: string;
  readonly state: string | null;
  readonly age_s: number | null;
};

/** The sessions that hold these tables just now, the oldest first, in words for an operator. */
export async function holdersOf(
  client: pg.ClientBase,
  locks: readonly TableLock[],
): Promise<string[]> {
  const { rows } = await client.query<{ holders: Holder[] }>(holdersAmong(locks));
  return wordsOf(rows[0]?.holders ?? []);
}

/**
 * The sessions that hold these tables on each node of a cluster: a node knows only its own. Where
 * one hangs, which may be what is in the way, the coordinator's are told, and that a node hangs.
 */
export async function holdersOnNodes(
  client: pg.ClientBase,
  locks: readonly TableLock[],
): Promise<string[]> {
  await client.query(`set statement_timeout = ${NODES_MS}`);
  try {
    const nodes = await askAllNodes(client, holdersAmong(locks));
    return nodes.flatMap(({ address, answer }) => wordsOf(JSON.parse(answer), ` on ${address}`));
  } catch {
    return [...(await holdersOf(client, locks)), "perhaps a node that does not answer"];
  } finally {
    await client.query("reset statement_timeout");
  }
}

/** Asks for the holders as one value, with the names in the text: so a node can be asked. */
function holdersAmong(locks: readonly TableLock[]): string {
  const names = locks.map(({ table }) => pg.escapeLiteral(table)).join(", ");
  return `
    select coalesce(json_agg(h), '[]') as holders
      from (select a.pid, a.application_name as name, a.state,
                   extract(epoch from ${DATABASE_NOW.text} - a.xact_start)::integer as age_s
              from pg_stat_activity a
             where a.pid <> pg_backend_pid()
               and exists (select 1
                             from pg_locks l
                             join pg_class c on c.oid = l.relation
                            where l.pid = a.pid and l.granted
                              and c.relname = any(array[${names}]::text[])
                              and l.database = (select oid from pg_database
                                                 where datname = current_database()))
             order by a.xact_start
             limit ${HOLDERS_MAX}) h`;
}

function wordsOf(holders: readonly Holder[], where = ""): string[] {
  return holders.map(({ pid, name, state, age_s }) => {
    const since = age_s === null ? "" : ` for ${age_s} s`;
    return `process ${pid}${where} ("${name}", ${state ?? "state unknown"}${since})`;
  });
}
