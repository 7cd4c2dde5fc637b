// What recording knows about the subscriptions and metrics that events name: looked up under the
// usage locks, and remembered for the next batch together with the version of each row.

import { canonicalUuid } from "../ids.ts";
import type { UsageEventInput } from "../schema/events.ts";
import type { Tx } from "../store/db.ts";
import * as metrics from "../store/metrics.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as usage from "../store/usage.ts";
import * as usageLocks from "../store/usage-locks.ts";

type Naming = { readonly input: Pick<UsageEventInput, "subscription_id" | "code"> };

/** By what callers write: an id in any case, `ext:` and an external_id, a metric's code. */
export type Metered = {
  readonly byRef: ReadonlyMap<string, usage.MeteredSubscription>;
  readonly byCode: ReadonlyMap<string, usage.MeteredMetric>;
  /** Periods that end by then are being closed. */
  readonly closing_until: Date | null;
};

/**
 * Only live subscriptions and metrics are remembered: while one lives, no other can take its name,
 * so that an unchanged row is still the right one.
 */
class Memory {
  readonly subscriptions = new Map<string, usage.MeteredSubscription>();
  readonly metrics = new Map<string, usage.MeteredMetric>();
  closing_until: Date | null = null;
}

const memories = new Map<string, Memory>();
const REMEMBERED_MAX = 100_000;
let remembered = 0;

/** All that the events name, or nothing when a part of it is not remembered. */
export function recall(project: ProjectId, events: readonly Naming[]): Metered | undefined {
  const memory = memories.get(project);
  if (memory === undefined) return undefined;
  const byRef = new Map<string, usage.MeteredSubscription>();
  const byCode = new Map<string, usage.MeteredMetric>();
  for (const { input } of events) {
    const subscription = memory.subscriptions.get(input.subscription_id);
    const metric = memory.metrics.get(input.code);
    if (subscription === undefined || metric === undefined) return undefined;
    byRef.set(input.subscription_id, subscription);
    byCode.set(input.code, metric);
  }
  return { byRef, byCode, closing_until: memory.closing_until };
}

function remember(project: ProjectId, { byRef, byCode, closing_until }: Metered): void {
  if (remembered > REMEMBERED_MAX) {
    memories.clear();
    remembered = 0;
  }
  const memory = memories.get(project) ?? new Memory();
  memories.set(project, memory);
  memory.closing_until = closing_until;
  for (const [ref, row] of byRef) if (row.live) memory.subscriptions.set(ref, row);
  for (const [code, row] of byCode) memory.metrics.set(code, row);
  remembered += byRef.size + byCode.size;
}

/** Reads subscriptions under their usage locks: what was read without its lock is read again. */
export async function resolve(
  tx: Tx,
  project: ProjectId,
  events: readonly Naming[],
): Promise<Metered> {
  const refs = [...new Set(events.map(({ input }) => input.subscription_id))];
  const external_ids = refs.filter((ref) => ref.startsWith("ext:")).map((ref) => ref.slice(4));
  const ids = refs.flatMap((ref) => (ref.startsWith("ext:") ? [] : (canonicalUuid(ref) ?? [])));
  const codes = [...new Set(events.map(({ input }) => input.code))];
  const held = new Set([usageLocks.CUTOFF_LOCK, ...heldBefore(project, refs)]);
  let [, closing_until, rows, known] = await Promise.all([
    usageLocks.lockUsage(tx, project, [...held], "shared"),
    usageLocks.closingUntil(tx, project),
    usage.listMetered(tx, project, { ids, external_ids }),
    metrics.listByCode(tx, project, codes),
  ]);
  for (;;) {
    const missing = rows
      .map(({ seq }) => usageLocks.usageLock(seq))
      .filter((lock) => !held.has(lock));
    if (missing.length === 0) break;
    for (const lock of missing) held.add(lock);
    [, closing_until, rows, known] = await Promise.all([
      usageLocks.lockUsage(tx, project, missing, "shared"),
      usageLocks.closingUntil(tx, project),
      usage.listMetered(tx, project, { ids, external_ids }),
      metrics.listByCode(tx, project, codes),
    ]);
  }
  const found = { byRef: byWrittenRef(refs, rows), byCode: byCodeOf(known), closing_until };
  remember(project, found);
  return found;
}

/** Locks that the names needed last time: a guess, which saves a round trip when it is right. */
function heldBefore(project: ProjectId, refs: readonly string[]): number[] {
  const subscriptions = memories.get(project)?.subscriptions;
  return refs.flatMap((ref) => {
    const known = subscriptions?.get(ref);
    return known === undefined ? [] : usageLocks.usageLock(known.seq);
  });
}

/** Rows come with the live one of a name last, so that it wins. */
function byWrittenRef(refs: readonly string[], rows: readonly usage.MeteredSubscription[]) {
  const byName = new Map<string, usage.MeteredSubscription>();
  for (const row of rows) byName.set(row.id, row).set(`ext:${row.external_id}`, row);
  const byRef = new Map<string, usage.MeteredSubscription>();
  for (const ref of refs) {
    const row = byName.get(ref.startsWith("ext:") ? ref : (canonicalUuid(ref) ?? ""));
    if (row !== undefined) byRef.set(ref, row);
  }
  return byRef;
}

function byCodeOf(rows: readonly usage.MeteredMetric[]) {
  return new Map(rows.map((metric) => [metric.code, metric]));
}

/** All that a write may only follow if it is still the same. */
export function rememberedOf({ byRef, byCode, closing_until }: Metered): usage.Remembered {
  const rows = [...byRef.values()];
  return {
    locks: usageLocks.inOrder([
      usageLocks.CUTOFF_LOCK,
      ...rows.map(({ seq }) => usageLocks.usageLock(seq)),
    ]),
    subscriptions: new Map(rows.map((row) => [row.id, row.version])),
    metrics: new Map([...byCode.values()].map((row) => [row.id, row.version])),
    closing_until,
  };
}
