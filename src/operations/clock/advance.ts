// Moves a sandbox project's clock: whatever falls due on the way is done, in the order of time, by
// the same operations that the workers run.

import { startOfDay, utcDate } from "../../domain/dates.ts";
import { overdueAt } from "../../domain/invoicing.ts";
import { refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { EventType } from "../../schema/billing-events.ts";
import type { ClockReport } from "../../schema/clock.ts";
import { refuseWhileHeld } from "../../store/backup/installation.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Db, Queryable, Tx } from "../../store/db/db.ts";
import * as billingEvents from "../../store/feeds/billing-events.ts";
import * as dunning from "../../store/invoices/dunning.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as ledger from "../../store/money/ledger.ts";
import * as wallets from "../../store/money/wallets.ts";
import * as closedPeriods from "../../store/subscriptions/closed-periods.ts";
import * as dueGroups from "../../store/subscriptions/due-groups.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import * as clock from "../../store/tenants/clock.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import type { BatchReport, SetAside } from "../batch-report.ts";
import { closeDue, closeGroups } from "../closing/close.ts";
import { issueSupplements } from "../closing/supplements.ts";
import { type By, emit, scheduler } from "../emit.ts";
import { markOverdue } from "../issuing/mark-overdue.ts";
import { replanDunning } from "../issuing/plan-dunning.ts";
import { stepDunning } from "../issuing/step-dunning.ts";
import { expireGrants } from "../money/grant-credit.ts";
import { lookAtUsage, lookAtWallets } from "../money/watch-wallets.ts";

/** Called when it is committed, also if a later step of the way fails. */
type OnSetAside = (found: SetAside) => void;

/** Stops the clock at an instant, and does what falls due until then. */
export async function freezeClock(
  db: Db,
  settings: ProjectSettings,
  at: Date,
  by: By,
  now: Date,
  onSetAside: OnSetAside,
): Promise<ClockReport> {
  refuseLive(settings);
  const isSet = await db.tx((tx) => setFirst(tx, settings.id, at, by));
  if (isSet) return reportOf(at, [], 0);
  if (at < now) {
    throw refuse(
      "clock_conflict",
      "The project has subscriptions, invoices or grants: its clock can only be set forward.",
    );
  }
  return travel(db, settings.id, at, by, now, onSetAside);
}

/**
 * Sets the clock to any instant while nothing has happened by it. What was set up by a later time
 * counts from that instant on, as if the clock had been set first.
 */
async function setFirst(tx: Tx, project: ProjectId, at: Date, by: By): Promise<boolean> {
  await clock.lock(tx, project);
  if (await clock.hasHistory(tx, project)) return false;
  await clock.freezeAt(tx, project, at);
  await plans.countFrom(tx, project, at);
  await coupons.countFrom(tx, project, at);
  await dunning.countFrom(tx, project, utcDate(at));
  const payload = { frozen_at: at };
  await emit(tx, project, [{ type: "clock.frozen", resource_id: project, payload }], by, at);
  return true;
}

export async function advanceClock(
  db: Db,
  settings: ProjectSettings,
  to: Date,
  by: By,
  now: Date,
  onSetAside: OnSetAside,
): Promise<ClockReport> {
  refuseLive(settings);
  if (to < now) {
    throw refuse(
      "clock_conflict",
      `The clock stands at ${now.toISOString()} and only moves forward.`,
    );
  }
  return travel(db, settings.id, to, by, now, onSetAside);
}

function refuseLive(settings: ProjectSettings): void {
  if (settings.mode === "sandbox") return;
  throw refuse("live_project", "A live project's clock cannot be moved. Use a sandbox project.");
}

/** Each step is a transaction of its own: if the process dies, the clock is at the last step. */
async function travel(
  db: Db,
  project: ProjectId,
  to: Date,
  by: By,
  now: Date,
  onSetAside: OnSetAside,
): Promise<ClockReport> {
  const before = await billingEvents.newestPosition(db, project);
  for (;;) {
    const move = await db.tx(async (tx) => {
      await refuseWhileHeld(tx);
      return step(tx, project, to, scheduler(by), now);
    });
    if (move === undefined) break;
    for (const found of move.set_aside ?? []) onSetAside(found);
  }
  await db.tx(async (tx) => {
    const { frozen_at } = await clock.lock(tx, project);
    // Another call may have moved it further meanwhile.
    if (frozen_at === null || frozen_at < to) await clock.freezeAt(tx, project, to);
  });
  await lookAtAllUsage(db, project, scheduler(by), to);
  await db.tx(async (tx) => {
    const payload = { from: now, to };
    await emit(tx, project, [{ type: "clock.advanced", resource_id: project, payload }], by, to);
  });
  const entries = await listDone(db, project, before, to);
  return reportOf(to, entries, await subscriptions.countFailed(db, project));
}

/** Usage since the last move may have made wallets low. Each batch is a transaction of its own. */
async function lookAtAllUsage(db: Db, project: ProjectId, by: By, to: Date): Promise<void> {
  let after: wallets.WalletKey | undefined = wallets.FIRST_WALLET;
  while (after !== undefined) {
    const from: wallets.WalletKey = after;
    const round = await db.tx(async (tx) =>
      lookAtUsage(tx, await clock.lock(tx, project), { after: from }, by, to),
    );
    after = round.last;
  }
}

type NextDue = (db: Queryable, settings: ProjectSettings, until: Date) => Promise<Date | null>;
type Work = (tx: Tx, settings: ProjectSettings, by: By, at: Date) => Promise<BatchReport>;

/** What may fall due, and since when: in this order where it does so at one instant. */
const KINDS: readonly {
  readonly nextDue: NextDue;
  readonly work: Work;
}[] = [
  {
    nextDue: ofProject(nextReplan),
    work: (tx, settings, _, at) => replanDunning(tx, settings, at),
  },
  { nextDue: ofProject(ledger.nextExpiry), work: expireGrants },
  { nextDue: nextClose, work: (...of) => closeDue(...of, "usage locks") },
  { nextDue: nextGroup, work: (...of) => closeGroups(...of, "usage locks") },
  { nextDue: ofProject(closedPeriods.nextSupplement), work: issueSupplements },
  { nextDue: ofProject(nextOverdue), work: markOverdue },
  { nextDue: ofProject(nextDunning), work: stepDunning },
  { nextDue: ofProject(wallets.nextLook), work: lookAtWallets },
];

/**
 * Goes to the next instant at which something is due and does one batch of one kind of it: another
 * kind in the same transaction would take its locks behind those of the first.
 */
async function step(
  tx: Tx,
  project: ProjectId,
  to: Date,
  by: By,
  now: Date,
): Promise<BatchReport | undefined> {
  const settings = await clock.lock(tx, project);
  const stands = settings.frozen_at ?? now;
  const due = await listDue(tx, settings, to);
  const [first] = due.toSorted((one, other) => one.since.getTime() - other.since.getTime());
  if (first === undefined) return undefined;
  const at = first.since > stands ? first.since : stands;
  if (settings.frozen_at === null || at > settings.frozen_at) await clock.freezeAt(tx, project, at);
  const next = due.find(({ since }) => since <= at) ?? first;
  return next.work(tx, settings, by, at);
}

async function listDue(db: Queryable, settings: ProjectSettings, to: Date) {
  const due: { readonly since: Date; readonly work: Work }[] = [];
  for (const { nextDue, work } of KINDS) {
    const since = await nextDue(db, settings, to);
    if (since !== null) due.push({ since, work });
  }
  return due;
}

function ofProject(
  next: (db: Queryable, project: ProjectId, until: Date) => Promise<Date | null>,
): NextDue {
  return (db, { id }, until) => next(db, id, until);
}

async function nextClose(db: Queryable, { id, groups_customers }: ProjectSettings, to: Date) {
  return openPeriods.nextDue(db, id, to, groups_customers);
}

/** What falls due together comes behind what falls due by itself. */
async function nextGroup(db: Queryable, { id, groups_customers }: ProjectSettings, to: Date) {
  return groups_customers ? dueGroups.nextGroup(db, id, to) : null;
}

async function nextOverdue(db: Queryable, project: ProjectId, to: Date): Promise<Date | null> {
  const due_date = await invoices.nextDueDate(db, project, utcDate(to));
  return due_date === null ? null : overdueAt(due_date);
}

/** What was put before this move is planned before anything falls due. */
async function nextReplan(db: Queryable, project: ProjectId): Promise<Date | null> {
  return (await dunning.getReplan(db, project)) === undefined ? null : new Date(0);
}

async function nextDunning(db: Queryable, project: ProjectId, to: Date): Promise<Date | null> {
  const day = await dunning.nextDay(db, project, utcDate(to));
  return day === null ? null : startOfDay(day);
}

/** Entries of the log that are read at once. */
const PAGE_MAX = 1_000;

/** What was done between the two times because it was due: workers do a part of it as well. */
async function listDone(
  db: Queryable,
  project: ProjectId,
  before: string,
  to: Date,
): Promise<billingEvents.DoneEntry[]> {
  const found: billingEvents.DoneEntry[] = [];
  let after: string | undefined = before;
  while (after !== undefined) {
    const page: billingEvents.DoneEntry[] = await billingEvents.listDone(
      db,
      project,
      { after, until: to },
      PAGE_MAX,
    );
    found.push(...page);
    after = page.length < PAGE_MAX ? undefined : page.at(-1)?.position;
  }
  return found;
}

/** Whether the entry tells of a closed period; a suspended subscription renews without webhook. */
function isClose({ event_type, payload }: billingEvents.DoneEntry): boolean {
  if (event_type === "subscription.updated") return "current_period_end" in payload;
  return /^subscription\.(period_renewed|terminated|canceled)$/.test(event_type);
}

/** The name of what happened: that of its webhook, where there is one. */
function eventOf({ event_type, payload }: billingEvents.DoneEntry): string {
  if (event_type === "dunning.step_fired") return String(payload.webhook_event);
  return event_type === "subscription.canceled" ? "subscription.terminated" : event_type;
}

function reportOf(
  now: Date,
  entries: readonly billingEvents.DoneEntry[],
  billing_failed_count: number,
): ClockReport {
  const count = (type: EventType) => entries.filter(({ event_type }) => event_type === type).length;
  return {
    clock: { mode: "frozen", now },
    periods_closed: entries.filter(isClose).length,
    invoices_created: count("invoice.created"),
    dunning_steps: count("dunning.step_fired"),
    billing_failed_count,
    events: entries.map((entry) => ({
      event: eventOf(entry),
      at: entry.created_at,
      resource_id: entry.resource_id,
    })),
  };
}
