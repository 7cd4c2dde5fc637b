// Records usage events: finds what each names, places it in its period, stores what is new. A
// duplicate and a refusal are values, not exceptions, so that one bad event does not fail others.

import { nextMidnight } from "../../domain/dates.ts";
import { type FullPeriod, fullPeriodOf, isStillCorrected } from "../../domain/full-periods.ts";
import { groupBy } from "../../domain/group-by.ts";
import type { Db, Tx } from "../../store/db/db.ts";
import type { ViewRule } from "../../store/portal/views.ts";
import * as closedPeriods from "../../store/subscriptions/closed-periods.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type * as usage from "../../store/usage/events.ts";
import * as usageLocks from "../../store/usage/locks.ts";
import * as recording from "../../store/usage/recording.ts";
import { type Arrived, type Draft, draft, eventRow } from "./draft.ts";
import { refuseTooMany } from "./known-combinations.ts";
import {
  expectedOf,
  isAllThere,
  type KnownMeters,
  locksIn,
  lookUpMeters,
  readMeters,
  recallMeters,
} from "./known-meters.ts";
import { lookUpRepeats } from "./known-repeats.ts";
import type { UsageMemory } from "./memory.ts";
import { type Outcome, outcomes, type Recorded } from "./outcomes.ts";

/**
 * One outcome per event, in order. Subscriptions and metrics are taken from memory, else read; the
 * write checks that they are unchanged, and if not they are looked up under its locks.
 */
export async function recordUsage(
  db: Db,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly Arrived[],
  rule: ViewRule,
): Promise<Outcome[]> {
  const { meters } = memory;
  const known =
    recallMeters(meters, settings.id, events) ??
    (await readMeters(db, meters, settings.id, events));
  const recorded =
    (await recordKnown(db, memory, settings, events, known)) ??
    (await recordLookedUp(db, memory, settings, events, new Set(locksIn(known))));
  return outcomes(db, settings, recorded, rule);
}

/** Stores all that is new in one statement, or nothing: undefined when more must be known. */
async function recordKnown(
  db: Db,
  memory: UsageMemory,
  { id: project }: ProjectSettings,
  events: readonly Arrived[],
  known: KnownMeters,
): Promise<Recorded | undefined> {
  if (!isAllThere(known, events)) return undefined;
  const drafts = events.map((event) => draft(event, known));
  if (drafts.some((one) => one.late || one.closing)) return undefined;
  await refuseTooMany(db, memory.combinations, project, drafts);
  const firsts = firstCopies(drafts);
  if (firsts.size === 0) return undefined;
  const rows = [...firsts.values()].map(eventRow);
  const before = await lookUpRepeats(db, memory.repeats, project, rows);
  const fresh = before.size === 0 ? rows : rows.filter(({ key }) => !before.has(key));
  const found = await recording.recordIfUnchanged(db, project, fresh, expectedOf(known));
  if (found === undefined) return undefined;
  const repeated = before.size === 0 ? found : new Map([...before, ...found]);
  memory.repeats.note(project, rows.length, repeated.size);
  return { drafts, firsts, repeated };
}

/** What a transaction locks at its beginning, because only there the order of locks is kept. */
type Needed = { readonly rows: Set<string>; readonly locks: Set<number> };

/**
 * Usage of periods that are being closed needs the rows of their subscriptions, which are locked
 * before usage locks. When more of either are found to be needed, it starts again with them.
 */
async function recordLookedUp(
  db: Db,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly Arrived[],
  locks: Set<number>,
): Promise<Recorded> {
  const needed: Needed = { rows: new Set(), locks };
  for (;;) {
    const recorded = await db.tx((tx) => recordWith(tx, memory, settings, events, needed));
    if (recorded !== undefined) return recorded;
  }
}

