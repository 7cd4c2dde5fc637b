// Deletes old webhook messages that are delivered or given up, with the log of their attempts.

import { idFloor } from "../ids.ts";
import type { Tx } from "./db.ts";
import { sql } from "./sql.ts";

/**
 * Removes at most `limit` messages that were made before the instant, wait for no endpoint and had
 * no attempt since; returns how many. The age of a message is taken from its id: `created_at` is
 * the project's time, and a sandbox clock may stand anywhere.
 *
 * In two statements: the first locks the messages, as sending one again does. One that was queued
 * again before the lock was granted is seen by the second statement, and stays.
 */
export async function removeFinished(tx: Tx, before: Date, limit: number): Promise<number> {
  // across projects: one index probe each, and the rows that are found.
  const old = await tx.many<{ project_id: string; id: string }>(sql`
    select m.project_id, m.id
      from projects p
     cross join lateral (
       select m.project_id, m.id
         from webhook_messages m
        where m.project_id = p.id and m.id < ${idFloor(before)}
          and not exists (
            select 1
              from webhook_queue q
             where q.project_id = m.project_id and q.message_id = m.id)
          and not exists (
            select 1
              from webhook_attempts a
             where a.project_id = m.project_id and a.message_id = m.id
               and a.created_at >= ${before})
        order by m.id
        limit ${limit}
          for update skip locked) m
     limit ${limit}`);
  if (old.length === 0) return 0;
  const { count } = await tx.one<{ count: number }>(sql`
    with message as (
      delete from webhook_messages m
       using unnest(${old.map((row) => row.project_id)}::uuid[],
                    ${old.map((row) => row.id)}::uuid[]) as o (project_id, id)
       where m.project_id = o.project_id and m.id = o.id
         and not exists (
           select 1
             from webhook_queue q
            where q.project_id = o.project_id and q.message_id = o.id)
      returning m.project_id, m.id),
    attempt as (
      delete from webhook_attempts a
       using message m
       where a.project_id = m.project_id and a.message_id = m.id)
    select count(*)
      from message`);
  return count;
}
