// Attempts to deliver webhook messages: their results move the queue on, and are kept in a log.

import { newId, type ProjectId } from "../../ids.ts";
import type { WebhookDelivery } from "../../schema/webhooks.ts";
import { DATABASE_NOW, type Db, type Queryable, type Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { namesOf, raw, recordset } from "../db/rows.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { placeInQueue } from "./claims.ts";

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

export type AttemptResult = {
  readonly endpoint_id: string;
  readonly message_id: string;
  /** The event of the message, by which attempts are listed. */
  readonly event: string;
  readonly claim: string;
  readonly attempt: number;
  readonly status: "delivered" | "failed";
  readonly http_status: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
  readonly response_excerpt: string | null;
  /** When it is tried again, from now; null when delivered or given up. */
  readonly retry_ms: number | null;
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
             ${DATABASE_NOW} + i.retry_ms * interval '1 millisecond' as again_at
        from json_to_recordset(${json(results)}::json)
             as i (endpoint_id uuid, message_id uuid, claim uuid, attempt integer,
                   retry_ms bigint)
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
    select endpoint_id, message_id, due_at::text from postponed`);
}

/**
 * Records attempts that were all delivered, which most are: nothing is tried again, so what there
 * is to write follows from the rows that leave the queue. Returns how many were recorded.
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

/** The results whose queue rows were found: nearly always all. */
function foundIn(removed: readonly Recorded[], results: readonly AttemptResult[]) {
  if (removed.length === results.length) return results;
  const found = new Set(removed.map(keyOf));
  return results.filter((result) => found.has(keyOf(result)));
}

function keyOf({ endpoint_id, message_id }: Recorded): string {
  return `${endpoint_id} ${message_id}`;
}

/** Writes delivered attempts to the log. What is the same for all of them is not sent. */
async function insertDelivered(tx: Tx, project: ProjectId, results: readonly AttemptResult[]) {
  if (results.length === 0) return;
  const of = (pick: (result: AttemptResult) => string | number) => plainArray(results.map(pick));
  await tx.run(sql`
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, event, attempt, status,
                                  http_status, duration_ms, response_excerpt, created_at)
    select a.project_id, r.id, r.endpoint_id, r.message_id, r.event, r.attempt, 'delivered',
           r.http_status, r.duration_ms, r.response_excerpt,
           ${DATABASE_NOW} - r.duration_ms * interval '1 millisecond'
      from project_anchors a
     cross join unnest(${of(() => newId())}::uuid[], ${of((r) => r.endpoint_id)}::uuid[],
                       ${of((r) => r.message_id)}::uuid[], ${of((r) => r.event)}::text[],
                       ${of((r) => r.attempt)}::integer[],
                       ${of((r) => r.http_status ?? 0)}::integer[],
                       ${of((r) => r.duration_ms)}::integer[],
                       ${results.map((r) => r.response_excerpt)}::text[])
           as r (id, endpoint_id, message_id, event, attempt, http_status, duration_ms, response_excerpt)
     where a.project_id = ${project}`);
}

const ATTEMPT = {
  id: "uuid",
  endpoint_id: "uuid",
  message_id: "uuid",
  event: "text",
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
  return results.flatMap(({ claim, retry_ms, ...result }) => {
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

/** An array of what needs no quoting, as ids and events: the driver would check every value. */
function plainArray(values: readonly (string | number)[]): string {
  return `{${values.join(",")}}`;
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
  // An attempt that waits for an endpoint that is off has no time yet.
  const isEnabled = sql`(
          select e.enabled
            from webhook_endpoints e
           where e.project_id = ${project} and e.id = a.endpoint_id)`;
  const where: Sql[] = [sql`a.project_id = ${project}`];
  if (filter.endpoint_id) where.push(sql`a.endpoint_id = ${filter.endpoint_id}`);
  // Written out, so that the index of those that failed serves it.
  if (filter.status === "failed") where.push(sql`a.status = 'failed'`);
  else if (filter.status) where.push(sql`a.status = ${filter.status}`);
  if (filter.event !== undefined) where.push(sql`a.event = ${filter.event}`);
  return page<DeliveryRow>(
    db,
    {
      columns: sql`a.id, a.endpoint_id, a.message_id, a.event, a.attempt, a.status, a.http_status,
        a.error, a.duration_ms, a.response_excerpt, m.body, a.created_at,
        case when ${isEnabled} then a.next_retry_at end as next_retry_at`,
      from: sql`webhook_attempts a`,
      joined: sql`join webhook_messages m on m.project_id = ${project} and m.id = a.message_id`,
      where,
      project: sql`a.project_id`,
      order: [{ column: sql`a.id`, type: sql`uuid` }],
    },
    request,
  );
}
