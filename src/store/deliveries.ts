// The queue of webhook deliveries from the worker's side, and the log of attempts.

import { newId } from "../ids.ts";
import type { WebhookDelivery } from "../schema/webhooks.ts";
import { DATABASE_NOW, type Queryable } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** Evaluated once per statement: compared with a volatile function, no index would be used. */
export const AT_ONCE: Sql = sql`(select ${DATABASE_NOW})`;

/** Three times the deadline of an attempt: a worker that is alive has reported long before. */
const CLAIM: Sql = sql`interval '30 seconds'`;

export type Claimed = {
  readonly project_id: ProjectId;
  readonly endpoint_id: string;
  readonly message_id: string;
  readonly claim: string;
  readonly attempt: number;
  readonly tries: number;
  readonly url: string;
  /** Encrypted, as hexadecimal digits. */
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly event: string;
  readonly body: string;
};

type ClaimedRow = Omit<Claimed, "body"> & { readonly body: string | null };

/** Of a queue row `q`: it is not claimed, or its claim has run out. */
export const IS_FREE: Sql = sql`(q.held_until is null or q.held_until <= ${AT_ONCE})`;

/** Projects with something to send now. */
export async function listDueProjects(db: Queryable): Promise<ProjectId[]> {
  // across projects: one index probe for each endpoint.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select distinct e.project_id as id
      from webhook_endpoints e
     where e.deleted_at is null and exists (
       select 1
         from webhook_queue q
        where q.project_id = e.project_id and q.endpoint_id = e.id and q.due_at <= ${AT_ONCE}
          and ${IS_FREE})`);
  return rows.map((row) => row.id);
}

export type Room = {
  readonly total: number;
  /** The limit of endpoints that are not listed. */
  readonly each: number;
  readonly endpoints: readonly { readonly endpoint_id: string; readonly limit: number }[];
};

/**
 * Claims what is due, oldest first. The limit per endpoint keeps one that hangs from filling the
 * room of the others; when there is not room for all, endpoints are taken in random order. Rows are
 * locked and then updated by ctid, which cannot change under the lock.
 *
 * Of several rows of one message only the first carries its body. The commit does not wait for the
 * disk: a claim that is lost in a crash of the database leaves the row in the queue, to be sent
 * again.
 */
export function claim(db: Queryable, project: ProjectId, room: Room) {
  const token = newId();
  return db.many<ClaimedRow>(sql`
    with taken as (
      select q.ctid
        from (select e.id, coalesce(r."limit", ${room.each}) as "limit"
                from webhook_endpoints e
                left join json_to_recordset(${json(room.endpoints)}::json)
                     as r (endpoint_id uuid, "limit" integer) on r.endpoint_id = e.id
               where e.project_id = ${project} and e.enabled
               order by random()) e
       cross join lateral (
         select q.ctid
           from webhook_queue q
          where q.project_id = ${project} and q.endpoint_id = e.id and q.due_at <= ${AT_ONCE}
            and ${IS_FREE}
          order by q.due_at
          limit e."limit"
            for update skip locked) q
       limit ${room.total}),
    claimed as (
      update webhook_queue q
         set held_until = ${DATABASE_NOW} + ${CLAIM}, claim = ${token}
       where q.project_id = ${project} and q.ctid = any(array(select t.ctid from taken t))
      returning q.project_id, q.endpoint_id, q.message_id, q.claim, q.attempt, q.tries)
    select c.*, e.url, encode(e.secret, 'hex') as secret,
           case when e.previous_secret_until > ${DATABASE_NOW}
                then encode(e.previous_secret, 'hex') end as previous_secret,
           m.event,
           case when lag(c.message_id) over (order by c.message_id) is distinct from c.message_id
                then m.body end as body
      from claimed c
      join webhook_endpoints e on e.project_id = c.project_id and e.id = c.endpoint_id
      join webhook_messages m on m.project_id = c.project_id and m.id = c.message_id
     cross join (select set_config('synchronous_commit', 'off', true)) as commit_mode
     order by c.message_id`);
}

export type AttemptResult = {
  readonly endpoint_id: string;
  readonly message_id: string;
  readonly claim: string;
  readonly attempt: number;
  readonly status: "delivered" | "failed";
  readonly http_status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
  readonly response_excerpt: string | null;
  /** Null when delivered or given up. */
  readonly retry_ms: number | null;
  /** The endpoint is disabled: the retry waits until it is enabled again. */
  readonly paused?: boolean;
};

/**
 * Writes the results of attempts, only under the claim that each was made with: a worker that was
 * stalled past its claim records nothing. Returns the recorded ones.
 */
export function record(db: Queryable, project: ProjectId, results: readonly AttemptResult[]) {
  const rows = results.map((result) => ({ id: newId(), ...result }));
  return db.many<Pick<AttemptResult, "endpoint_id" | "message_id">>(sql`
    with input as (
      select i.*, w.place
        from json_to_recordset(${json(rows)}::json)
             as i (id uuid, endpoint_id uuid, message_id uuid, claim uuid, attempt integer,
                   status text, http_status integer, error text, duration_ms integer,
                   response_excerpt text, retry_ms bigint, paused boolean)
       ${placeInQueue(project)}),
    removed as (
      delete from webhook_queue q
       using input i
       where q.ctid = i.place and q.claim = i.claim
         and i.retry_ms is null
      returning q.project_id, q.endpoint_id, q.message_id),
    postponed as (
      update webhook_queue q
         set attempt = i.attempt, tries = q.tries + 1, claim = null, held_until = null,
             due_at = case when i.paused then 'infinity'
                           else ${DATABASE_NOW} + i.retry_ms * interval '1 millisecond' end
        from input i
       where q.ctid = i.place and q.claim = i.claim
         and i.retry_ms is not null
      returning q.project_id, q.endpoint_id, q.message_id, q.due_at)
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, attempt, status,
                                  http_status, error, duration_ms, response_excerpt,
                                  next_retry_at, created_at)
    select ${project}, i.id, i.endpoint_id, i.message_id, i.attempt, i.status, i.http_status,
           i.error, i.duration_ms, i.response_excerpt, nullif(p.due_at, 'infinity'),
           ${DATABASE_NOW} - i.duration_ms * interval '1 millisecond'
      from input i
      left join removed r on r.endpoint_id = i.endpoint_id and r.message_id = i.message_id
      left join postponed p on p.endpoint_id = i.endpoint_id and p.message_id = i.message_id
     where r.message_id is not null or p.message_id is not null
    returning endpoint_id, message_id`);
}

/**
 * The same for attempts that were all delivered, which most are: nothing is tried again, so what
 * there is to write follows from the rows that leave the queue. Returns how many were recorded.
 */
export function recordDelivered(
  db: Queryable,
  project: ProjectId,
  results: readonly AttemptResult[],
): Promise<number> {
  const of = <T>(pick: (result: AttemptResult) => T) => results.map(pick);
  return db.run(sql`
    with input as (
      select i.*, w.place
        from unnest(${plainArray(results.map(newId))}::uuid[],
                    ${plainArray(of((r) => r.endpoint_id))}::uuid[],
                    ${plainArray(of((r) => r.message_id))}::uuid[],
                    ${plainArray(of((r) => r.claim))}::uuid[],
                    ${plainArray(of((r) => r.http_status ?? 0))}::integer[],
                    ${plainArray(of((r) => r.duration_ms))}::integer[],
                    ${of((r) => r.response_excerpt)}::text[])
             as i (id, endpoint_id, message_id, claim, http_status, duration_ms, response_excerpt)
       ${placeInQueue(project)}),
    removed as (
      delete from webhook_queue q
       using input i
       where q.ctid = i.place and q.claim = i.claim
      returning q.project_id, i.id, q.endpoint_id, q.message_id, q.attempt, i.http_status, i.duration_ms,
                i.response_excerpt)
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, attempt, status,
                                  http_status, duration_ms, response_excerpt, created_at)
    select r.project_id, r.id, r.endpoint_id, r.message_id, r.attempt + 1, 'delivered',
           r.http_status, r.duration_ms, r.response_excerpt,
           ${DATABASE_NOW} - r.duration_ms * interval '1 millisecond'
      from removed r`);
}

/**
 * Joins `w.place`, the ctid of the queue row of each `i`; it does not change while the row is
 * claimed. The limit and `is not distinct from` make the planner look up each row by its message:
 * with statistics from before the queue grew it would otherwise read all of it for a few rows. For
 * the same reason statements that use the place do not name the project a second time.
 */
function placeInQueue(project: ProjectId): Sql {
  return sql`
    cross join lateral (
      select q.ctid as place
        from webhook_queue q
       where q.project_id = ${project} and q.message_id = i.message_id
         and q.endpoint_id is not distinct from i.endpoint_id and q.claim = i.claim
       limit 1) w`;
}

/** Ids and numbers need no quoting; the driver would check every value for it. */
function plainArray(values: readonly (string | number)[]): string {
  return `{${values.join(",")}}`;
}

/** Releases rows that were claimed and not tried: they are due again before their claim ends. */
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
       set claim = null, held_until = null,
           due_at = case when e.enabled then q.due_at else 'infinity' end
      from json_to_recordset(${json(claims)}::json)
             as i (endpoint_id uuid, message_id uuid, claim uuid)
       ${placeInQueue(project)}
      join webhook_endpoints e on e.project_id = ${project} and e.id = i.endpoint_id
     where q.ctid = w.place and q.claim = i.claim
    returning q.project_id`);
}

export type DeliveryRow = Omit<WebhookDelivery, "reason" | "payload"> & { readonly body: string };

export type DeliveryFilter = {
  readonly endpoint_id?: string;
  readonly status?: string;
  readonly event?: string;
};

export function list(
  db: Queryable,
  project: ProjectId,
  filter: DeliveryFilter,
  request: PageRequest,
) {
  const where: Sql[] = [sql`a.project_id = ${project}`];
  if (filter.endpoint_id) where.push(sql`a.endpoint_id = ${filter.endpoint_id}`);
  if (filter.status) where.push(sql`a.status = ${filter.status}`);
  if (filter.event) where.push(sql`m.event = ${filter.event}`);
  return page<DeliveryRow>(
    db,
    {
      columns: sql`a.id, a.endpoint_id, a.message_id, m.event, a.attempt, a.status, a.http_status,
        a.error, a.duration_ms, a.response_excerpt, m.body, a.next_retry_at,
        a.created_at`,
      from: sql`webhook_attempts a
        join webhook_messages m on m.project_id = a.project_id and m.id = a.message_id`,
      where,
      project: sql`a.project_id`,
      order: [{ column: sql`a.id`, type: sql`uuid` }],
    },
    request,
  );
}
