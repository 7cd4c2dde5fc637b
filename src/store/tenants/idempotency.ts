// Requests that were answered, by their Idempotency-Key.

import { DATABASE_NOW, type Queryable, type Tx } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { sql } from "../db/sql.ts";

export type KeyRow = {
  readonly key: string;
  readonly request_hash: Buffer;
  readonly status: number;
  readonly body: string;
};

/** Locks the key until the transaction ends; false while another one works under it. */
export async function lock(tx: Tx, scope_id: string, key: string): Promise<boolean> {
  const { locked } = await tx.one<{ locked: boolean }>(sql`
    select try_lock(${scope_id}, ${key}) as locked`);
  return locked;
}

export function get(db: Queryable, scope_id: string, key: string) {
  return db.maybeOne<KeyRow>(sql`
    select key, request_hash, status, body
      from idempotency_keys
     where scope_id = ${scope_id} and key = ${key}`);
}

export async function insert(tx: Tx, scope_id: string, row: KeyRow): Promise<void> {
  await tx.run(sql`
    insert into idempotency_keys (scope_id, key, request_hash, status, body, created_at)
    values (${scope_id}, ${row.key}, ${row.request_hash}, ${row.status}, ${row.body}, ${DATABASE_NOW})`);
}

/** Scopes with rows older than the date, found by a look at no more than `limit` of them. */
export async function listScopesWithOld(
  db: Queryable,
  before: Date,
  limit: number,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<string[]> {
  // across scopes: by the index of their age.
  const rows = await db.many<{ scope_id: string }>(sql`
    select distinct scope_id
      from (select k.scope_id
              from idempotency_keys k
             where k.created_at < ${before} and ${filter(sql`k.scope_id`)}
             order by k.created_at
             limit ${limit}) found`);
  return rows.map((row) => row.scope_id);
}

/** Removes at most `limit` rows of the scope, so that one sweep never holds many locks. */
export function removeOlderThan(
  db: Queryable,
  scope_id: string,
  before: Date,
  limit: number,
): Promise<number> {
  return db.run(sql`
    delete from idempotency_keys
     where scope_id = ${scope_id} and key in (
       select k.key
         from idempotency_keys k
        where k.scope_id = ${scope_id} and k.created_at < ${before}
        limit ${limit})`);
}
