// The scheduler of billing: closes ended periods, settles late usage of ended subscriptions, marks
// invoices overdue and sends dunning steps, in this order.

import type { Context } from "../context.ts";
import { Refusal } from "../errors.ts";
import { BATCH_MAX, closeAlone, closeDue, settleEnded } from "../operations/close-periods.ts";
import { markOverdue } from "../operations/mark-overdue.ts";
import { stepDunning } from "../operations/step-dunning.ts";
import * as apiActivity from "../store/api-activity.ts";
import * as projectsWithWork from "../store/projects-with-work.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import * as usageLocks from "../store/usage-locks.ts";
import type { Job } from "./loop.ts";

const PAUSE_MS = 1_000;
const LANE_BATCHES = 4;

export function billingJob(context: Context): Job {
  return {
    name: "billing",
    pause_ms: PAUSE_MS,
    // Periods first, batch after batch; what follows from them is looked for when all are closed.
    tick: async () =>
      (await closeTick(context)) ||
      (await settleTick(context)) + (await overdueTick(context)) + (await dunningTick(context)),
  };
}

/** A turn of each project that has ended periods. */
async function closeTick(context: Context): Promise<number> {
  const { db, clock } = context;
  const wall = clock.now();
  let closed = 0;
  for (const settings of await projectsWithWork.withEndedPeriods(db, wall)) {
    const now = settings.frozen_at ?? wall;
    if (settings.beyond_cutoff) await db.tx((tx) => usageLocks.raiseCutoff(tx, settings.id, now));
    closed += await closeTurn(context, settings, now);
  }
  return closed;
}

/** One batch; where that is not all, some more at once, before the next project has its turn. */
async function closeTurn(context: Context, settings: ProjectSettings, now: Date): Promise<number> {
  const first = await closeBatch(context, settings, now);
  if (first < BATCH_MAX) return first;
  const lane = async (isFree: () => Promise<boolean>) => {
    let closed = 0;
    for (let batch = 0; batch < LANE_BATCHES && (await isFree()); batch++) {
      closed += await closeBatch(context, settings, now);
    }
    return closed;
  };
  // While the database writes one batch the next is decided, unless callers need that processor.
  const spare = async () => !(await apiActivity.isApiActive(context.db));
  const [closed, more] = await Promise.all([lane(async () => true), lane(spare)]);
  return first + closed + more;
}

async function closeBatch(context: Context, settings: ProjectSettings, now: Date): Promise<number> {
  try {
    const { closed } = await context.db.tx((tx) => closeDue(tx, settings, now, "cutoff"));
    return closed;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    context.log.warn({ err: error, project_id: settings.id }, "a batch failed; closing one by one");
    return closeOneByOne(context, settings, now);
  }
}

/** The one that fails is set aside with its reason and shown; all others go on. */
async function closeOneByOne(context: Context, settings: ProjectSettings, now: Date) {
  const { db, log } = context;
  let closed = 0;
  for (const id of await subscriptions.listEnded(db, settings.id, now, BATCH_MAX)) {
    try {
      closed += (await db.tx((tx) => closeAlone(tx, settings, id, now))).closed;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      log.error(
        { err: error, project_id: settings.id, subscription_id: id },
        "a close is set aside",
      );
      await db.tx((tx) => subscriptions.setAside(tx, settings.id, id, reason));
    }
  }
  return closed;
}

async function settleTick({ db, clock }: Context): Promise<number> {
  let settled = 0;
  for (const settings of await projectsWithWork.withLateUsage(db, clock.now())) {
    const now = settings.frozen_at ?? clock.now();
    settled += (await db.tx((tx) => settleEnded(tx, settings, now))).closed;
  }
  return settled;
}

async function overdueTick({ db, clock }: Context): Promise<number> {
  let marked = 0;
  for (const settings of await projectsWithWork.withOverdueInvoices(db, clock.now())) {
    const now = settings.frozen_at ?? clock.now();
    marked += (await db.tx((tx) => markOverdue(tx, settings, now))).length;
  }
  return marked;
}

async function dunningTick({ db, clock }: Context): Promise<number> {
  let sent = 0;
  for (const settings of await projectsWithWork.withDunningDue(db, clock.now())) {
    const now = settings.frozen_at ?? clock.now();
    sent += (await db.tx((tx) => stepDunning(tx, settings, now))).length;
  }
  return sent;
}
