// Records usage events: finds what each names, places it in its period, stores what is new. A
// duplicate and a refusal are values, not exceptions, so that one bad event does not fail others.

import { usageValue } from "../domain/aggregation.ts";
import { DAY_MS, nextMidnight, parseTimestamp, utcDate } from "../domain/dates.ts";
import { combinationOf } from "../domain/dimensions.ts";
import { type FullPeriod, fullPeriodOf, isStillCorrected } from "../domain/full-periods.ts";
import { groupBy } from "../domain/group-by.ts";
import { AMOUNT_MAX, exponentOf } from "../domain/money.ts";
import { periodIndexAt } from "../domain/periods.ts";
import { type Refusal, refuse, refuseField } from "../errors.ts";
import { digestId } from "../ids.ts";
import { canonicalJson } from "../schema/canonical-json.ts";
import type { EventAccepted, Unbillable, UsageEventInput } from "../schema/events.ts";
import type { Metric } from "../schema/metrics.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Db, Tx } from "../store/db.ts";
import * as portal from "../store/portal.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as usage from "../store/usage.ts";
import * as usageLocks from "../store/usage-locks.ts";
import * as recording from "../store/usage-recording.ts";
import { refuseTooMany } from "./known-combinations.ts";
import { expectedOf, type KnownMeters, lookUpMeters, recallMeters } from "./known-meters.ts";
import { lookUpRepeats } from "./known-repeats.ts";
import type { UsageMemory } from "./usage-memory.ts";

const FUTURE_MAX_MS = DAY_MS;

/** An event as it came in: when by the project's clock, and its place in the order of arrival. */
export type Arrived = {
  readonly input: UsageEventInput;
  readonly received_at: Date;
  readonly arrival: number;
};
export type Outcome = EventAccepted | Refusal;

/**
 * One outcome per event, in order. Subscriptions and metrics are taken from memory, which saves a
 * round trip; the write checks that they are unchanged, and if not they are looked up.
 */
export async function recordUsage(
  db: Db,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly Arrived[],
): Promise<Outcome[]> {
  const recorded =
    (await recordFromMemory(db, memory, settings, events)) ??
    (await recordLookedUp(db, memory, settings, events));
  return outcomes(db, settings, recorded);
}

type Recorded = {
  readonly drafts: readonly Draft[];
  readonly firsts: ReadonlyMap<string, Draft>;
  /** What was stored before under the keys of those. */
  readonly repeated: recording.StoredEvents;
};

