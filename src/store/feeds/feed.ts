// The order of the log and of webhook messages: a position that the project counts under the lock
// of one row, last of all in a transaction. Who commits later has the greater position and a
// rollback leaves no gap, so a reader who goes on from a position misses nothing.

import type { ProjectId } from "../../ids.ts";
import type { BillingEvent } from "../../schema/billing-events.ts";
import type { Tx } from "../db/db.ts";
import { areFew, columnsOf, namesOf, raw, recordset, rowsOf, valuesOf } from "../db/rows.ts";
import { type Sql, sql } from "../db/sql.ts";

/** The channel on which workers listen; the payload is the project with new work. */
export const CHANNEL = "dues_webhooks";

export type LogEntry = Pick<
  BillingEvent,
  "resource_type" | "resource_id" | "event_type" | "actor_token_id"
> & { readonly payload: Readonly<Record<string, unknown>> };

export type Message = {
  readonly event: string;
  readonly body: string;
  readonly endpoint_ids: readonly string[];
};

type NewLogEntry = LogEntry & { readonly id: string; readonly created_at: Date };
type NewMessage = Message & { readonly id: string; readonly created_at: Date };
type Pending = { readonly entries: NewLogEntry[]; readonly messages: NewMessage[] };

const LOG_ENTRY = {
  position: "bigint",
  id: "uuid",
  resource_type: "text",
  resource_id: "uuid",
  event_type: "text",
  actor_token_id: "uuid",
  payload: "jsonb",
  created_at: "timestamptz",
};
const MESSAGE = {
  position: "bigint",
  id: "uuid",
  event: "text",
  body: "text",
  created_at: "timestamptz",
};
const NOTHING: Sql = sql``;
/** What the head says of each entry, behind its own columns. */
const REACHED: Sql = sql`, reached`;
const QUEUED = { message_id: "uuid", endpoint_id: "uuid" };

const pending = new WeakMap<Tx, Map<ProjectId, Pending>>();

export function addLogEntries(tx: Tx, project: ProjectId, entries: readonly NewLogEntry[]): void {
  pendingOf(tx, project).entries.push(...entries);
}

/** Adds messages, written when the transaction commits, which also notifies the workers. */
export function addMessages(tx: Tx, project: ProjectId, messages: readonly NewMessage[]): void {
  pendingOf(tx, project).messages.push(...messages);
}

/** Notifies workers. A statement by itself: on a cluster the node we are connected to sends it. */
export function notification(project: ProjectId): Sql {
  return sql`select pg_notify(${CHANNEL}, ${project}::text)`;
}

function pendingOf(tx: Tx, project: ProjectId): Pending {
  let projects = pending.get(tx);
  if (projects === undefined) {
    projects = new Map();
    pending.set(tx, projects);
    tx.beforeCommit(() => statementsOf(pending.get(tx) ?? new Map()));
  }
  const known = projects.get(project) ?? { entries: [], messages: [] };
  projects.set(project, known);
  return known;
}

/** The statements, by project in one order, so that two who write to several cannot deadlock. */
function statementsOf(projects: ReadonlyMap<ProjectId, Pending>): Sql[] {
  const sorted = [...projects].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.flatMap(([project, { entries, messages }]) => {
    const count = entries.length + messages.length;
    if (count === 0) return [];
    return [
      sql`update log_heads
             set last = last + ${count}, latest = greatest(latest, ${latestOf(entries)})
           where project_id = ${project}`,
      ...(entries.length === 0 ? [] : [insertLogEntries(project, entries, count)]),
      ...(messages.length === 0 ? [] : insertMessages(project, messages)),
    ];
  });
}

function latestOf(entries: readonly NewLogEntry[]): Date | null {
  const latest = Math.max(...entries.map(({ created_at }) => created_at.getTime()));
  return entries.length === 0 ? null : new Date(latest);
}

function insertLogEntries(project: ProjectId, entries: readonly NewLogEntry[], count: number): Sql {
  return sql`
    insert into billing_events (${columnsOf(LOG_ENTRY)}${areFew(entries) ? NOTHING : REACHED})
    ${placed(project, LOG_ENTRY, below(count, entries), sql`, h.latest`)}`;
}

function insertMessages(project: ProjectId, messages: readonly NewMessage[]): Sql[] {
  const queued = messages.flatMap(({ id, endpoint_ids }) =>
    endpoint_ids.map((endpoint_id) => ({ message_id: id, endpoint_id })),
  );
  const rows = messages.map(({ id, event, body, created_at }) => ({ id, event, body, created_at }));
  return [
    sql`
    insert into webhook_messages (${columnsOf(MESSAGE)})
    ${placed(project, MESSAGE, below(messages.length, rows))}`,
    ...(queued.length === 0 ? [] : [insertQueued(project, queued)]),
    notification(project),
  ];
}

/** Queues messages, due at once. */
function insertQueued(
  project: ProjectId,
  rows: readonly Record<keyof typeof QUEUED, string>[],
): Sql {
  return sql`insert into webhook_queue (${columnsOf(QUEUED)}) ${rowsOf(project, QUEUED, rows)}`;
}

/** Rows with positions counted back from the head, which is the last one of this transaction. */
function below<R extends object>(count: number, rows: readonly R[]): (R & { position: number })[] {
  return rows.map((row, no) => ({ ...row, position: no - (count - 1) }));
}

/**
 * Rows whose position is counted from the head. A trigger adds the head to each of few rows; for
 * many the statement does, without a call for each.
 */
function placed<C extends Readonly<Record<string, string>>>(
  project: ProjectId,
  columns: C,
  rows: readonly { readonly [name in keyof C]: unknown }[],
  ofHead: Sql = NOTHING,
): Sql {
  if (areFew(rows)) return valuesOf(project, columns, rows);
  const { position, ...others } = columns;
  return sql`
    select h.project_id, h.last + r.position, ${raw(namesOf(others, "r."))}${ofHead}
      from log_heads h
     cross join ${recordset("r", columns, rows)}
     where h.project_id = ${project}`;
}
