// The billing job: expires grants, closes ended periods, invoices late usage of ended
// subscriptions, marks invoices overdue, sends dunning steps and looks at wallets, in this order.

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import { BATCH_MAX, closeAlone, closeDue } from "../operations/close-periods.ts";
import { expireGrants } from "../operations/grant-credit.ts";
import { issueSupplements } from "../operations/issue-supplements.ts";
import { markOverdue } from "../operations/mark-overdue.ts";
import { type CloseReport, noteSetAside, setAside } from "../operations/set-aside.ts";
import { stepDunning } from "../operations/step-dunning.ts";
import { lookAtWallets } from "../operations/watch-wallets.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as projects from "../store/projects-with-work.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";
import { closeBatchSeconds, invoicesCreated, periodsClosed } from "./prometheus.ts";

const PAUSE_MS = 1_000;
/** Batches that each of the two parallel closes takes before the next project has its turn. */
const TURN_BATCHES = 5;
const NAME = "billing";

export function billingJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  return {
    name: NAME,
    pause_ms: PAUSE_MS,
    // Overdue invoices and dunning are looked for only when no period is left to close: a close
    // makes the invoices that they look at.
    tick: async () =>
      (await expiryTick(context, byNode)) ||
      (await closeTick(context, byNode)) ||
      (await supplementTick(context, byNode)) +
        (await overdueTick(context, byNode)) +
        (await dunningTick(context, byNode)) +
        (await walletTick(context, byNode)),
    drain: () => byNode.drain(),
  };
}

/** Closes some periods of each project that has ended ones, so that projects take turns. */
async function closeTick(context: Context, byNode: ByNode): Promise<number> {
  const real_now = context.clock.now();
  return byNode.handle(
    (db, filter) => projects.withEndedPeriods(db, real_now, filter),
    async (settings) => {
      const now = settings.frozen_at ?? real_now;
      const db = context.db.forProject(settings.id);
      if (settings.beyond_cutoff) await db.tx((tx) => usageLocks.raiseCutoff(tx, settings.id, now));
      return closeProject({ ...context, db }, settings, now);
    },
  );
}

/**
 * Closes some batches of a project. Once one of them is found to be full, a second close runs in
 * parallel, so that one is computed here while the database writes the other.
 *
 * The second goes on only while no caller is being answered. With two at all times the p99 of
 * callers was 4 to 8 times its idle value during a close, with one it was 2.7 times (decision 9).
 */
async function closeProject(context: Context, settings: ProjectSettings, now: Date) {
  const closeBatches = async (mayGoOn: () => boolean, onFull: () => void) => {
    let closed = 0;
    for (let batch = 0; batch < TURN_BATCHES && mayGoOn(); batch++) {
      const count = await closeBatch(context, settings, now, onFull);
      closed += count;
      if (count < BATCH_MAX) break;
    }
    return closed;
  };
  const always = () => true;
  const whileApiIsIdle = () => !context.api_activity.active;
  let isFull = (_: boolean) => {};
  const full = new Promise<boolean>((resolve) => {
    isFull = resolve;
  });
  const first = closeBatches(always, () => isFull(true)).finally(() => isFull(false));
  const second = full.then((more) => (more ? closeBatches(whileApiIsIdle, () => {}) : 0));
  const counts = await Promise.all([first, second]);
  return counts[0] + counts[1];
}

async function closeBatch(
  context: Context,
  settings: ProjectSettings,
  now: Date,
  onFull: () => void,
): Promise<number> {
  try {
    const started_ms = monotonicMs();
    const report = await context.db.tx((tx) => closeDue(tx, settings, now, "cutoff", onFull));
    if (report.closed > 0) closeBatchSeconds.observe((monotonicMs() - started_ms) / 1_000);
    for (const one of report.set_aside ?? []) noteSetAside(context.log, settings.id, one);
    return countClosed(report);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    context.log.warn({ err: error, project_id: settings.id }, "a batch failed; closing one by one");
    return closeOneByOne(context, settings, now);
  }
}

/** Finds the subscription that made a batch fail: it is set aside with its reason, others close. */
async function closeOneByOne(context: Context, settings: ProjectSettings, now: Date) {
  const { db } = context;
  let closed = 0;
  for (const id of await openPeriods.listDue(db, settings.id, now, BATCH_MAX)) {
    try {
      const report = await db.tx((tx) => closeAlone(tx, settings, id, now));
      for (const one of report.set_aside ?? []) noteSetAside(context.log, settings.id, one);
      closed += countClosed(report);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const found = await db.tx((tx) => setAside(tx, settings.id, id, error, now));
      if (found !== undefined) noteSetAside(context.log, settings.id, found, error);
    }
  }
  return closed;
}

/** Returns how many subscriptions it was about. */
function countClosed(report: CloseReport): number {
  periodsClosed.inc(report.closed);
  countInvoices(report);
  return report.closed + (report.started ?? 0);
}

function countInvoices({ facts }: CloseReport): void {
  invoicesCreated.inc(facts.filter(({ type }) => type === "invoice.created").length);
}

async function expiryTick({ db, clock }: Context, byNode: ByNode): Promise<number> {
  return byNode.handle(
    (all, filter) => projects.withExpiredGrants(all, clock.now(), filter),
    async (settings) => {
      const now = settings.frozen_at ?? clock.now();
      return (await db.forProject(settings.id).tx((tx) => expireGrants(tx, settings, now))).length;
    },
  );
}

async function walletTick({ db, clock }: Context, byNode: ByNode): Promise<number> {
  return byNode.handle(
    (all, filter) => projects.withChangedWallets(all, clock.now(), filter),
    async (settings) => {
      const now = settings.frozen_at ?? clock.now();
      const { looked } = await db
        .forProject(settings.id)
        .tx((tx) => lookAtWallets(tx, settings, now));
      return looked;
    },
  );
}

async function supplementTick({ db, clock, log }: Context, byNode: ByNode): Promise<number> {
  return byNode.handle(
    (all, filter) => projects.withLateUsage(all, clock.now(), filter),
    async (settings) => {
      const now = settings.frozen_at ?? clock.now();
      const report = await db
        .forProject(settings.id)
        .tx((tx) => issueSupplements(tx, settings, now));
      for (const one of report.set_aside ?? []) noteSetAside(log, settings.id, one);
      countInvoices(report);
      return report.closed;
    },
  );
}

async function overdueTick({ db, clock }: Context, byNode: ByNode): Promise<number> {
  return byNode.handle(
    (all, filter) => projects.withOverdueInvoices(all, clock.now(), filter),
    async (settings) => {
      const now = settings.frozen_at ?? clock.now();
      return (await db.forProject(settings.id).tx((tx) => markOverdue(tx, settings, now))).length;
    },
  );
}

async function dunningTick({ db, clock }: Context, byNode: ByNode): Promise<number> {
  return byNode.handle(
    (all, filter) => projects.withDunningDue(all, clock.now(), filter),
    async (settings) => {
      const now = settings.frozen_at ?? clock.now();
      return (await db.forProject(settings.id).tx((tx) => stepDunning(tx, settings, now))).length;
    },
  );
}
