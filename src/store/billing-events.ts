// The log of what happened, in the order in which it was committed.

import { newId } from "../ids.ts";
import type { BillingEvent } from "../schema/billing-events.ts";
import type { Queryable, Tx } from "./db.ts";
import { type PageRequest, page } from "./page.ts";
import { json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const COLUMNS: Sql = sql`id, resource_type, resource_id, event_type, actor_token_id, payload,
  created_at`;

export type LogEntry = Pick<
  BillingEvent,
  "resource_type" | "resource_id" | "event_type" | "actor_token_id"
> & { readonly payload: Readonly<Record<string, unknown>> };

export async function insert(
  tx: Tx,
  project: ProjectId,
  entries: readonly LogEntry[],
  now: Date,
): Promise<void> {
  const rows = entries.map((entry) => ({ id: newId(), ...entry }));
  await tx.run(sql`
    insert into billing_events (project_id, created_at, id, resource_type, resource_id, event_type,
                                actor_token_id, payload)
    select ${project}, ${now}, e.*
      from jsonb_to_recordset(${json(rows)}::jsonb)
           as e (id uuid, resource_type text, resource_id uuid, event_type text,
                 actor_token_id uuid, payload jsonb)`);
}

/** What concerns the whole organization is in the log of each of its projects. */
export async function insertForOrganization(
  tx: Tx,
  organization_id: string,
  entry: LogEntry,
  now: Date,
): Promise<void> {
  const projects = await tx.many<{ id: ProjectId }>(sql`
    select id
      from projects
     where organization_id = ${organization_id}`);
  for (const { id } of projects) await insert(tx, id, [entry], now);
}

export type LogFilter = {
  readonly resource_type?: string;
  readonly resource_id?: string;
  readonly event_type?: string;
  readonly actor_token_id?: string;
  readonly since?: Date;
};

/**
 * Ascending, the list ends where an older transaction is still open: a row that commits later
 * sorts behind every row that was ever shown, so a reader who follows the cursor misses none.
 */
export function list(
  db: Queryable,
  project: ProjectId,
  filter: LogFilter,
  request: PageRequest,
  ascending: boolean,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  if (filter.resource_type) where.push(sql`resource_type = ${filter.resource_type}`);
  if (filter.resource_id) where.push(sql`resource_id = ${filter.resource_id}`);
  if (filter.event_type) where.push(sql`event_type = ${filter.event_type}`);
  if (filter.actor_token_id) where.push(sql`actor_token_id = ${filter.actor_token_id}`);
  if (filter.since) where.push(sql`created_at >= ${filter.since}`);
  if (ascending) where.push(sql`xid < pg_snapshot_xmin(pg_current_snapshot())`);
  return page<BillingEvent>(
    db,
    {
      columns: COLUMNS,
      from: sql`billing_events`,
      where,
      project: sql`project_id`,
      order: [
        { column: sql`xid`, type: sql`xid8` },
        { column: sql`id`, type: sql`uuid` },
      ],
      ascending,
    },
    request,
  );
}