/** All that is new in one statement, or nothing: undefined when something must be looked up. */
async function recordFromMemory(
  db: Db,
  memory: UsageMemory,
  { id: project }: ProjectSettings,
  events: readonly Arrived[],
): Promise<Recorded | undefined> {
  const known = recallMeters(memory.meters, project, events);
  if (known === undefined) return undefined;
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

/**
 * Usage of periods that are being closed needs the rows of their subscriptions. Rows are locked
 * before usage locks, so when more are found to be needed, the transaction starts again with them.
 */
async function recordLookedUp(
  db: Db,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly Arrived[],
): Promise<Recorded> {
  const rows = new Set<string>();
  for (;;) {
    const recorded = await db.tx((tx) => recordWithRows(tx, memory, settings, events, rows));
    if ("repeated" in recorded) return recorded;
    for (const id of recorded.closing) rows.add(id);
  }
}

async function recordWithRows(
  tx: Tx,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly Arrived[],
  rows: ReadonlySet<string>,
): Promise<Recorded | { closing: string[] }> {
  await usageLocks.lockRows(tx, settings.id, [...rows]);
  const known = await lookUpMeters(tx, memory.meters, settings.id, events);
  const drafts = events.map((event) => draft(event, known));
  const closing = drafts.flatMap((one) => (one.closing ? (one.subscription?.id ?? []) : []));
  if (closing.some((id) => !rows.has(id))) return { closing };
  await placeLate(tx, settings, drafts);
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

/** After the commit. */
async function outcomes(
  db: Db,
  { id: project }: ProjectSettings,
  recorded: Recorded,
): Promise<Outcome[]> {
  const { drafts, firsts } = recorded;
  // Also for repeats: the process may have been killed between the first copy's commit and this.
  await portal.dropUsed(db, project, () => subscriptionsOf(drafts));
  const before = await storedBefore(db, project, recorded);
  return drafts.map((one) => {
    const copy = firsts.get(one.key);
    const first = before.get(one.key) ?? (copy === one ? undefined : copy && eventRow(copy));
    if (first === undefined) return one.refusal ?? accepted(one.unbillable);
    const same = one.refusal === undefined && isSame(one, first);
    return {
      accepted: true,
      duplicate: true,
      ...(!same && { warning: "payload_mismatch" as const }),
    };
  });
}

/** Refused events were not sent to be stored, but may be copies of ones that are. */
async function storedBefore(
  db: Db,
  project: ProjectId,
  { drafts, firsts, repeated }: Recorded,
): Promise<recording.StoredEvents> {
  const refused = drafts.filter(({ key }) => !firsts.has(key)).map(({ key }) => key);
  if (refused.length === 0) return repeated;
  return new Map([...repeated, ...(await recording.listStored(db, project, refused))]);
}

function subscriptionsOf(drafts: readonly Draft[]): string[] {
  return drafts.flatMap(({ subscription }) => subscription?.id ?? []);
}

function accepted(warning: Unbillable | null): EventAccepted {
  return { accepted: true, duplicate: false, ...(warning !== null && { warning }) };
}

/** An event before it is stored; `refusal` says why it will not be. */
type Draft = {
  readonly event: Arrived;
  readonly key: string;
  refusal: Refusal | undefined;
  subscription: usage.UsageSubscription | undefined;
  metric: Metric | undefined;
  at: Date | undefined;
  quantity: string | null;
  unique_value: string | null;
  combination: string | null;
  period_no: number;
  unbillable: Unbillable | null;
  /** Of a closed period that is still corrected. */
  late: boolean;
  /** Of a subscription that may be closing at this moment, and for a period that this concerns. */
  closing: boolean;
};

function draft(event: Arrived, known: KnownMeters): Draft {
  const { input, received_at } = event;
  const one: Draft = {
    event,
    key: usage.usageKey(input.transaction_id),
    refusal: undefined,
    subscription: known.byRef.get(input.subscription_id),
    metric: known.byCode.get(input.code),
    at: input.timestamp === undefined ? received_at : parseTimestamp(input.timestamp),
    quantity: null,
    unique_value: null,
    combination: null,
    period_no: 0,
    unbillable: null,
    late: false,
    closing: false,
  };
  one.refusal = complete(one, known.closing_until);
  return one;
}

/** Fills in what the event counts and in which period, or returns why it is refused. */
function complete(one: Draft, closing_until: Date | null): Refusal | undefined {
  const { subscription, metric, at, event } = one;
  if (subscription === undefined) {
    return refuse("not_found", "subscription_id: no subscription is known by it.");
  }
  if (metric === undefined) return refuse("not_found", "code: no metric has this code.");
  if (at === undefined || at.getTime() > event.received_at.getTime() + FUTURE_MAX_MS) {
    const message = "timestamp must not lie more than 24 hours in the future.";
    return refuseField("timestamp", "maximum", message);
  }
  const value = usageValue(metric, event.input);
  if (!value.ok) return refuseField(value.field, "format", `${value.field} ${value.message}.`);
  if (value.quantity !== null && costsTooMuch(value.quantity, metric, subscription)) {
    const message = `${value.quantity} units would cost more than an invoice can be over.`;
    return refuseField("value", "maximum", message);
  }
  const combined = combinationOf(metric.dimensions, event.input.properties);
  if (!combined.ok) {
    return refuseField(combined.field, "format", `${combined.field} ${combined.message}.`);
  }
  one.quantity = value.quantity;
  one.unique_value = value.unique_value;
  one.combination = combined.combination;
  place(one, subscription, at);
  one.closing = isClosing(one, at, subscription, closing_until);
  return undefined;
}

/**
 * Whether the close of the subscription that may be under way concerns the event. It bills the open
 * period and what came late for earlier ones. Of several periods that have ended, the close of the
 * next follows at once; and the subscription itself may be ending.
 */
function isClosing(
  { late, period_no }: Draft,
  at: Date,
  subscription: usage.UsageSubscription,
  closing_until: Date | null,
): boolean {
  const { live, due_at, ends_at } = subscription;
  if (!live || closing_until === null || due_at > closing_until) return false;
  if (late || period_no === subscription.period_no || at < closing_until) return true;
  return ends_at !== null && ends_at <= closing_until;
}

/**
 * By the prices of the open period: its invoice could not be made, and would wait for somebody to
 * look. Approximate, because the bound itself is no price that anybody asks for.
 */
function costsTooMuch(
  quantity: string,
  metric: Metric,
  { rates, currency }: usage.UsageSubscription,
): boolean {
  const rate = rates[metric.id];
  if (rate === undefined) return false;
  return Number(quantity) * Number(rate) * 10 ** exponentOf(currency) > AMOUNT_MAX;
}

/** Sets the period, or marks the event late: `placeLate` then finds its closed period. */
function place(one: Draft, subscription: usage.UsageSubscription, at: Date): void {
  const { started_at, terminated_at, period_no, live } = subscription;
  const { current_period_start: start, current_period_next: next } = subscription;
  // As numbers: dates are compared at twenty times the cost.
  const ms = at.getTime();
  if (ms < started_at.getTime()) one.unbillable = "before_start";
  else if (!live && terminated_at !== null && ms >= terminated_at.getTime()) {
    one.unbillable = "after_termination";
  } else if (!live || ms < start.getTime()) one.late = true;
  else {
    const { interval, open_interval, anchor_date } = subscription;
    // Another interval is counted from the end of the open period on.
    const isMoved = anchor_date !== null && interval !== open_interval;
    const anchor = isMoved ? utcDate(next) : anchor_date;
    one.period_no = period_no + periodIndexAt({ start, next }, interval, at, anchor);
  }
}

/** Events of closed periods: corrected if recent enough, else stored and never billed. */
async function placeLate(tx: Tx, settings: ProjectSettings, drafts: readonly Draft[]) {
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
    if (period === undefined) {
      // Between an end and a reactivation.
      one.unbillable = "after_termination";
      continue;
    }
    one.period_no = period.period_no;
    const open = subscription.live ? openStart(subscription) : undefined;
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

/** A trial is free, but what it changes of a level is carried on. */
async function markLate(tx: Tx, settings: ProjectSettings, fresh: readonly Draft[]) {
  const marks = new Map<string, closedPeriods.LateMark>();
  for (const { late, subscription, metric, period_no, event } of fresh) {
    if (!late || subscription === undefined) continue;
    const key = `${subscription.id} ${period_no}`;
    marks.set(key, {
      subscription_id: subscription.id,
      period_no,
      settle_at: subscription.live ? null : nextMidnight(event.received_at),
      and_later:
        metric?.aggregation_type === "weighted_sum" || (marks.get(key)?.and_later ?? false),
    });
  }
  if (marks.size > 0) await closedPeriods.markLate(tx, settings.id, [...marks.values()]);
}

function eventRow(one: Draft): recording.EventRow {
  const { subscription, metric, at } = one;
  const { input, received_at, arrival } = one.event;
  if (subscription === undefined || metric === undefined || at === undefined) {
    throw new Error("A refused event reached the table.");
  }
  const { transaction_id, value = null, properties = {} } = input;
  return {
    key: one.key,
    transaction_id: one.key === transaction_id ? null : transaction_id,
    subscription_id: subscription.id,
    metric_id: metric.id,
    period_no: one.period_no,
    at,
    received_at,
    arrival,
    quantity: one.quantity,
    unique_value: one.unique_value === null ? null : digestId(one.unique_value),
    value,
    properties: Object.keys(properties).length === 0 ? null : properties,
    unbillable: one.unbillable,
    combination: one.combination,
    is_weighted: metric.aggregation_type === "weighted_sum",
  };
}

function isSame(repeat: Draft, first: recording.StoredEvent): boolean {
  const { input } = repeat.event;
  return (
    repeat.subscription?.id === first.subscription_id &&
    repeat.metric?.id === first.metric_id &&
    // Without a timestamp the first copy was given the time of its arrival.
    (input.timestamp === undefined || repeat.at?.getTime() === first.at.getTime()) &&
    (input.value ?? null) === first.value &&
    hasSameProperties(input.properties ?? {}, first.properties ?? {})
  );
}

type Properties = Readonly<Record<string, unknown>>;

/** Most are a few texts and numbers: looked at before both are written out in one form. */
function hasSameProperties(a: Properties, b: Properties): boolean {
  const names = Object.keys(a);
  const isEqual =
    names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
  return isEqual || canonicalJson(a) === canonicalJson(b);
}
