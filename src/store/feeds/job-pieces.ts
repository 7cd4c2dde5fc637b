// The pieces of jobs on the queue of an endpoint: one looks at 1,000 rows, and says where the next
// begins.

import type { ProjectId } from "../../ids.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { sql } from "../db/sql.ts";
import { IS_FREE } from "./claims.ts";
import { NO_ID, type Replay, type Resume } from "./jobs.ts";
import { intoQueue, rescheduleAttempts } from "./queue.ts";

/** Rows that one piece looks at, at most. */
export const PIECE_MAX = 1_000;

/** How many rows a piece has done, and the rest; undefined when there is no more. */
export type Piece<Rest> = { readonly done: number; readonly rest: Rest | undefined };

/**
 * Makes due what waits, if that is few rows: they are found by their instants. By their messages,
 * in the order of which `resumePiece` goes, the rows of all other endpoints lie between them.
 */
export async function resumeFew(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
): Promise<"done" | "more"> {
  const waiting = await tx.many<{ message_id: string }>(sql`
    select q.message_id
      from webhook_queue q
     where q.project_id = ${project} and q.endpoint_id = ${endpoint_id}
       and q.due_at > ${DATABASE_NOW}
     order by q.due_at
     limit ${PIECE_MAX + 1}`);
  if (waiting.length > PIECE_MAX) return "more";
  await makeDue(
    tx,
    project,
    endpoint_id,
    waiting.map(({ message_id }) => message_id),
  );
  return "done";
}

/** Makes due the next piece of what waits, by message. */
export async function resumePiece(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  { until_id, after_id, done }: Resume,
  limit: number,
): Promise<Piece<Resume>> {
  const looked = await tx.many<{ message_id: string }>(sql`
    select q.message_id
      from webhook_queue q
     where q.project_id = ${project} and q.endpoint_id = ${endpoint_id}
       and q.message_id > ${after_id ?? NO_ID} and q.message_id <= ${until_id}
     order by q.message_id
     limit ${limit}`);
  const ids = looked.map(({ message_id }) => message_id);
  const due = await makeDue(tx, project, endpoint_id, ids);
  const last = ids.at(-1);
  const isLast = last === undefined || ids.length < limit;
  const rest = isLast ? undefined : { until_id, after_id: last, done: done + due };
  return { done: due, rest };
}

/**
 * Makes rows due but those being sent at this moment; returns how many. They are found by their
 * messages: no index serves the way in which the endpoint is compared.
 */
async function makeDue(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  message_ids: readonly string[],
): Promise<number> {
  if (message_ids.length === 0) return 0;
  return tx.run(sql`
    with moved as (
      update webhook_queue
         set due_at = ${DATABASE_NOW}
       where project_id = ${project} and endpoint_id is not distinct from ${endpoint_id}::uuid
         and message_id = any(${message_ids}::uuid[]) and claim is null
         and due_at > ${DATABASE_NOW}
      returning endpoint_id, message_id, attempt, due_at)
    ${rescheduleAttempts(project)}`);
}

/** Queues the next piece of messages, if subscribed to. */
export async function replayPiece(
  tx: Tx,
  project: ProjectId,
  endpoint: { readonly id: string; readonly events: readonly string[] },
  replay: Replay,
  limit = PIECE_MAX,
): Promise<Piece<Replay>> {
  const looked = await tx.many<{ id: string; at: Date; position: string; event: string }>(sql`
    select m.id, m.created_at as at, m.position::text as position, m.event
      from webhook_messages m
     where m.project_id = ${project} and m.position <= ${replay.until_position}::bigint
       and (m.created_at, m.position) > (${replay.after_at}, ${replay.after_position}::bigint)
     order by m.created_at, m.position
     limit ${limit}`);
  const wanted = looked.filter(({ event }) => endpoint.events.includes(event));
  const ids = await lockMessages(
    tx,
    project,
    wanted.map(({ id }) => id),
  );
  if (ids.length > 0) await intoQueue(tx, project, endpoint.id, ids);
  const last = looked.at(-1);
  const done = ids.length;
  if (last === undefined || looked.length < limit) return { done, rest: undefined };
  const { at: after_at, position: after_position } = last;
  return { done, rest: { ...replay, after_at, after_position, done: replay.done + done } };
}

/** Locks messages that are still there: old ones may be removed at this moment. */
async function lockMessages(tx: Tx, project: ProjectId, ids: readonly string[]) {
  const found = await tx.many<{ id: string }>(sql`
    select m.id
      from webhook_messages m
     where m.project_id = ${project} and m.id = any(${ids}::uuid[])
     order by m.id
       for key share`);
  return found.map(({ id }) => id);
}

/**
 * Drops a piece of what waits for endpoints that were removed; returns how many rows. What is being
 * sent at this moment stays until its result is written, or its claim has run out.
 */
export async function dropPiece(tx: Tx, project: ProjectId, limit = PIECE_MAX): Promise<number> {
  const rows = await tx.many<{ endpoint_id: string; message_id: string }>(sql`
    select r.endpoint_id, r.message_id
      from webhook_endpoints e
     cross join lateral (
       select q.endpoint_id, q.message_id
         from webhook_queue q
        where q.project_id = ${project} and q.endpoint_id = e.id and ${IS_FREE}
        limit ${limit}
          for no key update skip locked) r
     where e.project_id = ${project} and e.deleted_at is not null
     limit ${limit}`);
  if (rows.length === 0) return 0;
  return tx.run(sql`
    delete from webhook_queue q
     using unnest(${rows.map(({ endpoint_id }) => endpoint_id)}::uuid[],
                  ${rows.map(({ message_id }) => message_id)}::uuid[])
             as r (endpoint_id, message_id)
     where q.project_id = ${project} and q.endpoint_id = r.endpoint_id
       and q.message_id = r.message_id`);
}

/** Whether anything of the endpoint is in the queue. */
export async function hasQueue(
  db: Queryable,
  project: ProjectId,
  endpoint_id: string,
): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (
      select 1
        from webhook_queue
       where project_id = ${project} and endpoint_id = ${endpoint_id}) as found`);
  return found;
}

/** Projects where something waits for an endpoint that was removed: it came with a late commit. */
export async function listWithDropped(
  db: Queryable,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<ProjectId[]> {
  // across projects: one index probe for each endpoint that was removed.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select distinct e.project_id as id
      from webhook_endpoints e
     where e.deleted_at is not null and ${filter(sql`e.project_id`)} and exists (
       select 1
         from webhook_queue q
        where q.project_id = e.project_id and ${filter(sql`q.project_id`)}
          and q.endpoint_id = e.id)`);
  return rows.map(({ id }) => id);
}
