// What keeps usage and the end of its period apart: locks that recording shares, seals that a close
// sets before it begins.

import type { Queryable, Tx } from "./db.ts";
import { sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** Neighbouring subscriptions share a lock, so that a big batch takes few. */
const LOCK_NEIGHBOURS = 128;
const LOCKS_MAX = 1_024;
/** Held shared by whoever records for the project, alone for the instant in which it is sealed. */
export const SEAL_LOCK = LOCKS_MAX;

/**
 * Which lock guards a subscription's usage against the end of its period. Recording holds it
 * shared, an end holds it alone: an event is either in the sum or comes after it. Advisory and
 * fair, where row locks would let a stream of events starve the end.
 */
export function usageLock(seq: number): number {
  return Math.floor(seq / LOCK_NEIGHBOURS) % LOCKS_MAX;
}

/** Each once, and in the order in which everyone takes them. */
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
  const take = mode === "alone" ? sql`pg_advisory_xact_lock` : sql`pg_advisory_xact_lock_shared`;
  await tx.many(sql`
    select ${take}(hashtext(${project}::text), l)
      from unnest(${inOrder(locks)}::integer[]) as l`);
}

/** Once this is committed, usage of periods that end by then goes through `lockRows`. */
export async function seal(tx: Tx, project: ProjectId, until: Date): Promise<void> {
  await lockUsage(tx, project, [SEAL_LOCK], "alone");
  await tx.run(sql`
    insert into usage_seals as s (project_id, sealed_until)
    values (${project}, ${until})
    on conflict (project_id) do update
       set sealed_until = greatest(s.sealed_until, excluded.sealed_until)`);
}

export async function sealedUntil(db: Queryable, project: ProjectId): Promise<Date | null> {
  const seal = await db.maybeOne<{ sealed_until: Date }>(sql`
    select sealed_until from usage_seals where project_id = ${project}`);
  return seal?.sealed_until ?? null;
}

/** No close takes these while they are held; one that has them already is waited for. */
export async function lockRows(tx: Tx, project: ProjectId, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.many(sql`
    select 1
      from subscriptions
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for share`);
}
