// Properties of subscriptions that have been replaced: what quantities over time are computed from.

import { newId } from "../ids.ts";
import type { Queryable, Tx } from "./db.ts";
import { json, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

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

/** Those in force at or after the start of each one's open period, oldest first. */
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
