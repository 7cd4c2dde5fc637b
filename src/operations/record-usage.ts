// Records usage events: resolves, places each in its period, stores what is new. Expected outcomes
// (a duplicate, a refusal) are values, so that one bad event does not take others along.

import { usageValue } from "../domain/aggregation.ts";
import { DAY_MS, nextMidnight, parseTimestamp } from "../domain/dates.ts";
import { groupBy } from "../domain/lists.ts";
import { periodIndexAt } from "../domain/periods.ts";
import { type Refusal, refuse, refuseField } from "../errors.ts";
import { canonicalUuid, digestId } from "../ids.ts";
import type { EventAccepted, Unbillable, UsageEventInput } from "../schema/events.ts";
import type { Metric } from "../schema/metrics.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Tx } from "../store/db.ts";
import * as metrics from "../store/metrics.ts";
import * as portal from "../store/portal.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import * as usage from "../store/usage.ts";

const FUTURE_MAX_MS = DAY_MS;
const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An event as it came in: when by the project's clock, and its place in the order of arrival. */
export type Arrived = {
  readonly input: UsageEventInput;
  readonly received_at: Date;
  readonly arrival: bigint;
};
export type Outcome = EventAccepted | Refusal;

/**
 * One outcome per event, in order. The transaction is this act's alone: it may commit it with its
 * last write, and what it then asks is only how repeats compare with what was stored before.
 */
export async function recordUsage(
  tx: Tx,
  settings: ProjectSettings,
  events: readonly Arrived[],
): Promise<Outcome[]> {
  const project = settings.id;
  const found = await resolve(tx, settings, events);
  const drafts = events.map((event) => draft(event, found));
  await placeLate(tx, settings, drafts);

  // The first copy within the batch counts, as the first one in the table does.
  const firsts = new Map<string, Draft>();
  for (const one of drafts) {
    if (one.refusal === undefined && !firsts.has(one.key)) firsts.set(one.key, one);
  }
  const rows = [...firsts.values()].map(eventRow);
  const end = drafts.some((one) => one.late) ? "go on" : "commit";
  const stored = new Set(rows.length === 0 ? [] : await usage.record(tx, project, rows, end));
  const fresh = [...firsts.values()].filter((one) => stored.has(one.key));
  if (end === "go on") await markLate(tx, settings, fresh);
  await portal.dropUsed(tx, project, rows);

  const repeats = drafts.filter((one) => !stored.has(one.key) || firsts.get(one.key) !== one);
  const before = await knownBefore(tx, settings, repeats, fresh);
  return drafts.map((one) => {
    if (firsts.get(one.key) === one && stored.has(one.key)) return accepted(one.unbillable);
    const first = before.get(one.key);
    if (first === undefined) return one.refusal ?? accepted(null);
    const same = one.refusal === undefined && isSame(one, first);
    return {
      accepted: true,
      duplicate: true,
      ...(!same && { warning: "payload_mismatch" as const }),
    };
  });
}

function accepted(warning: Unbillable | null): EventAccepted {
  return { accepted: true, duplicate: false, ...(warning !== null && { warning }) };
}

type Found = {
  readonly byRef: ReadonlyMap<string, usage.MeteredSubscription>;
  readonly byCode: ReadonlyMap<string, Metric>;
};

/** Which lock guards what a caller names: a guess that is checked, so it may be old or missing. */
const lockHints = new Map<string, number>();
const HINTS_MAX = 100_000;

/**
 * Reads subscriptions under their usage locks, all in one round trip when the locks that are
 * needed are known from before. What was read without its lock is read again under it.
 */
