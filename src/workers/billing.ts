// The billing job: does the duties of duties.ts one after the other. Each runs by itself: one that
// fails or has much to do holds up no other.

import type { Context } from "../context.ts";
import { noteSetAside } from "../operations/closing/set-aside.ts";
import { scheduler } from "../operations/emit.ts";
import { isCutOff, isUnreachable } from "../store/db/failures.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import * as usageLocks from "../store/usage/locks.ts";
import * as projects from "../store/work/projects-with-work.ts";
import { jobFailures } from "../telemetry.ts";
import { BatchLimits } from "./batch-limits.ts";
import { ByNode } from "./by-node.ts";
import { closeProject } from "./close-project.ts";
import { type BatchDuty, DUTIES, type Postpone } from "./duties.ts";
import { noteJobs } from "./job-notes.ts";
import { addUp, type Job, type TickReport } from "./loop.ts";
import { countInvoices, dutyDone } from "./prometheus.ts";

const PAUSE_MS = 1_000;
const NAME = "billing";

type Duty = { readonly name: string; run(): Promise<TickReport> };

export function billingJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  const duties = DUTIES.map((duty) =>
    duty === "close" ? closeDuty(context, byNode) : batchDuty(context, byNode, duty),
  );
  return {
    name: NAME,
    description:
      "Grants expired, periods closed, late usage of ended subscriptions invoiced, invoices " +
      "marked overdue, dunning steps planned anew and done, wallets looked at.",
    pause_ms: PAUSE_MS,
    async tick() {
      const reports: TickReport[] = [];
      for (const duty of duties) reports.push(await byItself(context, duty));
      return addUp(reports);
    },
    drain: () => byNode.drain(),
  };
}

async function byItself({ log }: Context, duty: Duty): Promise<TickReport> {
  try {
    return await duty.run();
  } catch (error) {
    // The others would find the database away as well.
    if (isUnreachable(error) && !isCutOff(error)) throw error;
    jobFailures.inc({ job: NAME });
    const about = { err: error, job: NAME, duty: duty.name };
    log.error(about, "a duty of a job failed and will be tried again");
    return { done: 0, more: false, failed: 1 };
  }
}

/** Closes some periods of each project that has ended ones, so that projects take turns. */
function closeDuty(context: Context, byNode: ByNode): Duty {
  const close = async (settings: projects.Ended, real_now: Date) => {
    const now = settings.frozen_at ?? real_now;
    const db = context.db.forProject(settings.id);
    if (settings.beyond_cutoff) await db.tx((tx) => usageLocks.raiseCutoff(tx, settings.id, now));
    return closeProject({ ...context, db }, settings, now);
  };
  return {
    name: "close",
    run() {
      const real_now = context.clock.now();
      return byNode.handle(
        (db, filter) => projects.withEndedPeriods(db, real_now, filter),
        (settings) => close(settings, real_now),
      );
    },
  };
}

/** Does one batch of each project that has some. */
function batchDuty(context: Context, byNode: ByNode, duty: BatchDuty): Duty {
  const { clock, log } = context;
  const { name, work, act, max, postpone } = duty;
  const by = scheduler(context.config);
  const limits = new BatchLimits(max);
  const doBatch = (settings: ProjectSettings) => {
    const now = settings.frozen_at ?? clock.now();
    const db = context.db.forProject(settings.id);
    const batch = async (limit: number) => {
      const report = await db.tx((tx) => act(tx, settings, by, now, limit));
      for (const one of report.set_aside ?? []) noteSetAside(log, settings.id, one);
      noteJobs(log, settings.id, report.jobs);
      countInvoices(report);
      dutyDone.inc({ duty: name }, report.done);
      return report.done;
    };
    const putOff = async (error: unknown, postpone: Postpone) => {
      const found = await db.tx((tx) => postpone(tx, settings, error, by, now));
      dutyDone.inc({ duty: name });
      if (found !== undefined) noteSetAside(log, settings.id, found, error);
      return 1;
    };
    const alone = postpone && ((error: unknown) => putOff(error, postpone));
    return limits.take(settings.id, { work: batch, alone });
  };
  return {
    name,
    run: () =>
      byNode.handle((db, filter) => projects.withWork(db, work, clock.now(), filter), doBatch),
  };
}
