// Billable metrics.

import { newId } from "../ids.ts";
import type { Metric, MetricCreate } from "../schema/metrics.ts";
import type { Queryable, Tx } from "./db.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

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

export function list(db: Queryable, project: ProjectId, archived: boolean) {
  return db.many<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where project_id = ${project} and (${archived} or archived_at is null)
     order by id desc`);
}

type Wanted = { readonly ids: readonly string[]; readonly codes: readonly string[] };

export function listLive(db: Queryable, project: ProjectId, wanted: Wanted) {
  return db.many<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where ${isWanted(project, wanted)}
     order by id`);
}

/** The same, locked against archiving until the transaction ends. */
export function lockLive(tx: Tx, project: ProjectId, wanted: Wanted) {
  return tx.many<Metric>(sql`
    select ${COLUMNS}
      from metrics
     where ${isWanted(project, wanted)}
     order by id
       for key share`);
}

function isWanted(project: ProjectId, { ids, codes }: Wanted): Sql {
  return sql`project_id = ${project} and archived_at is null
       and (id = any(${ids}::uuid[]) or code = any(${codes}::text[]))`;
}

/** Undefined when the code is taken. */
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
       for update`);
}

/** Whether a live charge of a live plan measures by it. */
export async function isUsed(db: Queryable, project: ProjectId, id: string): Promise<boolean> {
  const { used } = await db.one<{ used: boolean }>(sql`
    select exists (
      select 1
        from charges c
        join plans p on p.project_id = ${project} and p.id = c.plan_id
       where c.project_id = ${project} and c.metric_id = ${id}
         and c.removed_at is null and p.archived_at is null) as used`);
  return used;
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
