// Writes what was decided of periods that end: closed and open periods, ends, invoices, and the
// facts of all that.

import type { Closed } from "../../domain/closing.ts";
import { nextMidnight } from "../../domain/dates.ts";
import type { Opened } from "../../domain/opening.ts";
import { taxSnapshot } from "../../domain/taxes.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import * as closedPeriods from "../../store/subscriptions/closed-periods.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import type * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { Fact } from "../emit.ts";
import { ofCustomers, ofSubscription } from "../issuing/group-acts.ts";
import { type Issued, issueInvoices } from "../issuing/issue.ts";
import { lockMoney, type Money, taxTermsOf } from "../issuing/load-money.ts";
import type { Act, InvoiceRequest } from "../issuing/request.ts";
import { endingActs } from "./acts.ts";
import { ended, periodDropped, periodRenewed, planChanged, trialEnded } from "./facts.ts";
import {
  type Start,
  startActs,
  startedFact,
  startFacts,
  startRequests,
  writeStarts,
} from "./start-pending.ts";

/** A period that ends, and what follows it. */
export type Ending = {
  readonly subscription: subscriptions.BilledSubscription;
  readonly end: Date;
  /** Set where a caller has what cannot be billed dropped, and told so, rather than be refused. */
  readonly drops?: boolean;
  readonly next:
    | { readonly kind: "renew" }
    /** A caller changes the plan now; the properties hold from the new period on. */
    | {
        readonly kind: "change";
        readonly plan_id: string;
        readonly properties: Record<string, unknown>;
      }
    | {
        readonly kind: "end";
        readonly status: "terminated" | "canceled";
        readonly bill: boolean;
        /** By a caller, now: usage of this very instant that was sent before is billed. */
        readonly takes_instant?: boolean;
      };
};

export type Decided = {
  readonly ending: Ending;
  readonly closed: Closed;
  /** Undefined where the subscription ends. */
  readonly opened: Opened | undefined;
  readonly overrides: subscriptions.BilledSubscription["overrides"];
  readonly is_billed: boolean;
  /** Why what is due at the start of the next period, or at the end of this one, is dropped. */
  readonly dropped: { readonly start?: string; readonly end?: string };
};

/** Locks the customers of all at once, before the first number is taken. */
export async function writeEndings(
  tx: Tx,
  project: ProjectId,
  starts: readonly Start[],
  decided: readonly Decided[],
  now: Date,
): Promise<Fact[]> {
  const requests = [...starts.flatMap(startRequests), ...decided.flatMap(endingRequests)];
  const rest = await write(tx, project, starts, decided, requests, now);
  const started = starts.flatMap((start) => startFacts(start, rest));
  return [...started, ...rest.flatMap(({ facts }) => facts), ...decided.flatMap(factsOf)];
}

/** The same of whole customers: what falls due together of each is on one invoice. */
export async function writeGroups(
  tx: Tx,
  project: ProjectId,
  starts: readonly Start[],
  decided: readonly Decided[],
  now: Date,
): Promise<Fact[]> {
  const acts = [...starts.flatMap(startActs), ...decided.flatMap(actsOf)];
  const issued = await write(tx, project, starts, decided, ofCustomers(acts), now);
  const started = starts.map(startedFact);
  return [...started, ...issued.flatMap(({ facts }) => facts), ...decided.flatMap(factsOf)];
}

async function write(
  tx: Tx,
  project: ProjectId,
  starts: readonly Start[],
  decided: readonly Decided[],
  requests: readonly InvoiceRequest[],
  now: Date,
): Promise<Issued[]> {
  const batch = [...starts, ...decided.map(({ ending }) => ending)];
  if (batch.length === 0) return [];
  const customers = [...new Set(batch.map(({ subscription }) => subscription.customer_id))];
  const money = await lockMoney(tx, project, customers, requests, now);
  await writeStarts(tx, project, starts, now);
  await writeCloses(tx, project, decided, money, now);
  return issueInvoices(tx, project, requests, now, money);
}

