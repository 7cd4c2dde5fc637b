// The log of what happened, in the order in which it was committed.

import { newId } from "../ids.ts";
import type { BillingEvent } from "../schema/billing-events.ts";
import type { Queryable, Tx } from "./db.ts";
import { addLogEntries, fromFormerCursor, type LogEntry } from "./feed.ts";
import type { Binding } from "./keys.ts";
import { type PageRequest, page } from "./page.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

const COLUMNS: Sql = sql`id, resource_type, resource_id, event_type, actor_token_id, payload,
  created_at`;

/** Written when the transaction commits. */
export function insert(tx: Tx, project: ProjectId, entries: readonly LogEntry[], now: Date): void {
  const rows = entries.map((entry) => ({ id: newId(), ...entry, created_at: now }));
  addLogEntries(tx, project, rows);
}

/** What concerns the organization, or some of its projects, is in the log of each of them. */
export async function insertForOrganization(
  tx: Tx,
  organization_id: string,
  within: Binding,
  entry: LogEntry,
  now: Date,
): Promise<void> {
  const projects = await tx.many<{ id: ProjectId }>(sql`
    select id
      from projects
     where organization_id = ${organization_id}
       and (${within}::uuid[] is null or id = any(${within}::uuid[]))`);
  for (const { id } of projects) insert(tx, id, [entry], now);
}

export type LogFilter = {
  readonly resource_type?: string;
  readonly resource_id?: string;
  readonly event_type?: string;
  readonly actor_token_id?: string;
  readonly since?: Date;
};

/** A row that commits later sorts behind every row that was ever shown: see the feed. */
export async function list(
  db: Queryable,
  project: ProjectId,
  filter: LogFilter,
  request: PageRequest,
  ascending: boolean,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  if (filter.resource_type !== undefined) where.push(sql`resource_type = ${filter.resource_type}`);
  if (filter.resource_id) where.push(sql`resource_id = ${filter.resource_id}`);
  if (filter.event_type !== undefined) where.push(sql`event_type = ${filter.event_type}`);
  if (filter.actor_token_id) where.push(sql`actor_token_id = ${filter.actor_token_id}`);
  if (filter.since) where.push(sql`created_at >= ${filter.since}`);
  return page<BillingEvent>(
    db,
    {
      columns: COLUMNS,
      from: sql`billing_events`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`position`, type: sql`bigint` }],
      ascending,
    },
    await fromFormerCursor(db, project, "billing_events", request),
  );
}
