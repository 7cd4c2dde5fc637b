// Tokens: their hash, scopes, expiry and last use. The full value is never stored.

import type { Scope, Token } from "../../schema/keys.ts";
import type { Db, Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";

const COLUMNS: Sql = sql`id, name, key_prefix, scopes, project_ids, last_used_at, created_at,
  expires_at, revoked_at`;

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

/** Whether the token works at the instant; null: all do, also revoked and expired ones. */
function worksAt(at: Date | null): Sql {
  return sql`(${at}::timestamptz is null
             or (revoked_at is null and (expires_at is null or expires_at > ${at})))`;
}

/** Whether the token is for no other projects than these. */
function isWithin(within: Binding): Sql {
  return within === null ? sql`true` : sql`project_ids <@ ${within}::uuid[]`;
}

export function list(
  db: Queryable,
  organization_id: string,
  { within, works_at }: { readonly within: Binding; readonly works_at: Date | null },
  request: PageRequest,
) {
  return page<Token>(
    db,
    {
      columns: COLUMNS,
      from: sql`tokens`,
      where: [sql`organization_id = ${organization_id}`, worksAt(works_at), isWithin(within)],
      project: sql`organization_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
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

/** Lets tokens be made one after the other: two counted at once would both be the last one. */
export async function lockOrganization(tx: Tx, organization_id: string): Promise<void> {
  await tx.many(sql`
    select 1
      from organizations
     where id = ${organization_id}
       for no key update`);
}

/** How many tokens work at the instant. */
export async function count(db: Queryable, organization_id: string, at: Date): Promise<number> {
  const row = await db.one<{ count: number }>(sql`
    select count(*)
      from tokens
     where organization_id = ${organization_id} and ${worksAt(at)}`);
  return row.count;
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

/** Revokes a token; undefined when none of this organization, within these projects, has the id. */
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

/**
 * Removes at most `limit` tokens that expired before the instant. The newest of each
 * organization stays: it says that there has been one, and whoever makes the next must show one.
 */
export function removeExpired(db: Queryable, before: Date, limit: number): Promise<number> {
  return db.run(sql`
    with expired as materialized (
      select t.organization_id, t.id
        from tokens t
       where t.expires_at < ${before} and exists (
         select 1
           from tokens n
          where n.organization_id = t.organization_id and n.id > t.id)
       order by t.expires_at
       limit ${limit})
    delete from tokens t
     using expired e
     where t.organization_id = e.organization_id and t.id = e.id`);
}

export type Use = {
  readonly organization_id: string;
  readonly token_id: string;
  readonly used_at: Date;
};

/**
 * Records the last use of many tokens in one statement, so that requests need not write it. It is
 * tried again when another process updates the same tokens in another order.
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
