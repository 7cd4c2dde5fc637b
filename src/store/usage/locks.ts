// Keeps an event from being recorded into a period while that period is billed: locks that
// recording shares, and the cutoff that a close sets before it begins (decision 8).

import { idMs, type ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { sql } from "../db/sql.ts";

/** Subscriptions made within this time share a lock, so that a batch for many takes few. */
const LOCK_NEIGHBOURS_MS = 1_024;
const LOCKS_MAX = 1_024;
/** The lock of the project: recording shares it, raising the cutoff has it alone for an instant. */
export const CUTOFF_LOCK = LOCKS_MAX;

/**
 * The lock of a subscription's usage. Recording holds it shared, the end of a period alone, so that
 * an event is either in the sum or comes after it. An advisory lock queues fairly; with row locks a
 * steady stream of events would keep the end waiting for ever.
 */
export function usageLock(subscription_id: string): number {
  return Math.floor(idMs(subscription_id) / LOCK_NEIGHBOURS_MS) % LOCKS_MAX;
}

/** The locks, each once, in the order in which all transactions take them: none wait in a ring. */
export function inOrder(locks: readonly number[]): number[] {
  return [...new Set(locks)].sort((a, b) => a - b);
}

export async function lockUsage(
  tx: Tx,
  project: ProjectId,
  locks: readonly number[],
  mode: "shared" | "alone",
): Promise<void> {
  if (locks.length === 0) return;
  await tx.many(sql`
    select lock_usage(${project}, ${inOrder(locks)}::integer[], ${mode === "alone"})`);
}

/** Raises the cutoff: once committed, usage of periods that ended by then goes by `lockRows`. */
export async function raiseCutoff(tx: Tx, project: ProjectId, until: Date): Promise<void> {
  await lockUsage(tx, project, [CUTOFF_LOCK], "alone");
  await tx.run(sql`
    insert into usage_cutoffs as c (project_id, closing_until)
    values (${project}, ${until})
    on conflict (project_id) do update
       set closing_until = greatest(c.closing_until, excluded.closing_until)`);
}

export async function closingUntil(db: Queryable, project: ProjectId): Promise<Date | null> {
  const cutoff = await db.maybeOne<{ closing_until: Date }>(sql`
    select closing_until from usage_cutoffs where project_id = ${project}`);
  return cutoff?.closing_until ?? null;
}

/** Waits for a close that has these rows, and keeps any other from taking them until the commit. */
export async function lockRows(tx: Tx, project: ProjectId, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.many(sql`
    select 1
      from subscriptions
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for share`);
}
