// How much work waits to be done over all projects, for the metrics. Nothing is decided by it.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { AT_ONCE } from "./deliveries.ts";
import { sql } from "./sql.ts";

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

export function webhookBacklog(db: Queryable): Promise<WebhookBacklog> {
  // across projects: one probe of the queue's index per endpoint and figure.
  return db.one<WebhookBacklog>(sql`
    select (select count(*)
              from (select 1
                      from webhook_endpoints e
                     cross join lateral (
                       select 1
                         from webhook_queue q
                        where q.project_id = e.project_id and q.endpoint_id = e.id
                          and q.due_at <= ${AT_ONCE}
                        order by q.due_at
                        limit ${COUNTED_MAX}) q
                     where e.deleted_at is null
                     limit ${COUNTED_MAX}) d) as due,
           (select coalesce(extract(epoch from ${DATABASE_NOW} - min(q.due_at)), 0)::integer
              from webhook_endpoints e
             cross join lateral (
               select q.due_at
                 from webhook_queue q
                where q.project_id = e.project_id and q.endpoint_id = e.id
                  and q.due_at <= ${AT_ONCE}
                order by q.due_at
                limit 1) q
             where e.deleted_at is null) as oldest_due_s`);
}

export type CloseBacklog = {
  /** Subscriptions set aside among the first COUNTED_MAX that have an ended period. */
  readonly set_aside: number;
  /** When the oldest period ended that is to be closed: not set aside, by a clock that runs. */
  readonly oldest_ended_at: Date | null;
};

export function closeBacklog(db: Queryable, now: Date): Promise<CloseBacklog> {
  // across projects: one probe of the index of ended periods per project and figure.
  return db.one<CloseBacklog>(sql`
    select (select count(*)
              from (select s.set_aside_reason
                      from projects p
                     cross join lateral (
                       select s.set_aside_reason
                         from subscriptions s
                        where s.project_id = p.id and s.status in ('active', 'suspended')
                          and s.current_period_next <= coalesce(p.frozen_at, ${now})
                        order by s.current_period_next, s.id
                        limit ${COUNTED_MAX}) s
                     limit ${COUNTED_MAX}) ended
             where set_aside_reason is not null) as set_aside,
           (select min(s.current_period_next)
              from projects p
             cross join lateral (
               select s.current_period_next
                 from subscriptions s
                where s.project_id = p.id and s.status in ('active', 'suspended')
                  and s.current_period_next <= ${now} and s.set_aside_reason is null
                order by s.current_period_next
                limit 1) s
             where p.frozen_at is null) as oldest_ended_at`);
}