async function resolve(
  tx: Tx,
  settings: ProjectSettings,
  events: readonly Arrived[],
): Promise<Found> {
  const project = settings.id;
  const refs = [...new Set(events.map(({ input }) => input.subscription_id))];
  const external_ids = refs.filter((ref) => ref.startsWith("ext:")).map((ref) => ref.slice(4));
  const ids = refs.flatMap((ref) => (ref.startsWith("ext:") ? [] : (canonicalUuid(ref) ?? [])));
  const codes = [...new Set(events.map(({ input }) => input.code))];
  const held = new Set(refs.flatMap((ref) => lockHints.get(`${project} ${ref}`) ?? []));
  const [, found, known] = await Promise.all([
    usage.lockUsage(tx, project, [...held], "shared"),
    usage.listMetered(tx, project, { ids, external_ids }),
    metrics.listByCode(tx, project, codes),
  ]);
  let rows = found;
  for (;;) {
    const missing = rows.map(({ seq }) => usage.usageLock(seq)).filter((lock) => !held.has(lock));
    if (missing.length === 0) break;
    for (const lock of missing) held.add(lock);
    [, rows] = await Promise.all([
      usage.lockUsage(tx, project, missing, "shared"),
      usage.listMetered(tx, project, { ids, external_ids }),
    ]);
  }
  const byRef = new Map<string, usage.MeteredSubscription>();
  if (lockHints.size > HINTS_MAX) lockHints.clear();
  for (const row of rows) {
    for (const ref of [row.id, `ext:${row.external_id}`]) {
      byRef.set(ref, row);
      lockHints.set(`${project} ${ref}`, usage.usageLock(row.seq));
    }
  }
  return { byRef, byCode: new Map(known.map((metric) => [metric.code, metric])) };
}

/** An event on its way into the table; `refusal` says why it does not get there. */
type Draft = {
  readonly key: string;
  readonly input: UsageEventInput;
  readonly received_at: Date;
  readonly arrival: bigint;
  readonly refusal?: Refusal;
  readonly subscription?: usage.MeteredSubscription;
  readonly metric?: Metric;
  readonly at?: Date;
  readonly quantity?: string | null;
  readonly unique_value?: string | null;
  period_no: number;
  unbillable: Unbillable | null;
  /** Of a closed period that is still corrected. */
  late: boolean;
};

function draft(event: Arrived, found: Found): Draft {
  const { input, received_at } = event;
  const base = {
    ...event,
    key: keyOf(input.transaction_id),
    period_no: 0,
    unbillable: null,
    late: false,
  };
  const ref = input.subscription_id;
  const subscription = found.byRef.get(ref.startsWith("ext:") ? ref : (canonicalUuid(ref) ?? ""));
  if (subscription === undefined) {
    return {
      ...base,
      refusal: refuse("not_found", "subscription_id: no subscription is known by it."),
    };
  }
  const metric = found.byCode.get(input.code);
  if (metric === undefined) {
    return {
      ...base,
      subscription,
      refusal: refuse("not_found", "code: no metric has this code."),
    };
  }
  const at = input.timestamp === undefined ? received_at : parseTimestamp(input.timestamp);
  if (at === undefined || at.getTime() > received_at.getTime() + FUTURE_MAX_MS) {
    const message = "timestamp must not lie more than 24 hours in the future.";
    return { ...base, subscription, metric, refusal: refuseField("timestamp", "maximum", message) };
  }
  const value = usageValue(metric, input);
  if (!value.ok) {
    const refusal = refuseField(value.field, "format", `${value.field} ${value.message}.`);
    return { ...base, subscription, metric, at, refusal };
  }
  const { quantity, unique_value } = value;
  return { ...base, subscription, metric, at, quantity, unique_value, ...place(subscription, at) };
}

/** The period of an event that needs no look at closed periods; those come in `placeLate`. */
function place(subscription: usage.MeteredSubscription, at: Date) {
  const { started_at, terminated_at, period_no, live } = subscription;
  if (at < started_at) return { unbillable: "before_start" as const };
  if (!live && terminated_at !== null && at >= terminated_at) {
    return { unbillable: "after_termination" as const };
  }
  if (!live || at < subscription.current_period_start) return { late: true };
  const open = {
    start: subscription.current_period_start,
    next: subscription.current_period_next,
  };
  return { period_no: period_no + periodIndexAt(open, subscription.interval, at) };
}

