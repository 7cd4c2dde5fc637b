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

export type OldKeys = { readonly scope_id: string; readonly keys: readonly string[] };

/** The oldest keys that are older than the date, by scope; `limit` of them at most. */
export function listOld(
  db: Queryable,
  before: Date,
  limit: number,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<OldKeys[]> {
  // across scopes: by the index of their age.
  return db.many<OldKeys>(sql`
    select scope_id, array_agg(key) as keys
      from (select k.scope_id, k.key
              from idempotency_keys k
             where k.created_at < ${before} and ${filter(sql`k.scope_id`)}
             order by k.created_at
             limit ${limit}) found
     group by scope_id`);
}

/** Removes them, but one that has been used anew. */
export function remove(
  db: Queryable,
  scope_id: string,
  keys: readonly string[],
  before: Date,
): Promise<number> {
  return db.run(sql`
    delete from idempotency_keys
     where scope_id = ${scope_id} and key = any(${keys}::text[]) and created_at < ${before}`);
}
