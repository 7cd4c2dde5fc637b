// Moves a sandbox project's clock: whatever falls due on the way is done, in the order of time, by
// the same operations that the workers run.

import { startOfDay, utcDate } from "../domain/dates.ts";
import { overdueAt } from "../domain/invoicing.ts";
import { refuse } from "../errors.ts";
import type { ClockReport } from "../schema/clock.ts";
import * as clock from "../store/clock.ts";
import * as closedPeriods from "../store/closed-periods.ts";
import type { Db, Queryable, Tx } from "../store/db.ts";
import * as dunning from "../store/dunning.ts";
import { refuseWhileHeld } from "../store/installation.ts";
import * as invoices from "../store/invoices.ts";
import * as ledger from "../store/ledger.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as wallets from "../store/wallets.ts";
import { closeDue } from "./close-periods.ts";
import { type By, emit, type Fact, isLogged } from "./emit.ts";
import { expireGrants } from "./grant-credit.ts";
import { issueSupplements } from "./issue-supplements.ts";
import { markOverdue } from "./mark-overdue.ts";
import type { SetAside } from "./set-aside.ts";
import { stepDunning } from "./step-dunning.ts";
import { lookAtUsage, lookAtWallets } from "./watch-wallets.ts";

type Moved = {
  at: Date;
  facts: readonly Fact[];
  closed: number;
  set_aside?: readonly SetAside[] | undefined;
};

/** Called when it is committed, also if a later step of the way fails. */
type OnSetAside = (found: SetAside) => void;

/** Stops the clock at an instant; a project with subscriptions only goes forward. */
export async function freezeClock(
  db: Db,
  settings: ProjectSettings,
  at: Date,
  by: By,
  now: Date,
  onSetAside: OnSetAside,
): Promise<ClockReport> {
  refuseLive(settings);
  const hasHistory = await subscriptions.hasAny(db, settings.id);
  if (!hasHistory) {
    await db.tx(async (tx) => {
      await clock.lock(tx, settings.id);
      await clock.freezeAt(tx, settings.id, at);
      const payload = { frozen_at: at };
      await emit(
        tx,
        settings.id,
        [{ type: "clock.frozen", resource_id: settings.id, payload }],
        by,
        at,
      );
    });
    return report(at, [], 0);
  }
  if (at < now) {
    throw refuse(
      "clock_conflict",
      "The project has subscriptions: its clock can only be set forward.",
    );
  }
  return travel(db, settings.id, at, by, now, onSetAside);
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
  const moves: Moved[] = [];
  for (;;) {
    const move = await db.tx(async (tx) => {
      await refuseWhileHeld(tx);
      return step(tx, project, to, now);
    });
    if (move === undefined) break;
    for (const found of move.set_aside ?? []) onSetAside(found);
    moves.push(move);
  }
  await db.tx(async (tx) => {
    const settings = await clock.lock(tx, project);
    const { frozen_at } = settings;
    // Another call may have moved it further meanwhile.
    if (frozen_at === null || frozen_at < to) await clock.freezeAt(tx, project, to);
    moves.push(await lookAtAllUsage(tx, settings, to));
    const payload = { from: now, to };
    await emit(tx, project, [{ type: "clock.advanced", resource_id: project, payload }], by, to);
  });
  return report(to, moves, await subscriptions.countFailed(db, project));
}

/** Usage since the last move may have made wallets low. */
async function lookAtAllUsage(tx: Tx, settings: ProjectSettings, to: Date): Promise<Moved> {
  const facts: Fact[] = [];
  let after: wallets.WalletKey | undefined = wallets.FIRST_WALLET;
  while (after !== undefined) {
    const round: Awaited<ReturnType<typeof lookAtUsage>> = await lookAtUsage(
      tx,
      settings,
      after,
      to,
    );
    facts.push(...round.facts);
    after = round.last;
  }
  return { at: to, facts, closed: 0 };
}

/** Goes to the next instant at which something is due and does one batch of it. */
async function step(tx: Tx, project: ProjectId, to: Date, now: Date): Promise<Moved | undefined> {
  const settings = await clock.lock(tx, project);
  const stands = settings.frozen_at ?? now;
  const due = await nextDue(tx, project, to);
  if (due === undefined) return undefined;
  const at = new Date(Math.max(due.getTime(), stands.getTime()));
  if (settings.frozen_at === null || at > settings.frozen_at) await clock.freezeAt(tx, project, at);
  const expired = await expireGrants(tx, settings, at);
  if (expired.length > 0) return { at, facts: expired, closed: 0 };
  const closes = await closeDue(tx, settings, at, "usage locks");
  if (closes.facts.length > 0 || closes.closed > 0) return { at, ...closes };
  const supplements = await issueSupplements(tx, settings, at);
  if (supplements.closed > 0) return { at, ...supplements, closed: 0 };
  const overdue = await markOverdue(tx, settings, at);
  if (overdue.length > 0) return { at, facts: overdue, closed: 0 };
  const dunned = await stepDunning(tx, settings, at);
  if (dunned.length > 0) return { at, facts: dunned, closed: 0 };
  const { facts } = await lookAtWallets(tx, settings, at);
  return { at, facts, closed: 0 };
}

async function nextDue(db: Queryable, project: ProjectId, to: Date): Promise<Date | undefined> {
  const candidates = [
    await openPeriods.nextDue(db, project, to),
    await closedPeriods.nextSupplement(db, project, to),
    await nextOverdue(db, project, to),
    await nextDunning(db, project, to),
    await ledger.nextExpiry(db, project, to),
    await wallets.nextLook(db, project, to),
  ];
  const instants = candidates.filter((at) => at !== null);
  return instants.reduce<Date | undefined>(
    (first, at) => (first === undefined || at < first ? at : first),
    undefined,
  );
}

async function nextOverdue(db: Queryable, project: ProjectId, to: Date): Promise<Date | null> {
  const due_date = await invoices.nextDueDate(db, project, utcDate(to));
  return due_date === null ? null : overdueAt(due_date);
}

async function nextDunning(db: Queryable, project: ProjectId, to: Date): Promise<Date | null> {
  const day = await dunning.nextDay(db, project, utcDate(to));
  return day === null ? null : startOfDay(day);
}

function report(now: Date, moves: readonly Moved[], billing_failed_count: number): ClockReport {
  const facts = moves.flatMap(({ at, facts }) =>
    facts.filter(isLogged).map((fact) => ({ fact, at })),
  );
  return {
    clock: { mode: "frozen", now },
    periods_closed: moves.reduce((sum, { closed }) => sum + closed, 0),
    invoices_created: facts.filter(({ fact }) => fact.type === "invoice.created").length,
    dunning_steps: facts.filter(({ fact }) => fact.type === "dunning.step_fired").length,
    billing_failed_count,
    events: facts.map(({ fact, at }) => ({
      event: fact.webhook?.event ?? fact.type,
      at,
      resource_id: fact.resource_id,
    })),
  };
}
