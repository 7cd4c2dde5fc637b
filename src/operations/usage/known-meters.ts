// The subscriptions and metrics that usage events name: read, and remembered for the next batch
// together with the revision of each row, which the write checks; else looked up under the locks.

import { canonicalUuid, type ProjectId } from "../../ids.ts";
import type { UsageEventInput } from "../../schema/events.ts";
import * as metrics from "../../store/catalog/metrics.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as usage from "../../store/usage/events.ts";
import * as usageLocks from "../../store/usage/locks.ts";
import type { Expected } from "../../store/usage/recording.ts";

type Naming = { readonly input: Pick<UsageEventInput, "subscription_id" | "code"> };

/** Rows by what callers write: an id in any case, `ext:` and an external_id, a metric's code. */
export type KnownMeters = {
  readonly byRef: ReadonlyMap<string, usage.UsageSubscription>;
  readonly byCode: ReadonlyMap<string, usage.UsageMetric>;
  /** Periods that ended by then are being closed. */
  readonly closing_until: Date | null;
};

/**
 * What is remembered of a project. Only live subscriptions and metrics: while one is live no other
 * can take its name, so a row that has not changed is still the one that the name means.
 */
class ProjectMemory {
  readonly subscriptions = new Map<string, usage.UsageSubscription>();
  readonly metrics = new Map<string, usage.UsageMetric>();
  closing_until: Date | null = null;
}

/** Subscriptions and metrics of all projects together; beyond it everything is forgotten. */
const REMEMBERED_MAX = 100_000;

export class MeterMemory {
  readonly #projects = new Map<ProjectId, ProjectMemory>();
  #remembered = 0;

  of(project: ProjectId): ProjectMemory | undefined {
    return this.#projects.get(project);
  }

  keep(project: ProjectId, { byRef, byCode, closing_until }: KnownMeters): void {
    if (this.#remembered > REMEMBERED_MAX) {
      this.#projects.clear();
      this.#remembered = 0;
    }
    const memory = this.#projects.get(project) ?? new ProjectMemory();
    this.#projects.set(project, memory);
    memory.closing_until = closing_until;
    for (const [ref, row] of byRef) if (!row.has_ended) memory.subscriptions.set(ref, row);
    for (const [code, row] of byCode) memory.metrics.set(code, row);
    this.#remembered += byRef.size + byCode.size;
  }
}

/** The meters from memory. Undefined unless everything that the events name is remembered. */
export function recallMeters(
  meters: MeterMemory,
  project: ProjectId,
  events: readonly Naming[],
): KnownMeters | undefined {
  const memory = meters.of(project);
  if (memory === undefined) return undefined;
  const byRef = new Map<string, usage.UsageSubscription>();
  const byCode = new Map<string, usage.UsageMetric>();
  for (const { input } of events) {
    const subscription = memory.subscriptions.get(input.subscription_id);
    const metric = memory.metrics.get(input.code);
    if (subscription === undefined || metric === undefined) return undefined;
    byRef.set(input.subscription_id, subscription);
    byCode.set(input.code, metric);
  }
  return { byRef, byCode, closing_until: memory.closing_until };
}

/** The meters from the database as it is at this moment, without locks: the write checks them. */
export async function readMeters(
  db: Queryable,
  meters: MeterMemory,
  project: ProjectId,
  events: readonly Naming[],
): Promise<KnownMeters> {
  const names = namesIn(events);
  const [closing_until, rows, named] = await Promise.all([
    usageLocks.closingUntil(db, project),
    usage.listSubscriptions(db, project, names),
    metrics.listByCode(db, project, names.codes),
  ]);
  const { refs } = names;
  const known = { byRef: byWrittenRef(refs, rows), byCode: byCodeOf(named), closing_until };
  meters.keep(project, known);
  return known;
}

/** Whether all that the events name is there and has not ended, so that the write can check it. */
export function isAllThere({ byRef, byCode }: KnownMeters, events: readonly Naming[]): boolean {
  return events.every(
    ({ input }) => byRef.get(input.subscription_id)?.has_ended === false && byCode.has(input.code),
  );
}

/**
 * The meters from the database, under the usage locks. Which locks are needed is only known from
 * the rows; `locks` are those that were known before. Where there are others, the answer is
 * `missing`, and the caller begins again with all of them, because locks are taken in one order.
 */
export async function lookUpMeters(
  tx: Tx,
  meters: MeterMemory,
  project: ProjectId,
  events: readonly Naming[],
  locks: Iterable<number>,
): Promise<{ readonly known: KnownMeters } | { readonly missing: number[] }> {
  const names = namesIn(events);
  const held = new Set([usageLocks.CUTOFF_LOCK, ...locks]);
  const [, closing_until, rows, named] = await Promise.all([
    usageLocks.lockUsage(tx, project, [...held], "shared"),
    usageLocks.closingUntil(tx, project),
    usage.listSubscriptions(tx, project, names),
    metrics.listByCode(tx, project, names.codes),
  ]);
  const missing = locksOf(rows).filter((lock) => !held.has(lock));
  if (missing.length > 0) return { missing };
  const { refs } = names;
  const known = { byRef: byWrittenRef(refs, rows), byCode: byCodeOf(named), closing_until };
  meters.keep(project, known);
  return { known };
}

function namesIn(events: readonly Naming[]) {
  const refs = [...new Set(events.map(({ input }) => input.subscription_id))];
  const external_ids = refs.filter((ref) => ref.startsWith("ext:")).map((ref) => ref.slice(4));
  const ids = refs.flatMap((ref) => (ref.startsWith("ext:") ? [] : (canonicalUuid(ref) ?? [])));
  const codes = [...new Set(events.map(({ input }) => input.code))];
  return { refs, external_ids, ids, codes };
}

/** The locks of all subscriptions that were found. */
export function locksIn({ byRef }: KnownMeters): number[] {
  return locksOf([...byRef.values()]);
}

function locksOf(rows: readonly Pick<usage.UsageSubscription, "id">[]): number[] {
  return rows.map(({ id }) => usageLocks.usageLock(id));
}

/** Where several rows have one external_id, the live one comes last and replaces the others. */
function byWrittenRef(refs: readonly string[], rows: readonly usage.UsageSubscription[]) {
  const byName = new Map<string, usage.UsageSubscription>();
  for (const row of rows) byName.set(row.id, row).set(`ext:${row.external_id}`, row);
  const byRef = new Map<string, usage.UsageSubscription>();
  for (const ref of refs) {
    const row = byName.get(ref.startsWith("ext:") ? ref : (canonicalUuid(ref) ?? ""));
    if (row !== undefined) byRef.set(ref, row);
  }
  return byRef;
}

function byCodeOf(rows: readonly usage.UsageMetric[]) {
  return new Map(rows.map((metric) => [metric.code, metric]));
}

/** What must be unchanged for events that were drafted by these meters to be written. */
export function expectedOf({ byRef, byCode, closing_until }: KnownMeters): Expected {
  // Callers may write one id in several ways.
  const byId = new Map<string, usage.UsageSubscription>();
  for (const row of byRef.values()) byId.set(row.id, row);
  const subscriptions = [...byId.values()];
  return {
    locks: usageLocks.inOrder([usageLocks.CUTOFF_LOCK, ...locksOf(subscriptions)]),
    subscriptions,
    metrics: [...byCode.values()],
    closing_until,
  };
}
