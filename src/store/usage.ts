// Usage events as sent: what is looked up to record one, and what is read of those that are stored.

import type { Interval } from "../domain/periods.ts";
import { canonicalUuid, digestId } from "../ids.ts";
import type { UsageEvent } from "../schema/events.ts";
import type { Metric } from "../schema/metrics.ts";
import type { Queryable } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { type Sql, sql } from "./sql.ts";
import { DUE_AT } from "./subscriptions.ts";
import type { ProjectId } from "./tenants.ts";

/**
 * A UUID is its own key, which keeps time-ordered ids in order; other text becomes a digest, in the
 * shape of a UUID of version 8. One of that version is digested too, so that no id can be made that
 * has another's key.
 */
export function usageKey(transaction_id: string): string {
  const isKey = canonicalUuid(transaction_id) === transaction_id && transaction_id[14] !== "8";
  return isKey ? transaction_id : digestId(transaction_id, "uuid v8");
}

/** What recording needs of a subscription to place an event in its period. */
export type UsageSubscription = {
  readonly id: string;
  /** Differs after each change of the row. */
  readonly version: string;
  readonly external_id: string;
  readonly live: boolean;
  readonly started_at: Date;
  readonly terminated_at: Date | null;
  readonly period_no: number;
  readonly current_period_start: Date;
  readonly current_period_next: Date;
  /** When its start, its end or the end of the period is due. */
  readonly due_at: Date;
  readonly ends_at: Date | null;
  /** Of the periods that follow the open one. */
  readonly interval: Interval;
  readonly anchor_date: string | null;
  /** Of the open one. */
  readonly open_interval: Interval;
  readonly in_trial: boolean;
  readonly currency: string;
  /** What one unit costs at most in the open period, by metric, in the currency's main unit. */
  readonly rates: Readonly<Record<string, string>>;
};

export type UsageMetric = Metric & { readonly version: string };

/** By id or external_id; of several with one external_id the live one comes last. */
export function listSubscriptions(
  db: Queryable,
  project: ProjectId,
  refs: { ids: readonly string[]; external_ids: readonly string[] },
) {
  const columns = sql`
         s.id, s.revision::text as version, s.external_id,
         s.status in ('pending', 'active', 'suspended') as live, s.started_at, s.terminated_at,
         s.period_no, s.current_period_start, s.current_period_next, ${DUE_AT} as due_at,
         s.ends_at, s.anchor_date, s.in_trial, p.interval as open_interval,
         coalesce((select n.interval
                     from plans n
                    where n.project_id = ${project} and n.id = s.scheduled_plan_id),
                  p.interval) as interval,
         p.amount_currency as currency,
         coalesce((select jsonb_object_agg(r.metric_id, r.rate)
                     from (select c ->> 'metric_id' as metric_id,
                                  max(coalesce(c ->> 'highest_rate', c ->> 'rate')::numeric)::text
                                    as rate
                             from jsonb_array_elements(v.charges) c
                            where coalesce(c ->> 'highest_rate', c ->> 'rate') is not null
                            group by c ->> 'metric_id') r), '{}') as rates`;
  const table = sql`subscriptions s
      join plans p on p.project_id = ${project} and p.id = s.plan_id
      join plan_versions v on v.project_id = ${project} and v.plan_id = s.plan_id
       and v.version = s.plan_version`;
  if (refs.external_ids.length === 0) {
    return db.many<UsageSubscription>(sql`
      select ${columns}
        from ${table}
       where s.project_id = ${project} and s.id = any(${refs.ids}::uuid[])`);
  }
  return db.many<UsageSubscription>(sql`
    select ${columns}
      from ${table}
     where s.project_id = ${project}
       and (s.id = any(${refs.ids}::uuid[]) or s.external_id = any(${refs.external_ids}::text[]))
     order by live, s.id`);
}

export type EventFilter = {
  readonly subscription_id?: string;
  readonly metric_id?: string;
  readonly state?: "billable" | "unbillable";
  readonly from?: Date;
  readonly to?: Date;
};

const EVENT_COLUMNS: Sql = sql`coalesce(e.transaction_id, e.key::text) as transaction_id,
  e.subscription_id, m.code, e.value, e.at as timestamp, coalesce(e.properties, '{}') as properties,
  e.received_at, case when e.unbillable is null then 'billable' else 'unbillable' end as state,
  e.unbillable as reason`;
function joinMetric(project: ProjectId): Sql {
  return sql`
      join metrics m on m.project_id = ${project} and m.id = e.metric_id`;
}

export function list(db: Queryable, project: ProjectId, filter: EventFilter, request: PageRequest) {
  const where: Sql[] = [sql`e.project_id = ${project}`];
  if (filter.subscription_id) where.push(sql`e.subscription_id = ${filter.subscription_id}`);
  if (filter.metric_id) where.push(sql`e.metric_id = ${filter.metric_id}`);
  if (filter.state === "billable") where.push(sql`e.unbillable is null`);
  if (filter.state === "unbillable") where.push(sql`e.unbillable is not null`);
  if (filter.from) where.push(sql`e.at >= ${filter.from}`);
  if (filter.to) where.push(sql`e.at < ${filter.to}`);
  return page<UsageEvent>(
    db,
    {
      columns: EVENT_COLUMNS,
      from: sql`usage_events e`,
      joined: joinMetric(project),
      where,
      project: sql`e.project_id`,
      order: [
        { column: sql`e.at`, type: sql`timestamptz` },
        { column: sql`e.key`, type: sql`uuid` },
      ],
    },
    request,
  );
}

/** Compares the text too: a digest looks like a UUID, and a caller may have sent that very UUID. */
export function getByTransaction(db: Queryable, project: ProjectId, transaction_id: string) {
  return db.maybeOne<UsageEvent>(sql`
    select ${EVENT_COLUMNS}
      from usage_events e ${joinMetric(project)}
     where e.project_id = ${project} and e.key = ${usageKey(transaction_id)}
       and coalesce(e.transaction_id, e.key::text) = ${transaction_id}`);
}
