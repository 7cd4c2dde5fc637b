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

/**
 * Removes at most `limit` messages of a project that were made before the instant, wait for no
 * endpoint and had no attempt since; returns how many.
 *
 * First the messages are locked, as sending one again does. One that was queued again before the
 * lock was granted is seen by the next statement, and stays.
 */
export async function removeFinished(
  tx: Tx,
  project: ProjectId,
  before: Date,
  limit: number,
): Promise<number> {
  const old = await tx.many<{ id: string }>(sql`
    select m.id
      from webhook_messages m
     where m.project_id = ${project} and m.id < ${idFloor(before)}
       and not exists (
         select 1
           from webhook_queue q
          where q.project_id = ${project} and q.message_id = m.id)
       and not exists (
         select 1
           from webhook_attempts a
          where a.project_id = ${project} and a.message_id = m.id and a.created_at >= ${before})
     order by m.id
     limit ${limit}
       for update skip locked`);
  if (old.length === 0) return 0;
  const removed = await tx.many<{ id: string }>(sql`
    delete from webhook_messages m
     where m.project_id = ${project} and m.id = any(${old.map(({ id }) => id)}::uuid[])
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
