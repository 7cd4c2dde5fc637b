// The subscriptions and metrics that usage events name: looked up under the usage locks, and
// remembered for the next batch together with the revision of each row.

import { canonicalUuid } from "../ids.ts";
import type { UsageEventInput } from "../schema/events.ts";
import type { Tx } from "../store/db.ts";
import * as metrics from "../store/metrics.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as usage from "../store/usage.ts";
import * as usageLocks from "../store/usage-locks.ts";
import type { Expected } from "../store/usage-recording.ts";

type Naming = { readonly input: Pick<UsageEventInput, "subscription_id" | "code"> };

/** By what callers write: an id in any case, `ext:` and an external_id, a metric's code. */
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
    for (const [ref, row] of byRef) if (row.live) memory.subscriptions.set(ref, row);
    for (const [code, row] of byCode) memory.metrics.set(code, row);
    this.#remembered += byRef.size + byCode.size;
  }
}

/** From memory; undefined unless everything that the events name is remembered. */
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

/**
 * From the database, under the usage locks. Which locks are needed is only known from the rows, so
 * rows that were read before their lock was held are read again.
 */
export async function lookUpMeters(
  tx: Tx,
  meters: MeterMemory,
  project: ProjectId,
  events: readonly Naming[],
): Promise<KnownMeters> {
  const refs = [...new Set(events.map(({ input }) => input.subscription_id))];
  const external_ids = refs.filter((ref) => ref.startsWith("ext:")).map((ref) => ref.slice(4));
  const ids = refs.flatMap((ref) => (ref.startsWith("ext:") ? [] : (canonicalUuid(ref) ?? [])));
  const codes = [...new Set(events.map(({ input }) => input.code))];
  const held = new Set([usageLocks.CUTOFF_LOCK, ...locksNeededBefore(meters.of(project), refs)]);
  let [, closing_until, rows, known] = await Promise.all([
    usageLocks.lockUsage(tx, project, [...held], "shared"),
    usageLocks.closingUntil(tx, project),
    usage.listSubscriptions(tx, project, { ids, external_ids }),
    metrics.listByCode(tx, project, codes),
  ]);
  for (;;) {
    const missing = rows
      .map(({ id }) => usageLocks.usageLock(id))
      .filter((lock) => !held.has(lock));
    if (missing.length === 0) break;
    for (const lock of missing) held.add(lock);
    [, closing_until, rows, known] = await Promise.all([
      usageLocks.lockUsage(tx, project, missing, "shared"),
      usageLocks.closingUntil(tx, project),
      usage.listSubscriptions(tx, project, { ids, external_ids }),
      metrics.listByCode(tx, project, codes),
    ]);
  }
  const found = { byRef: byWrittenRef(refs, rows), byCode: byCodeOf(known), closing_until };
  meters.keep(project, found);
  return found;
}

/** The locks that these names needed last time. A guess: when it is right it saves a round trip. */
function locksNeededBefore(memory: ProjectMemory | undefined, refs: readonly string[]): number[] {
  return refs.flatMap((ref) => {
    const known = memory?.subscriptions.get(ref);
    return known === undefined ? [] : usageLocks.usageLock(known.id);
  });
}

/** Of several rows with one external_id the live one comes last, and replaces the others here. */
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

/** What must be unchanged for events that were placed by these meters to be written. */
export function expectedOf({ byRef, byCode, closing_until }: KnownMeters): Expected {
  // Callers may write one id in several ways.
  const byId = new Map<string, usage.UsageSubscription>();
  for (const row of byRef.values()) byId.set(row.id, row);
  const subscriptions = [...byId.values()];
  const locks = subscriptions.map(({ id }) => usageLocks.usageLock(id));
  return {
    locks: usageLocks.inOrder([usageLocks.CUTOFF_LOCK, ...locks]),
    subscriptions,
    metrics: [...byCode.values()],
    closing_until,
  };
}
