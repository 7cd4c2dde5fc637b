// Properties of subscriptions that were replaced: quantities over time are computed from them.

import { newId, type ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { json, sql } from "../db/sql.ts";

export type FormerProperties = {
  readonly subscription_id: string;
  /** The instant from which others were in force. */
  readonly until: Date;
  readonly properties: Record<string, unknown>;
};

export async function insert(tx: Tx, project: ProjectId, former: FormerProperties): Promise<void> {
  await tx.run(sql`
    insert into former_properties (project_id, subscription_id, id, until, properties)
    values (${project}, ${former.subscription_id}, ${newId()}, ${former.until},
            ${json(former.properties)})`);
}

/** The instant of the last change; null where there was none. */
export async function lastChange(
  db: Queryable,
  project: ProjectId,
  subscription_id: string,
): Promise<Date | null> {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select max(until) as at
      from former_properties
     where project_id = ${project} and subscription_id = ${subscription_id}`);
  return at;
}

/** Properties that were in force in the open period of each subscription, oldest first. */
export function list(
  db: Queryable,
  project: ProjectId,
  periods: readonly { readonly id: string; readonly current_period_start: Date }[],
) {
  return db.many<FormerProperties>(sql`
    select f.subscription_id, f.until, f.properties
      from former_properties f
      join unnest(${periods.map(({ id }) => id)}::uuid[],
                  ${periods.map((period) => period.current_period_start)}::timestamptz[])
           as n (id, start)
        on n.id = f.subscription_id and f.until > n.start
     where f.project_id = ${project}
     order by f.subscription_id, f.until, f.id`);
}
