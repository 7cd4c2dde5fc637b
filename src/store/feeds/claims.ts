// The queue of webhook deliveries from the worker's side: what is due is claimed, sent under the
// claim, and released where that does not come about. Results of attempts are in attempts.ts.

import { randomInt } from "node:crypto";
import { newId, type ProjectId } from "../../ids.ts";
import { DATABASE_NOW, type Queryable } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { json, type Sql, sql } from "../db/sql.ts";

/** Seeds of the order in which endpoints are taken: any number will do. */
const SEED_MAX = 2 ** 31;

/** How long a claim holds: three times the deadline of an attempt, long after a worker reports. */
const CLAIM: Sql = sql`interval '30 seconds'`;

export type Claimed = {
  readonly project_id: ProjectId;
  readonly endpoint_id: string;
  readonly message_id: string;
  readonly claim: string;
  readonly attempt: number;
  readonly tries: number;
  readonly url: string;
  /** The secret, encrypted, as hexadecimal digits. */
  readonly secret: string;
  /** Former secrets that still sign, the oldest first; null: none. */
  readonly former_secrets: readonly string[] | null;
  readonly event: string;
  readonly body: string;
};

type ClaimedRow = Omit<Claimed, "body"> & { readonly body: string | null };

/** Whether the queue row `q` is not claimed, or its claim has run out. */
export const IS_FREE: Sql = sql`(q.held_until is null or q.held_until <= ${DATABASE_NOW})`;

/** Projects with something to send now. */
export async function listDueProjects(
  db: Queryable,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<ProjectId[]> {
  // across projects: one index probe for each endpoint.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select distinct e.project_id as id
      from webhook_endpoints e
     where e.enabled and ${filter(sql`e.project_id`)} and exists (
       select 1
         from webhook_queue q
        where q.project_id = e.project_id and ${filter(sql`q.project_id`)}
          and q.endpoint_id = e.id and q.due_at <= ${DATABASE_NOW}
          and ${IS_FREE})`);
  return rows.map((row) => row.id);
}

/** What is known of an endpoint: nothing yet, or that its last attempt was delivered, or failed. */
export type Reliability = "new" | "proven" | "failing";
export const UNPROVEN = ["new", "failing"] as const;
export type Unproven = (typeof UNPROVEN)[number];

/** How many rows one claim may take. */
export type ClaimLimits = {
  readonly total: number;
  /** The limit of endpoints that are not listed, which are new. */
  readonly each: number;
  /** The limits of all endpoints together that are new, and of those that fail. */
  readonly shares: { readonly [reliability in Unproven]: number };
  readonly endpoints: readonly {
    readonly endpoint_id: string;
    readonly reliability: Reliability;
    readonly limit: number;
  }[];
};

/**
 * Claims what is due, oldest first. The limit per endpoint keeps one that hangs from having all
 * that may be claimed, and the shares keep many such from it; where there is not enough for all,
 * endpoints are taken in another order each time. Rows are locked and then updated by ctid, which
 * cannot change under the lock.
 *
 * Several rows of one message: only the first carries its body. The commit does not wait for the
 * disk: a claim that is lost in a crash of the database leaves the row in the queue, to be sent
 * again.
 */
export function claim(db: Queryable, project: ProjectId, limits: ClaimLimits) {
  const token = newId();
  return db.many<ClaimedRow>(sql`
    with taken as (
      select q.ctid
        from (values ('proven', ${limits.total}::integer), ('new', ${limits.shares.new}),
                     ('failing', ${limits.shares.failing})) as s (reliability, "limit")
       cross join lateral (${dueOf(project, limits)}) q
       limit ${limits.total}),
    claimed as (
      update webhook_queue q
         set held_until = ${DATABASE_NOW} + ${CLAIM}, claim = ${token}
       where q.project_id = ${project} and q.ctid = any(array(select t.ctid from taken t))
      returning q.project_id, q.endpoint_id, q.message_id, q.claim, q.attempt, q.tries)
    select c.project_id, c.endpoint_id, c.message_id, c.claim, c.attempt, c.tries, e.url,
           encode(e.secret, 'hex') as secret,
           case when e.former_until <> '{}' then array(
                  select encode(f.secret, 'hex')
                    from unnest(e.former_secrets, e.former_until) with ordinality
                         as f (secret, until, place)
                   where f.until > ${DATABASE_NOW}
                   order by f.place) end as former_secrets,
           m.event,
           case when lag(c.message_id) over (order by c.message_id) is distinct from c.message_id
                then m.body end as body
      from claimed c
      join webhook_endpoints e on e.project_id = ${project} and e.id = c.endpoint_id
      join webhook_messages m on m.project_id = ${project} and m.id = c.message_id
     cross join (select set_config('synchronous_commit', 'off', true)) as commit_mode
     order by c.message_id`);
}

/** The queue rows to claim for endpoints of the reliability `s`. */
function dueOf(project: ProjectId, limits: ClaimLimits): Sql {
  const seed = randomInt(SEED_MAX);
  return sql`
    select q.ctid
      from (select e.id, coalesce(r."limit", ${limits.each}) as "limit"
              from webhook_endpoints e
              left join json_to_recordset(${json(limits.endpoints)}::json)
                   as r (endpoint_id uuid, reliability text, "limit" integer) on r.endpoint_id = e.id
             where e.project_id = ${project} and e.enabled
               and coalesce(r.reliability, 'new') = s.reliability
             order by hashtextextended(e.id::text, ${seed})) e
     cross join lateral (
       select q.ctid
         from webhook_queue q
        where q.project_id = ${project} and q.endpoint_id = e.id and q.due_at <= ${DATABASE_NOW}
          and ${IS_FREE}
        order by q.due_at
        limit e."limit"
          for update skip locked) q
     limit s."limit"`;
}

/** Releases rows that were claimed and not tried, so that they are due before the claim ends. */
export async function release(
  db: Queryable,
  project: ProjectId,
  rows: readonly Pick<Claimed, "endpoint_id" | "message_id" | "claim">[],
): Promise<void> {
  const claims = rows.map(({ endpoint_id, message_id, claim }) => ({
    endpoint_id,
    message_id,
    claim,
  }));
  await db.run(sql`
    update webhook_queue q
       set claim = null, held_until = null
      from json_to_recordset(${json(claims)}::json)
             as i (endpoint_id uuid, message_id uuid, claim uuid)
       ${placeInQueue(project)}
     where q.project_id = ${project} and q.ctid = w.place and q.claim = i.claim`);
}

/**
 * Joins `w.place`, the ctid of the queue row of each `i`; it does not change while the row is
 * claimed. The limit and `is not distinct from` make the planner look up each row by its message:
 * with statistics older than its growth it would otherwise read all of it for a few rows.
 */
export function placeInQueue(project: ProjectId): Sql {
  return sql`
    cross join lateral (
      select q.ctid as place
        from webhook_queue q
       where q.project_id = ${project} and q.message_id = i.message_id
         and q.endpoint_id is not distinct from i.endpoint_id and q.claim = i.claim
       limit 1) w`;
}
