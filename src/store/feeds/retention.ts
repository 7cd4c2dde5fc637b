// Deletes old webhook messages that are delivered or given up, with the log of their attempts.

import { idFloor, type ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { sql } from "../db/sql.ts";

/**
 * Projects with messages made before the instant. The age of a message is taken from its id:
 * `created_at` is the project's time, and a sandbox clock may stand anywhere.
 */
export async function listWithOld(
  db: Queryable,
  before: Date,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<ProjectId[]> {
  // across projects: one index probe each.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select a.project_id as id
      from project_anchors a
     where ${filter(sql`a.project_id`)} and exists (
       select 1
         from webhook_messages m
        where m.project_id = a.project_id and ${filter(sql`m.project_id`)}
          and m.id < ${idFloor(before)})`);
  return rows.map((row) => row.id);
}

/** An id before those of all messages. */
const FIRST_ID = "00000000-0000-0000-0000-000000000000";

/** What a piece of a sweep came to: it looks at each message once, also at those that stay. */
export type Sweep = {
  /** How many messages were removed. */
  readonly removed: number;
  /** The last message that was looked at; undefined where there was none. */
  readonly last: string | undefined;
  /** Whether there may be more that are old. */
  readonly more: boolean;
};

/**
 * Looks at the next `limit` messages of a project behind `after` that were made before the instant,
 * and removes those that wait for no endpoint and had no attempt since.
 *
 * First the messages are locked, as sending one again does. One that was queued again before the
 * lock was granted is seen by the next statement, and stays.
 */
export async function removeFinished(
  tx: Tx,
  project: ProjectId,
  before: Date,
  limit: number,
  after = FIRST_ID,
): Promise<Sweep> {
  const old = await tx.many<{ id: string }>(sql`
    select m.id
      from webhook_messages m
     where m.project_id = ${project} and m.id > ${after} and m.id < ${idFloor(before)}
     order by m.id
     limit ${limit}`);
  const removed = await remove(
    tx,
    project,
    before,
    old.map(({ id }) => id),
  );
  return { removed, last: old.at(-1)?.id, more: old.length === limit };
}

async function remove(
  tx: Tx,
  project: ProjectId,
  before: Date,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const finished = await tx.many<{ id: string }>(sql`
    select m.id
      from webhook_messages m
     where m.project_id = ${project} and m.id = any(${ids}::uuid[])
       and not exists (
         select 1
           from webhook_queue q
          where q.project_id = ${project} and q.message_id = m.id)
       and not exists (
         select 1
           from webhook_attempts a
          where a.project_id = ${project} and a.message_id = m.id and a.created_at >= ${before})
     order by m.id
       for update skip locked`);
  if (finished.length === 0) return 0;
  const removed = await tx.many<{ id: string }>(sql`
    delete from webhook_messages m
     where m.project_id = ${project} and m.id = any(${finished.map(({ id }) => id)}::uuid[])
       and not exists (
         select 1
           from webhook_queue q
          where q.project_id = ${project} and q.message_id = m.id)
    returning m.id`);
  await tx.run(sql`
    delete from webhook_attempts
     where project_id = ${project} and message_id = any(${removed.map(({ id }) => id)}::uuid[])`);
  return removed.length;
}
