// The clocks of sandbox projects, which can be frozen. A live project has none.

import type { ProjectId } from "../../ids.ts";
import type { Db, Queryable, Tx } from "../db/db.ts";
import { isUnavailable } from "../db/failures.ts";
import { sql } from "../db/sql.ts";
import { type ProjectSettings, SETTINGS_COLUMNS } from "./tenants.ts";

type Clock = { readonly project_id: string; readonly frozen_at: Date | null };

/** Locks the clock, so that two who move it follow one another, and reads it then. */
export async function lock(tx: Tx, project: ProjectId): Promise<ProjectSettings> {
  const [, settings] = await Promise.all([
    tx.many(sql`
    select 1
      from project_clocks
     where project_id = ${project}
       for no key update`),
    tx.one<ProjectSettings>(sql`
    select ${SETTINGS_COLUMNS}
      from project_clocks k
      join projects p on p.id = ${project}
     where k.project_id = ${project}`),
  ]);
  return settings;
}

export async function freezeAt(tx: Tx, project: ProjectId, at: Date): Promise<void> {
  await tx.run(sql`
    update project_clocks
       set frozen_at = ${at}
     where project_id = ${project}`);
}

/** Whether anything has happened that has an instant: the clock then only goes forward. */
export async function hasHistory(db: Queryable, project: ProjectId): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (select 1 from subscriptions where project_id = ${project})
           or exists (select 1 from invoices where project_id = ${project})
           or exists (select 1 from grants where project_id = ${project}) as found`);
  return found;
}

/** The time of a frozen clock; null while it is not frozen. */
export async function frozenAt(db: Queryable, project: ProjectId): Promise<Date | null> {
  const clock = await db.maybeOne<Pick<Clock, "frozen_at">>(sql`
    select frozen_at
      from project_clocks
     where project_id = ${project}`);
  return clock?.frozen_at ?? null;
}

/** Reads the clock; nobody moves it until the commit. */
export async function hold(tx: Tx, project: ProjectId): Promise<Date | null> {
  const clock = await tx.maybeOne<Pick<Clock, "frozen_at">>(sql`
    select frozen_at
      from project_clocks
     where project_id = ${project}
       for share`);
  return clock?.frozen_at ?? null;
}

/** The clocks of sandboxes, but for those on a node that is away. */
export async function list(db: Db, sandboxes: readonly string[]): Promise<Clock[]> {
  if (sandboxes.length === 0) return [];
  try {
    return await listOf(db.forEveryNode(), sandboxes);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const lists = sandboxes.map((one) => listOf(db.forProject(one), [one]).catch(noneIfAway));
    return (await Promise.all(lists)).flat();
  }
}

function listOf(db: Queryable, sandboxes: readonly string[]): Promise<Clock[]> {
  // across projects: one row of the primary key each.
  return db.many<Clock>(sql`
    select project_id, frozen_at
      from project_clocks
     where project_id = any(${sandboxes}::uuid[])`);
}

function noneIfAway(error: unknown): Clock[] {
  if (isUnavailable(error)) return [];
  throw error;
}
