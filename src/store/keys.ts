// Tokens: their hash, scopes, expiry and last use. The full value is never stored.

import type { Scope, Token } from "../schema/keys.ts";
import type { Db, Queryable, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";

const COLUMNS: Sql = sql`id, name, key_prefix, scopes, project_ids, last_used_at, created_at,
  expires_at`;

/** The projects that a token is for; null is all of its organization. */
export type Binding = readonly string[] | null;

export type Caller = {
  readonly token_id: string;
  readonly organization_id: string;
  readonly scopes: readonly Scope[];
  readonly project_ids: Binding;
  readonly expires_at: Date | null;
};

export function getCaller(db: Queryable, hash: Buffer) {
  return db.maybeOne<Caller>(sql`
    select id as token_id, organization_id, scopes, project_ids, expires_at
      from tokens
     where hash = ${hash} and revoked_at is null`);
}

/** Of a token that is for some projects only: it is for no others than these. */
function isWithin(within: Binding): Sql {
  return within === null ? sql`true` : sql`project_ids <@ ${within}::uuid[]`;
}

export function list(db: Queryable, organization_id: string, within: Binding) {
  return db.many<Token>(sql`
    select ${COLUMNS}
      from tokens
     where organization_id = ${organization_id} and revoked_at is null and ${isWithin(within)}
     order by id desc
     limit 1000`);
}

export function get(db: Queryable, organization_id: string, id: string) {
  return db.one<Token>(sql`
    select ${COLUMNS}
      from tokens
     where organization_id = ${organization_id} and id = ${id}`);
}

/** Whether the organization ever had a token, revoked ones included. */
export async function hasHad(db: Queryable, organization_id: string): Promise<boolean> {
  const { had } = await db.one<{ had: boolean }>(sql`
    select exists (select 1 from tokens where organization_id = ${organization_id}) as had`);
  return had;
}

export async function countLive(db: Queryable, organization_id: string): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*)
      from tokens
     where organization_id = ${organization_id} and revoked_at is null`);
  return count;
}

export function insert(
  tx: Tx,
  organization_id: string,
  token: Pick<Token, "id" | "name" | "key_prefix" | "expires_at"> & {
    hash: Buffer;
    scopes: readonly Scope[];
    project_ids: Binding;
  },
  now: Date,
) {
  return tx.one<Token>(sql`
    insert into tokens (organization_id, id, name, key_prefix, hash, scopes, project_ids,
                        expires_at, created_at)
    values (${organization_id}, ${token.id}, ${token.name}, ${token.key_prefix}, ${token.hash},
            ${token.scopes}, ${token.project_ids}, ${token.expires_at}, ${now})
    returning ${COLUMNS}`);
}

/** Undefined when no live token of this organization, within these projects, has the id. */
export function revoke(
  tx: Tx,
  organization_id: string,
  token: { readonly id: string; readonly within: Binding },
  now: Date,
) {
  return tx.maybeOne<Token>(sql`
    update tokens
       set revoked_at = ${now}
     where organization_id = ${organization_id} and id = ${token.id} and revoked_at is null
       and ${isWithin(token.within)}
    returning ${COLUMNS}`);
}

export type Use = {
  readonly organization_id: string;
  readonly token_id: string;
  readonly used_at: Date;
};

/**
 * One statement for all tokens used since the last call, so that requests need not write it. Tried
 * again when another process updates the same tokens in another order.
 */
export async function recordUse(db: Db, uses: readonly Use[]): Promise<void> {
  await db.alone(sql`
    update tokens t
       set last_used_at = greatest(t.last_used_at, u.used_at)
      from unnest(${uses.map((use) => use.organization_id)}::uuid[],
                  ${uses.map((use) => use.token_id)}::uuid[],
                  ${uses.map((use) => use.used_at)}::timestamptz[]) as u (organization_id, id, used_at)
     where t.organization_id = u.organization_id and t.id = u.id`);
}
