// The log of what happened, in the order in which it was committed.

import { newId, type ProjectId } from "../../ids.ts";
import { type BillingEvent, EVENT_TYPES } from "../../schema/billing-events.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Apart, type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";
import type { Binding } from "../tenants/keys.ts";
import * as tenants from "../tenants/tenants.ts";
import { addLogEntries, type LogEntry } from "./feed.ts";

const COLUMNS: Sql = sql`id, resource_type, resource_id, event_type, actor_token_id, payload,
  created_at`;

/** Adds entries to the log, written when the transaction commits. */
export function insert(tx: Tx, project: ProjectId, entries: readonly LogEntry[], now: Date): void {
  const rows = entries.map((entry) => ({ id: newId(), ...entry, created_at: now }));
  addLogEntries(tx, project, rows);
}

/** Adds an entry to the log of each project of the organization, or of those within the binding. */
export async function insertForOrganization(
  tx: Tx,
  organization_id: string,
  within: Binding,
  entry: LogEntry,
  now: Date,
): Promise<void> {
  for (const id of await tenants.listProjectIds(tx, organization_id, within)) {
    insert(tx, id, [entry], now);
  }
}

/** The position at which the log ends now; what commits later stands behind it. */
export async function newestPosition(db: Queryable, project: ProjectId): Promise<string> {
  const { last } = await db.one<{ last: string }>(sql`
    select last::text as last
      from log_heads
     where project_id = ${project}`);
  return last;
}

export type DoneEntry = Pick<BillingEvent, "resource_id" | "created_at"> & {
  readonly position: string;
  readonly event_type: string;
  readonly payload: Readonly<Record<string, unknown>>;
};

/** What the service did because it was due: behind the position, until the instant, in order. */
export function listDone(
  db: Queryable,
  project: ProjectId,
  { after, until }: { readonly after: string; readonly until: Date },
  limit: number,
) {
  return db.many<DoneEntry>(sql`
    select position::text as position, event_type, resource_id, payload, created_at
      from billing_events
     where project_id = ${project} and position > ${after}::bigint and actor_token_id is null
       and created_at <= ${until} and resource_type not in ('clock', 'webhook', 'webhook_endpoint')
     order by billing_events.position
     limit ${limit}`);
}

export type LogFilter = {
  readonly resource_type?: string;
  readonly resource_id?: string;
  readonly event_type?: string;
  readonly actor_token_id?: string;
  readonly since?: Date;
};

/** Lists the log. A row that commits later sorts behind every row ever shown: see feed.ts. */
export async function list(
  db: Queryable,
  project: ProjectId,
  filter: LogFilter,
  request: PageRequest,
  ascending: boolean,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  const { resource_type } = filter;
  const types = EVENT_TYPES.filter((type) => type.startsWith(`${resource_type}.`));
  if (resource_type !== undefined) where.push(sql`event_type = any(${types}::text[])`);
  if (filter.resource_id) where.push(sql`resource_id = ${filter.resource_id}`);
  if (filter.event_type !== undefined) where.push(sql`event_type = ${filter.event_type}`);
  if (filter.actor_token_id) where.push(sql`actor_token_id = ${filter.actor_token_id}`);
  if (filter.since) {
    where.push(sql`created_at >= ${filter.since}`);
    where.push(sql`position >= ${firstSince(project, filter.since)}`);
  }
  // The index by type has the type before the position; what one caller did has its own.
  const { event_type, actor_token_id, resource_id } = filter;
  const isByType = (event_type ?? actor_token_id ?? resource_id) === undefined;
  const isOfTypes = resource_type !== undefined && isByType;
  return page<BillingEvent>(
    db,
    {
      columns: COLUMNS,
      from: sql`billing_events`,
      where,
      project: sql`project_id`,
      order: [{ column: sql`position`, type: sql`bigint` }],
      ascending,
      ...(isOfTypes && { apart: eachOf(types) }),
    },
    request,
  );
}

function eachOf(types: readonly string[]): Apart {
  return {
    values: sql`unnest(${types}::text[]) as v (type)`,
    on: sql`event_type = v.type`,
    alias: sql`billing_events`,
  };
}

/**
 * Before which no entry is of that time or later. The log is in the order of commits, which is
 * nearly that of time; `reached` never falls, so the place is found by halving.
 */
function firstSince(project: ProjectId, since: Date): Sql {
  return sql`(
    with recursive halved (low, high) as (
      select 1::bigint, h.last + 1
        from log_heads h
       where h.project_id = ${project}
       union all
      select case when e.reached < ${since} then e.position + 1 else s.low end,
             case when e.reached < ${since} then s.high else (s.low + s.high) / 2 end
        from halved s
        left join lateral (
          select b.position, b.reached
            from billing_events b
           where b.project_id = ${project} and b.position >= (s.low + s.high) / 2
           order by b.position
           limit 1) e on true
       where s.low < s.high)
    select max(low)
      from halved)`;
}
