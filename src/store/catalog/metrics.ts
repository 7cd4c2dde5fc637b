// Billable metrics.

import { newId, type ProjectId } from "../../ids.ts";
import type { Metric, MetricCreate } from "../../schema/metrics.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { json, type Sql, sql } from "../db/sql.ts";
import { NOT_ENDED } from "../subscriptions/subscriptions.ts";

const COLUMNS: Sql = sql`id, code, name, aggregation_type, field_name, dimensions, weighted_by,
  created_at, updated_at, archived_at`;

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where project_id = ${project} and id = ${id}`);
}

export function getByCode(db: Queryable, project: ProjectId, code: string) {
  return db.maybeOne<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where project_id = ${project} and code = ${code}`);
}

export function list(db: Queryable, project: ProjectId, archived: boolean, request: PageRequest) {
  const where = [sql`project_id = ${project}`];
  if (!archived) where.push(sql`archived_at is null`);
  return page<Metric>(
    db,
    {
      columns: COLUMNS,
      from: sql`metrics`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

type Wanted = { readonly ids: readonly string[]; readonly codes: readonly string[] };

export function listLive(db: Queryable, project: ProjectId, wanted: Wanted) {
  return db.many<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where ${isWanted(project, wanted)}
     order by id`);
}

/** Keeps metrics, live or not, from being archived until the transaction ends. */
export async function hold(tx: Tx, project: ProjectId, { ids, codes }: Wanted): Promise<void> {
  if (ids.length + codes.length === 0) return;
  await tx.many(sql`
    select 1
      from metrics
     where project_id = ${project}
       and (id = any(${ids}::uuid[]) or code = any(${codes}::text[]))
     order by id
       for share`);
}

/** Live metrics, kept from being archived until the transaction ends. */
export function lockLive(tx: Tx, project: ProjectId, wanted: Wanted) {
  return tx.many<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where ${isWanted(project, wanted)}
     order by id
       for share`);
}

function isWanted(project: ProjectId, { ids, codes }: Wanted): Sql {
  return sql`project_id = ${project} and archived_at is null
       and (id = any(${ids}::uuid[]) or code = any(${codes}::text[]))`;
}

/** Makes a metric; undefined when the code is taken. */
export function insert(tx: Tx, project: ProjectId, metric: MetricCreate, now: Date) {
  return tx.maybeOne<Metric>(sql`
    insert into metrics (project_id, id, code, name, aggregation_type, field_name, dimensions,
                         weighted_by, created_at, updated_at)
    values (${project}, ${newId()}, ${metric.code}, ${metric.name}, ${metric.aggregation_type},
            ${metric.field_name ?? null}, ${metric.dimensions ?? []}, ${metric.weighted_by ?? null},
            ${now}, ${now})
    on conflict on constraint metrics_code_key do nothing
    returning ${COLUMNS}`);
}

export function patch(tx: Tx, project: ProjectId, id: string, change: { name: string }, now: Date) {
  return tx.maybeOne<Metric>(sql`
    update metrics
       set name = ${change.name}, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where project_id = ${project} and id = ${id}
       for no key update`);
}

/**
 * Whether an open period is billed by the metric, or a charge measures by it: of a live plan, or of
 * one that a subscription is on or changes to.
 */
export async function isUsed(db: Queryable, project: ProjectId, id: string): Promise<boolean> {
  const { used } = await db.one<{ used: boolean }>(sql`
    select exists (
      select 1
        from charges c
        join plans p on p.project_id = ${project} and p.id = c.plan_id
       where c.project_id = ${project} and c.metric_id = ${id} and c.removed_at is null
         and (p.archived_at is null or exists (
           select 1
             from subscriptions s
            where s.project_id = ${project} and ${NOT_ENDED}
              and c.plan_id in (s.plan_id, s.scheduled_plan_id))))
    or exists (
      select 1
        from plan_versions v
        join subscriptions s
          on s.project_id = ${project} and s.plan_id = v.plan_id and s.plan_version = v.version
       where v.project_id = ${project} and v.charges @> ${json([{ metric_id: id }])}::jsonb
         and ${NOT_ENDED})
    or exists (
      select 1
        from price_overrides o
        join subscriptions s
          on s.project_id = ${project} and s.id = o.subscription_id
         and s.override_no = o.override_no
       where o.project_id = ${project} and o.charges @> ${json([{ metric_id: id }])}::jsonb
         and ${NOT_ENDED}) as used`);
  return used;
}

/** Brings an archived metric back under its id, if it counts usage as the wanted one does. */
export function restore(tx: Tx, project: ProjectId, metric: MetricCreate, now: Date) {
  return tx.maybeOne<Metric>(sql`
    update metrics
       set archived_at = null, name = ${metric.name}, updated_at = ${now}
     where project_id = ${project} and code = ${metric.code} and archived_at is not null
       and aggregation_type = ${metric.aggregation_type}
       and field_name is not distinct from ${metric.field_name ?? null}
       and dimensions = ${metric.dimensions ?? []}::text[]
       and weighted_by is not distinct from ${metric.weighted_by ?? null}
    returning ${COLUMNS}`);
}

export async function archive(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update metrics
       set archived_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** Live metrics by code with their versions, without a lock: for recording usage. */
export function listByCode(db: Queryable, project: ProjectId, codes: readonly string[]) {
  return db.many<Metric & { version: string }>(sql`
    select ${COLUMNS}, revision::text as version
      from metrics
     where project_id = ${project} and code = any(${codes}::text[]) and archived_at is null`);
}
