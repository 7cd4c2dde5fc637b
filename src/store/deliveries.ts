// The queue of webhook deliveries from the worker's side, and the log of attempts.

import { randomInt } from "node:crypto";
import { newId } from "../ids.ts";
import type { WebhookDelivery } from "../schema/webhooks.ts";
import { DATABASE_NOW, type Db, type Queryable, type Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { ALL_PROJECTS, type ProjectFilter } from "./project-filter.ts";
import { namesOf, raw, recordset } from "./rows.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** Any number will do: it decides in which order endpoints are taken. */
const SEED_MAX = 2 ** 31;

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
     where e.deleted_at is null and ${filter(sql`e.project_id`)} and exists (
       select 1
         from webhook_queue q
        where q.project_id = e.project_id and ${filter(sql`q.project_id`)}
          and q.endpoint_id = e.id and q.due_at <= ${DATABASE_NOW}
          and ${IS_FREE})`);
  return rows.map((row) => row.id);
}

/** What is known of an endpoint: nothing yet, that its last attempt was delivered, or failed. */
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

export type LastAttempt = {
  readonly endpoint_id: string;
  readonly status: AttemptResult["status"];
};

/** How the last attempt to each endpoint ended. Endpoints that were never tried are left out. */
export function listLastAttempts(db: Queryable, project: ProjectId): Promise<LastAttempt[]> {
  return db.many<LastAttempt>(sql`
    select e.id as endpoint_id, a.status
      from webhook_endpoints e
     cross join lateral (
       select a.status
         from webhook_attempts a
        where a.project_id = ${project} and a.endpoint_id = e.id
        order by a.id desc
        limit 1) a
     where e.project_id = ${project} and e.deleted_at is null`);
}

/**
 * Claims what is due, oldest first. The limit per endpoint keeps one that hangs from taking the
 * places of the others, and the shares keep many of them from it; when there are not enough for
 * all, endpoints are taken in another order each time. Rows are locked and then updated by ctid,
 * which cannot change under the lock.
 *
 * Of several rows of one message only the first carries its body. The commit does not wait for the
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
           case when e.previous_secret_until > ${DATABASE_NOW}
                then encode(e.previous_secret, 'hex') end as previous_secret,
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

type Recorded = Pick<AttemptResult, "endpoint_id" | "message_id">;

/**
 * Writes the results of attempts, only under the claim that each was made with: a worker that was
 * stalled past its claim records nothing. Returns the recorded ones.
 */
export async function record(
  tx: Tx,
  project: ProjectId,
  results: readonly AttemptResult[],
): Promise<Recorded[]> {
  const moved = await moveOn(tx, project, results);
  await insertAttempts(tx, project, attemptsOf(results, moved));
  return moved;
}

/** Takes what was tried off the queue, or postpones it; `record` also writes the log. */
export function moveOn(db: Queryable, project: ProjectId, results: readonly AttemptResult[]) {
  return db.many<Recorded & { next_retry_at: string | null }>(sql`
    with input as (
      select i.*, w.place,
             case when i.paused then 'infinity'
                  else ${DATABASE_NOW} + i.retry_ms * interval '1 millisecond' end as again_at
        from json_to_recordset(${json(results)}::json)
             as i (endpoint_id uuid, message_id uuid, claim uuid, attempt integer,
                   retry_ms bigint, paused boolean)
       ${placeInQueue(project)}),
    removed as (
      delete from webhook_queue q
       using input i
       where q.project_id = ${project} and q.ctid = i.place and q.claim = i.claim
         and i.retry_ms is null
      returning q.endpoint_id, q.message_id),
    postponed as (
      update webhook_queue q
         set attempt = i.attempt, tries = q.tries + 1, claim = null, held_until = null,
             due_at = i.again_at
        from input i
       where q.project_id = ${project} and q.ctid = i.place and q.claim = i.claim
         and i.retry_ms is not null
      returning q.endpoint_id, q.message_id, q.due_at)
    select endpoint_id, message_id, null as next_retry_at from removed
     union all
    select endpoint_id, message_id, nullif(due_at, 'infinity')::text from postponed`);
}

/**
 * The same for attempts that were all delivered, which most are: nothing is tried again, so what
 * there is to write follows from the rows that leave the queue. Returns how many were recorded.
 */
export function recordDelivered(
  db: Db,
  project: ProjectId,
  results: readonly AttemptResult[],
): Promise<number> {
  const of = (pick: (result: AttemptResult) => string) => plainArray(results.map(pick));
  return db.tx(async (tx) => {
    const removed = await tx.many<Recorded>(sql`
      with input as (
        select i.claim, w.place
          from unnest(${of((r) => r.endpoint_id)}::uuid[], ${of((r) => r.message_id)}::uuid[],
                      ${of((r) => r.claim)}::uuid[]) as i (endpoint_id, message_id, claim)
         ${placeInQueue(project)})
      delete from webhook_queue q
       using input i
       where q.project_id = ${project} and q.ctid = i.place and q.claim = i.claim
      returning q.endpoint_id, q.message_id`);
    await insertDelivered(tx, project, foundIn(removed, results));
    return removed.length;
  });
}

/** Those whose queue rows were found: nearly always all. */
function foundIn(removed: readonly Recorded[], results: readonly AttemptResult[]) {
  if (removed.length === results.length) return results;
  const found = new Set(removed.map(keyOf));
  return results.filter((result) => found.has(keyOf(result)));
}

function keyOf({ endpoint_id, message_id }: Recorded): string {
  return `${endpoint_id} ${message_id}`;
}

/** What is the same for all of them is not sent. */
async function insertDelivered(tx: Tx, project: ProjectId, results: readonly AttemptResult[]) {
  if (results.length === 0) return;
  const of = (pick: (result: AttemptResult) => string | number) => plainArray(results.map(pick));
  await tx.run(sql`
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, attempt, status,
                                  http_status, duration_ms, response_excerpt, created_at)
    select a.project_id, r.id, r.endpoint_id, r.message_id, r.attempt, 'delivered', r.http_status,
           r.duration_ms, r.response_excerpt,
           ${DATABASE_NOW} - r.duration_ms * interval '1 millisecond'
      from project_anchors a
     cross join unnest(${of(() => newId())}::uuid[], ${of((r) => r.endpoint_id)}::uuid[],
                       ${of((r) => r.message_id)}::uuid[], ${of((r) => r.attempt)}::integer[],
                       ${of((r) => r.http_status ?? 0)}::integer[],
                       ${of((r) => r.duration_ms)}::integer[],
                       ${results.map((r) => r.response_excerpt)}::text[])
           as r (id, endpoint_id, message_id, attempt, http_status, duration_ms, response_excerpt)
     where a.project_id = ${project}`);
}

const ATTEMPT = {
  id: "uuid",
  endpoint_id: "uuid",
  message_id: "uuid",
  attempt: "integer",
  status: "text",
  http_status: "integer",
  error: "text",
  duration_ms: "integer",
  response_excerpt: "text",
  next_retry_at: "timestamptz",
};
type NewAttempt = { readonly [name in keyof typeof ATTEMPT]: unknown };

/** The results whose queue rows were found, as rows of the log of attempts. */
function attemptsOf(
  results: readonly AttemptResult[],
  moved: readonly (Recorded & { next_retry_at: string | null })[],
): NewAttempt[] {
  const retries = new Map(moved.map((row) => [keyOf(row), row.next_retry_at]));
  return results.flatMap(({ claim, retry_ms, paused, ...result }) => {
    const next_retry_at = retries.get(keyOf(result));
    return next_retry_at === undefined ? [] : [{ id: newId(), ...result, next_retry_at }];
  });
}

async function insertAttempts(tx: Tx, project: ProjectId, rows: readonly NewAttempt[]) {
  if (rows.length === 0) return;
  await tx.run(sql`
    insert into webhook_attempts (project_id, ${raw(namesOf(ATTEMPT, ""))}, created_at)
    select a.project_id, ${raw(namesOf(ATTEMPT, "r."))},
           ${DATABASE_NOW} - r.duration_ms * interval '1 millisecond'
      from project_anchors a
     cross join ${recordset("r", ATTEMPT, rows)}
     where a.project_id = ${project}`);
}

/**
 * Joins `w.place`, the ctid of the queue row of each `i`; it does not change while the row is
 * claimed. The limit and `is not distinct from` make the planner look up each row by its message:
 * with statistics from before the queue grew it would otherwise read all of it for a few rows.
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

/**
 * Releases rows that were claimed and not tried: they are due again before their claim ends. The
 * endpoints are locked, as where rows are paused.
 */
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
      join (select e.id, e.enabled
              from webhook_endpoints e
             where e.project_id = ${project}
               for share) e on e.id = i.endpoint_id
     where q.project_id = ${project} and q.ctid = w.place and q.claim = i.claim`);
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
  const attempts = sql`webhook_attempts a`;
  const messages = sql`join webhook_messages m on m.project_id = ${project} and m.id = a.message_id`;
  const where: Sql[] = [sql`a.project_id = ${project}`];
  if (filter.endpoint_id) where.push(sql`a.endpoint_id = ${filter.endpoint_id}`);
  if (filter.status) where.push(sql`a.status = ${filter.status}`);
  if (filter.event !== undefined) where.push(sql`m.event = ${filter.event}`);
  return page<DeliveryRow>(
    db,
    {
      columns: sql`a.id, a.endpoint_id, a.message_id, m.event, a.attempt, a.status, a.http_status,
        a.error, a.duration_ms, a.response_excerpt, m.body, a.next_retry_at,
        a.created_at`,
      from: filter.event === undefined ? attempts : sql`${attempts} ${messages}`,
      ...(filter.event === undefined && { joined: messages }),
      where,
      project: sql`a.project_id`,
      order: [{ column: sql`a.id`, type: sql`uuid` }],
    },
    request,
  );
}
