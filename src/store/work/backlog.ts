// How much work waits to be done over all projects, for the metrics. Nothing is decided by it.

import { DATABASE_NOW, type Queryable } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { sql } from "../db/sql.ts";
import { DUE_AT, NOT_ENDED } from "../subscriptions/subscriptions.ts";

/**
 * Counts stop here, so that measuring a long queue stays cheap: 15 ms at the limit, with 500,000
 * rows in the queue. Rows are asked for in the order of the index, because without it PostgreSQL
 * may read the whole index range into a bitmap before it stops.
 */
export const COUNTED_MAX = 10_001;

export type WebhookBacklog = {
  /** Due and not delivered yet, in flight or not; at most COUNTED_MAX. */
  readonly due: number;
  readonly oldest_due_s: number;
};

export function webhookBacklog(
  db: Queryable,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<WebhookBacklog> {
  // across projects: one probe of the queue's index per endpoint and figure.
  return db.one<WebhookBacklog>(sql`
    select (select count(*)
              from (select 1
                      from webhook_endpoints e
                     cross join lateral (
                       select 1
                         from webhook_queue q
                        where q.project_id = e.project_id and ${filter(sql`q.project_id`)}
                          and q.endpoint_id = e.id and q.due_at <= ${DATABASE_NOW}
                        order by q.due_at
                        limit ${COUNTED_MAX}) q
                     where e.enabled and ${filter(sql`e.project_id`)}
                     limit ${COUNTED_MAX}) d) as due,
           (select coalesce(extract(epoch from ${DATABASE_NOW} - min(q.due_at)), 0)::integer
              from webhook_endpoints e
             cross join lateral (
               select q.due_at
                 from webhook_queue q
                where q.project_id = e.project_id and ${filter(sql`q.project_id`)}
                  and q.endpoint_id = e.id and q.due_at <= ${DATABASE_NOW}
                order by q.due_at
                limit 1) q
             where e.enabled and ${filter(sql`e.project_id`)}) as oldest_due_s`);
}

export type CloseBacklog = {
  /** Subscriptions that are set aside, also ended ones by late usage; at most COUNTED_MAX. */
  readonly set_aside: number;
  /** When the oldest period ended that is to be closed: not set aside, by a clock that runs. */
  readonly oldest_ended_at: Date | null;
};

export async function closeBacklog(
  db: Queryable,
  now: Date,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<CloseBacklog> {
  // across projects: an index of those that are set aside, which are few.
  const { set_aside } = await db.one<{ set_aside: number }>(sql`
    select count(*) as set_aside
      from (select 1
              from subscriptions s
             where ${filter(sql`s.project_id`)} and s.set_aside_reason is not null
             limit ${COUNTED_MAX}) aside`);
  // across projects: one probe of the index of ended periods each.
  const { oldest_ended_at } = await db.one<{ oldest_ended_at: Date | null }>(sql`
    select min(s.due_at) as oldest_ended_at
      from project_anchors a
      left join project_clocks k on k.project_id = a.project_id and ${filter(sql`k.project_id`)}
     cross join lateral (
       select ${DUE_AT} as due_at
         from subscriptions s
        where s.project_id = a.project_id and ${filter(sql`s.project_id`)}
          and ${NOT_ENDED} and ${DUE_AT} <= ${now} and s.set_aside_reason is null
        order by ${DUE_AT}
        limit 1) s
     where ${filter(sql`a.project_id`)} and k.frozen_at is null`);
  return { set_aside, oldest_ended_at };
}