/** One attempt. Undefined when more is found to be needed, which is added to `needed`. */
async function recordWith(
  tx: Tx,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly Arrived[],
  needed: Needed,
): Promise<Recorded | undefined> {
  const { rows, locks } = needed;
  await usageLocks.lockRows(tx, settings.id, [...rows]);
  const found = await lookUpMeters(tx, memory.meters, settings.id, events, locks);
  if ("missing" in found) {
    for (const lock of found.missing) locks.add(lock);
    return undefined;
  }
  const drafts = events.map((event) => draft(event, found.known));
  const closing = drafts.flatMap((one) => (one.closing ? (one.subscription?.id ?? []) : []));
  if (closing.some((id) => !rows.has(id))) {
    for (const id of closing) rows.add(id);
    return undefined;
  }
  await settleLate(tx, settings, drafts);
  await refuseTooMany(tx, memory.combinations, settings.id, drafts);
  const firsts = firstCopies(drafts);
  const repeated = await recording.record(tx, settings.id, [...firsts.values()].map(eventRow));
  await markLate(
    tx,
    settings,
    [...firsts.values()].filter(({ key }) => !repeated.has(key)),
  );
  return { drafts, firsts, repeated };
}

/** The first copy within the batch counts, as the first one in the table does. */
function firstCopies(drafts: readonly Draft[]): Map<string, Draft> {
  const firsts = new Map<string, Draft>();
  for (const one of drafts) {
    if (one.refusal === undefined && !firsts.has(one.key)) firsts.set(one.key, one);
  }
  return firsts;
}

/** Events of closed periods: corrected if recent enough, else stored and never billed. */
async function settleLate(tx: Tx, settings: ProjectSettings, drafts: readonly Draft[]) {
  const late = drafts.filter((one) => one.late && one.refusal === undefined);
  if (late.length === 0) return;
  const ids = [...new Set(late.flatMap(({ subscription }) => subscription?.id ?? []))];
  const closed = await closedPeriods.list(tx, settings.id, ids);
  const bySubscription = groupBy(closed, (period) => period.subscription_id);
  for (const one of late) {
    const { subscription, at } = one;
    if (subscription === undefined || at === undefined) continue;
    const periods = bySubscription.get(subscription.id) ?? [];
    const period = periods.find(({ starts_at, ends_at }) => starts_at <= at && at < ends_at);
    one.late = false;
    if (
      period === undefined &&
      !subscription.has_ended &&
      one.event.input.timestamp === undefined
    ) {
      // The subscription has come back, by the clock of a machine that is ahead of this one.
      one.at = subscription.current_period_start;
      one.period_no = subscription.period_no;
      continue;
    }
    if (period === undefined) {
      // It happened between an end and a reactivation.
      one.unbillable = "after_termination";
      continue;
    }
    one.period_no = period.period_no;
    const open = subscription.has_ended ? undefined : openStart(subscription);
    const corrected = isStillCorrected(periods, period, open, settings.late_usage_periods);
    if (corrected && period.billable) one.late = true;
    else one.unbillable = "late_unbilled";
  }
}

/** The full period that the open one is part of. */
function openStart(subscription: usage.UsageSubscription): FullPeriod {
  const { current_period_start: starts_at, in_trial: is_trial, anchor_date } = subscription;
  return fullPeriodOf({ starts_at, is_trial, anchor_date, interval: subscription.open_interval });
}

/**
 * Marks the closed periods that have late usage. `and_later`, because what it changes of a level is
 * carried on to the periods after it, also where its own is a trial and free.
 */
async function markLate(tx: Tx, settings: ProjectSettings, fresh: readonly Draft[]) {
  const marks = new Map<string, closedPeriods.LateMark>();
  for (const { late, subscription, metric, period_no, event } of fresh) {
    if (!late || subscription === undefined) continue;
    const key = `${subscription.id} ${period_no}`;
    marks.set(key, {
      subscription_id: subscription.id,
      period_no,
      settle_at: subscription.has_ended ? nextMidnight(event.received_at) : null,
      and_later:
        metric?.aggregation_type === "weighted_sum" || (marks.get(key)?.and_later ?? false),
    });
  }
  if (marks.size > 0) await closedPeriods.markLate(tx, settings.id, [...marks.values()]);
}
