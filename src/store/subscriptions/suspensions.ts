// Suspensions of subscriptions: the time for which the base fee is not billed.

import type { Suspension } from "../../domain/periods.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { sql } from "../db/sql.ts";

export async function insert(
  tx: Tx,
  project: ProjectId,
  subscription_id: string,
  from: Date,
): Promise<void> {
  await tx.run(sql`
    insert into suspensions (project_id, subscription_id, id, suspended_at)
    values (${project}, ${subscription_id}, ${newId()}, ${from})`);
}

/** Writes a suspension that has an end already: its days are not billed, all else goes on. */
export async function insertPause(
  tx: Tx,
  project: ProjectId,
  subscription_id: string,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<void> {
  await tx.run(sql`
    insert into suspensions (project_id, subscription_id, id, suspended_at, resumed_at)
    values (${project}, ${subscription_id}, ${newId()}, ${from}, ${to})`);
}

export async function end(
  tx: Tx,
  project: ProjectId,
  subscription_id: string,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update suspensions
       set resumed_at = ${now}
     where project_id = ${project} and subscription_id = ${subscription_id}
       and resumed_at is null`);
}

export type SuspensionRow = Suspension & { readonly subscription_id: string };

export function list(db: Queryable, project: ProjectId, ids: readonly string[]) {
  return db.many<SuspensionRow>(sql`
    select subscription_id, suspended_at as "from", resumed_at as "to"
      from suspensions
     where project_id = ${project} and subscription_id = any(${ids}::uuid[])
     order by subscription_id, id`);
}