async function writeCloses(
  tx: Tx,
  project: ProjectId,
  decided: readonly Decided[],
  money: Money,
  now: Date,
): Promise<void> {
  const closedRows = decided.map((one) => closedRow(one, money));
  await closedPeriods.insert(tx, project, closedRows, now);
  await closedPeriods.recordCorrections(tx, project, decided.flatMap(correctedRows));
  await openPeriods.renew(tx, project, decided.flatMap(openRow), now);
  await openPeriods.end(tx, project, decided.flatMap(endRow), now);
  for (const { ending, is_billed } of decided) {
    // Without a final invoice, late usage of earlier periods gets an invoice of its own.
    if (ending.next.kind !== "end" || is_billed) continue;
    const { id } = ending.subscription;
    await closedPeriods.scheduleSupplement(tx, project, id, nextMidnight(now));
  }
}

function closedRow(
  { ending, closed, is_billed }: Decided,
  money: Money,
): closedPeriods.ClosedPeriod {
  const { subscription, end } = ending;
  return {
    subscription_id: subscription.id,
    period_no: subscription.period_no,
    starts_at: subscription.current_period_start,
    ends_at: end,
    plan_id: subscription.plan_id,
    plan_version: subscription.plan_version,
    override_no: subscription.override_no,
    anchor_date: subscription.anchor_date,
    is_trial: subscription.in_trial,
    levels: closed.levels.start,
    billable: is_billed,
    billed: closed.billed,
    taxes: taxSnapshot(taxTermsOf(money, subscription.customer_id), closed.list),
  };
}

function correctedRows({ ending, closed }: Decided) {
  return closed.corrected.map((row) => ({ ...row, subscription_id: ending.subscription.id }));
}

function openRow({ ending, closed, opened, overrides }: Decided): openPeriods.OpenPeriod[] {
  if (opened === undefined) return [];
  const { subscription } = ending;
  return [
    {
      id: subscription.id,
      plan_id: opened.list.plan_id,
      period_no: subscription.period_no + 1,
      current_period_start: opened.period.start,
      current_period_next: opened.period.next,
      anchor_date: opened.anchor_date,
      plan_version: opened.list.version,
      override_no: opened.override_no,
      overrides,
      scheduled_plan_id: null,
      advance: opened.advance,
      levels: closed.levels.end,
      recurring_cents: opened.recurring_cents,
    },
  ];
}

function endRow({ ending, closed }: Decided): openPeriods.EndedSubscription[] {
  const { subscription, end, next } = ending;
  if (next.kind !== "end") return [];
  const { status } = next;
  return [{ id: subscription.id, status, terminated_at: end, levels: closed.levels.end }];
}

function actsOf({ ending, closed, opened }: Decided): Act[] {
  const { subscription, end } = ending;
  return endingActs(subscription, { end, closed, opened });
}

function endingRequests(one: Decided): InvoiceRequest[] {
  return ofSubscription(actsOf(one), one.ending.subscription.invoice_grouping);
}

/** Facts that tell what a caller has dropped. */
function droppedFacts({ ending, opened, dropped }: Decided): Fact[] {
  const { subscription, end } = ending;
  const closed = { start: subscription.current_period_start, next: end };
  return [
    ...(dropped.end === undefined ? [] : [periodDropped(subscription, closed, "all", dropped.end)]),
    ...(dropped.start === undefined || opened === undefined
      ? []
      : [periodDropped(subscription, opened.period, "due_at_start", dropped.start)]),
  ];
}

function factsOf(decided: Decided): Fact[] {
  const { ending, closed, opened } = decided;
  const { subscription, end, next } = ending;
  const lost = droppedFacts(decided);
  if (next.kind === "end") {
    return [...lost, ended({ ...subscription, status: next.status }, subscription.status, end)];
  }
  if (opened === undefined) return lost;
  const now = {
    ...subscription,
    plan_code: opened.list.plan_code,
    current_period_start: opened.period.start,
    current_period_next: opened.period.next,
  };
  const isChanged = opened.list.plan_id !== subscription.plan_id;
  return [
    ...lost,
    ...(subscription.in_trial ? [trialEnded(now, end)] : []),
    ...(isChanged ? [planChanged(now, closed.list.plan_code)] : []),
    periodRenewed(now, { start: subscription.current_period_start, end }),
  ];
}
