// Jobs on the queue of an endpoint, done piece by piece: which there are and how far each is. Their
// pieces are in job-pieces.ts.

import type { ProjectId } from "../../ids.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { type Sql, sql } from "../db/sql.ts";

/** Among more messages than this, the wanted ones are not counted. */
export const COUNTED_MAX = 100_000;

export type JobKind = "resume" | "replay" | "drop";

/** A job as callers see it. */
export type ShownJob = {
  readonly endpoint_id: string;
  readonly kind: "resume" | "replay";
  readonly since: Date | null;
  readonly done: number;
  readonly total: number | null;
  readonly created_at: Date;
};

export function list(db: Queryable, project: ProjectId) {
  return db.many<ShownJob>(sql`
    select endpoint_id, kind, since, done, total, created_at
      from webhook_jobs
     where project_id = ${project} and kind <> 'drop'
     order by endpoint_id, kind`);
}

/** How far a replay is: behind the message `after_…`, in the order of their instants. */
export type Replay = {
  readonly since: Date;
  readonly until_position: string;
  readonly after_at: Date;
  readonly after_position: string;
  readonly done: number;
  readonly total: number | null;
};
export type Resume = {
  readonly until_id: string;
  readonly after_id: string | null;
  readonly done: number;
};
export type Drop = { readonly done: number };
export type Job = { readonly endpoint_id: string } & (
  | ({ readonly kind: "resume" } & Resume)
  | ({ readonly kind: "replay" } & Replay)
  | ({ readonly kind: "drop" } & Drop)
);

/** A job that a worker takes up. */
export type Taken = Job & { readonly total: number | null; readonly is_new: boolean };

const COLUMNS: Sql = sql`endpoint_id, kind, since, until_id, after_id,
  until_position::text as until_position, after_at, after_position::text as after_position, done,
  total`;

/**
 * Locks one job of the project that nobody else is at: the one whose last piece was done longest
 * ago, so that they take turns.
 */
export function lockNext(tx: Tx, project: ProjectId, kinds: readonly JobKind[]) {
  return tx.maybeOne<Taken>(sql`
    select ${COLUMNS}, worked_at is null as is_new
      from webhook_jobs
     where project_id = ${project} and kind = any(${kinds}::text[])
     order by worked_at nulls first, queued_at, endpoint_id, kind
     limit 1
       for no key update skip locked`);
}

export function lockReplay(tx: Tx, project: ProjectId, endpoint_id: string) {
  return tx.maybeOne<Replay>(sql`
    select ${COLUMNS}
      from webhook_jobs
     where project_id = ${project} and endpoint_id = ${endpoint_id} and kind = 'replay'
       for no key update`);
}

/** Starts a job, in place of one of its kind. */
export async function start(tx: Tx, project: ProjectId, job: Job, now: Date): Promise<void> {
  const none = { since: null, until_id: null, after_id: null, until_position: null };
  const row = { ...none, after_at: null, after_position: null, total: null, ...job };
  await tx.run(sql`
    insert into webhook_jobs (project_id, endpoint_id, kind, since, until_id, after_id,
                              until_position, after_at, after_position, done, total, created_at)
    values (${project}, ${row.endpoint_id}, ${row.kind}, ${row.since}, ${row.until_id},
            ${row.after_id}, ${row.until_position}, ${row.after_at}, ${row.after_position},
            ${row.done}, ${row.total}, ${now})
    on conflict (project_id, endpoint_id, kind) do update
       set since = excluded.since, until_id = excluded.until_id, after_id = excluded.after_id,
           until_position = excluded.until_position, after_at = excluded.after_at,
           after_position = excluded.after_position, done = excluded.done, total = excluded.total,
           created_at = excluded.created_at, queued_at = excluded.queued_at, worked_at = null`);
}

export async function moveOn(tx: Tx, project: ProjectId, job: Job): Promise<void> {
  const none = { after_id: null, after_at: null, after_position: null };
  const row = { ...none, ...job };
  await tx.run(sql`
    update webhook_jobs
       set after_id = ${row.after_id}, after_at = ${row.after_at},
           after_position = ${row.after_position}, done = ${row.done}, worked_at = ${DATABASE_NOW}
     where project_id = ${project} and endpoint_id = ${row.endpoint_id} and kind = ${row.kind}`);
}

/** Prolongs a replay to a later position. Its total is unknown from then on. */
export async function prolong(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  until_position: string,
): Promise<void> {
  await tx.run(sql`
    update webhook_jobs
       set until_position = ${until_position}, total = null
     where project_id = ${project} and endpoint_id = ${endpoint_id} and kind = 'replay'
       and until_position < ${until_position}::bigint`);
}

/** Begins a replay again that is under way; does nothing where there is none. */
export async function replayFromStart(tx: Tx, project: ProjectId, endpoint_id: string) {
  await tx.run(sql`
    update webhook_jobs
       set after_at = since, after_position = -1, done = 0, total = null
     where project_id = ${project} and endpoint_id = ${endpoint_id} and kind = 'replay'`);
}

export async function end(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  kinds: readonly JobKind[],
): Promise<void> {
  await tx.run(sql`
    delete from webhook_jobs
     where project_id = ${project} and endpoint_id = ${endpoint_id}
       and kind = any(${kinds}::text[])`);
}

/** An id before all others. */
export const NO_ID = "00000000-0000-0000-0000-000000000000";

/** A resume up to the last message there is, also one of a process whose clock is ahead of ours. */
export async function resumeUntilNow(db: Queryable, project: ProjectId): Promise<Resume> {
  const last = await db.maybeOne<{ id: string }>(sql`
    select id
      from webhook_messages
     where project_id = ${project}
     order by id desc
     limit 1`);
  return { until_id: last?.id ?? NO_ID, after_id: null, done: 0 };
}

type Counted = { readonly last: string; readonly looked: number; readonly counted: number };

/** A replay up to the present end of the log: what comes behind it is queued as it is written. */
export async function replayUntilNow(
  db: Queryable,
  project: ProjectId,
  events: readonly string[],
  since: Date,
): Promise<Replay & { readonly counted: number }> {
  const { last, looked, counted } = await db.one<Counted>(sql`
    select h.last::text as last, c.looked, c.counted
      from log_heads h
     cross join (
       select count(*) as looked,
              count(*) filter (where m.event = any(${events}::text[])) as counted
         from (select event
                 from webhook_messages
                where project_id = ${project} and created_at >= ${since}
                order by created_at, position
                limit ${COUNTED_MAX + 1}) m) c
     where h.project_id = ${project}`);
  const total = looked > COUNTED_MAX ? null : counted;
  return {
    since,
    until_position: last,
    after_at: since,
    after_position: "-1",
    done: 0,
    total,
    counted: Math.min(counted, COUNTED_MAX),
  };
}

/** Projects with jobs of these kinds. */
export async function listProjects(
  db: Queryable,
  kinds: readonly JobKind[],
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<ProjectId[]> {
  // across projects: a table of what is to be done, which is nearly always empty.
  const rows = await db.many<{ id: ProjectId }>(sql`
    select distinct project_id as id
      from webhook_jobs
     where kind = any(${kinds}::text[]) and ${filter(sql`project_id`)}`);
  return rows.map(({ id }) => id);
}