/** Events of closed periods: corrected within the window, else stored and never billed. */
async function placeLate(tx: Tx, settings: ProjectSettings, drafts: readonly Draft[]) {
  const late = drafts.filter((one) => one.late && one.refusal === undefined);
  if (late.length === 0) return;
  const ids = [...new Set(late.flatMap(({ subscription }) => subscription?.id ?? []))];
  const closed = await closedPeriods.listRecent(tx, settings.id, ids);
  const bySubscription = groupBy(closed, (period) => period.subscription_id);
  for (const one of late) {
    const { subscription, at } = one;
    if (subscription === undefined || at === undefined) continue;
    const periods = bySubscription.get(subscription.id) ?? [];
    const period = periods.find(({ starts_at, ends_at }) => starts_at <= at && at < ends_at);
    one.late = false;
    if (period === undefined) {
      // Between an end and a reactivation.
      one.unbillable = "after_termination";
      continue;
    }
    one.period_no = period.period_no;
    const newest = subscription.live ? subscription.period_no - 1 : subscription.period_no;
    const within = period.period_no > newest - settings.late_usage_periods;
    if (within && period.billable) one.late = true;
    else one.unbillable = "late_unbilled";
  }
}

async function markLate(tx: Tx, settings: ProjectSettings, fresh: readonly Draft[]) {
  const marks = new Map<string, closedPeriods.LateMark>();
  for (const { late, subscription, period_no, received_at } of fresh) {
    if (!late || subscription === undefined) continue;
    const settle_at = subscription.live ? null : nextMidnight(received_at);
    marks.set(`${subscription.id} ${period_no}`, {
      subscription_id: subscription.id,
      period_no,
      settle_at,
    });
  }
  if (marks.size > 0) await closedPeriods.markLate(tx, settings.id, [...marks.values()]);
}

/** A UUID is its own key, which keeps time-ordered ids in order; other text becomes a digest. */
function keyOf(transaction_id: string): string {
  return CANONICAL_UUID.test(transaction_id) ? transaction_id : digestId(transaction_id);
}

function eventRow(one: Draft): usage.EventRow {
  const { input, subscription, metric, at } = one;
  if (subscription === undefined || metric === undefined || at === undefined) {
    throw new Error("A refused event reached the table.");
  }
  const { properties } = input;
  return {
    key: one.key,
    transaction_id: one.key === input.transaction_id ? null : input.transaction_id,
    subscription_id: subscription.id,
    metric_id: metric.id,
    period_no: one.period_no,
    at,
    received_at: one.received_at,
    arrival: one.arrival.toString(),
    quantity: one.quantity ?? null,
    unique_value: one.unique_value == null ? null : digestId(one.unique_value),
    value: input.value ?? null,
    properties:
      properties === undefined || Object.keys(properties).length === 0 ? null : properties,
    unbillable: one.unbillable,
  };
}

/** The first copies of what was repeated: from the table, or from this very batch. */
async function knownBefore(
  tx: Tx,
  settings: ProjectSettings,
  repeats: readonly Draft[],
  fresh: readonly Draft[],
): Promise<Map<string, usage.StoredEvent>> {
  if (repeats.length === 0) return new Map();
  const known = new Map<string, usage.StoredEvent>();
  const batch = new Map(fresh.map((one) => [one.key, one]));
  const asked: string[] = [];
  for (const { key } of repeats) {
    const twin = batch.get(key);
    if (twin === undefined) asked.push(key);
    else known.set(key, eventRow(twin));
  }
  if (asked.length > 0) {
    const rows = await usage.listByKey(tx, settings.id, [...new Set(asked)]);
    for (const row of rows) known.set(row.key, row);
  }
  return known;
}

function isSame(repeat: Draft, first: usage.StoredEvent): boolean {
  const { input } = repeat;
  return (
    repeat.subscription?.id === first.subscription_id &&
    repeat.metric?.id === first.metric_id &&
    // Without a timestamp the first copy was given the time of its arrival.
    (input.timestamp === undefined || repeat.at?.getTime() === first.at.getTime()) &&
    (input.value ?? null) === first.value &&
    canonical(input.properties ?? {}) === canonical(first.properties ?? {})
  );
}

/** Key order does not make a payload different. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
