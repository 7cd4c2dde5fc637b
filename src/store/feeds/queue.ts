// The queue of webhook deliveries from the side of those who send messages again.

import type { ProjectId } from "../../ids.ts";
import { DATABASE_NOW, type Tx } from "../db/db.ts";
import { type Sql, sql } from "../db/sql.ts";
import { notification } from "./feed.ts";

/**
 * Queues messages again, due at once: attempts are numbered on from the last one, retries start
 * over. A message that is being sent at this moment stays as it is, so that it is not sent twice.
 *
 * The endpoint is compared by `is not distinct from`, which no index serves, so that rows are found
 * by their messages: by the endpoint, all that waits for it is read for each piece of a replay.
 */
export async function intoQueue(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  message_ids: readonly string[],
): Promise<void> {
  await tx.run(sql`
    insert into webhook_queue as q (project_id, endpoint_id, message_id, attempt, due_at)
    select m.project_id, ${endpoint_id}::uuid, m.id, coalesce(max(a.attempt), 0), ${DATABASE_NOW}
      from webhook_messages m
      left join webhook_attempts a
        on a.project_id = ${project} and a.message_id = m.id
       and a.endpoint_id is not distinct from ${endpoint_id}::uuid
     where m.project_id = ${project} and m.id = any(${message_ids}::uuid[])
     group by m.project_id, m.id
     order by m.id
    on conflict (project_id, message_id, endpoint_id) do update
       set due_at = excluded.due_at, tries = 0
     where q.claim is null`);
  await tx.run(sql`
    with moved as (
      select q.endpoint_id, q.message_id, q.attempt, q.due_at
        from webhook_queue q
       where q.project_id = ${project} and q.endpoint_id is not distinct from ${endpoint_id}::uuid
         and q.message_id = any(${message_ids}::uuid[]) and q.claim is null)
    ${rescheduleAttempts(project)}`);
  await tx.run(notification(project));
}

/**
 * Sets next_retry_at of the last attempt of each moved row; null when there will be none. The
 * endpoint is compared as above: it has many more attempts than a message. The status is compared
 * so that no index serves it either: the one of those that failed has all of a project in it.
 */
export function rescheduleAttempts(project: ProjectId): Sql {
  return sql`
      update webhook_attempts a
         set next_retry_at = nullif(m.due_at, 'infinity')
        from moved m
       where a.project_id = ${project} and a.message_id = m.message_id
         and a.endpoint_id is not distinct from m.endpoint_id and a.attempt = m.attempt
         and a.status <> 'delivered'`;
}
