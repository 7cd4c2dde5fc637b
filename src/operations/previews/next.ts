// All that a customer will be billed when something of it falls due next, grouped as the close will
// group it. Writes nothing.

import { type Closing, closePeriod } from "../../domain/closing.ts";
import { groupBy } from "../../domain/group-by.ts";
import { openNext } from "../../domain/opening.ts";
import { refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoiceGrouping } from "../../schema/enums.ts";
import type { InvoicePreview } from "../../schema/invoices.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageSums from "../../store/usage/sums.ts";
import { endingActs } from "../closing/acts.ts";
import { dueEnding } from "../closing/close.ts";
import { closingOf, loadTerms, loadUsage, openPeriodRef } from "../closing/load.ts";
import { Decisions, type Failed } from "../closing/set-aside.ts";
import { decideStarts, startActs } from "../closing/start-pending.ts";
import { type Act, actOf, type InvoiceRequest, joined } from "../issuing/request.ts";
import { emptyInvoice, invoicesOf } from "./grouped.ts";
import { shownPreviews } from "./shown.ts";

type Billed = subscriptions.BilledSubscription;

export type NextPreviews = {
  readonly due_at: Date;
  readonly invoice_preview: InvoicePreview;
  readonly next_invoice_previews: InvoicePreview[];
};

/** Needs a snapshot. What cannot be billed until somebody mends it is left out, as at the close. */
export async function previewNext(
  db: Queryable,
  settings: ProjectSettings,
  customer_ref: string,
  now: Date,
): Promise<NextPreviews> {
  const project = settings.id;
  const customer = await customers.get(db, project, customer_ref);
  if (customer === undefined) throw refuse("not_found", "customer_id: no customer is known by it.");
  const due = await subscriptions.listDueAt(db, project, customer.id);
  if (due.length === 0) {
    throw refuse("not_found", "customer_id: the customer has no subscription that is not ended.");
  }
  let empty: Decided | undefined;
  let failed: Failed | undefined;
  for (const same of groupBy(due, ({ due_at }) => due_at.getTime()).values()) {
    const ids = same.map(({ id }) => id);
    const found = await decideAt(db, settings, ids, same[0]?.due_at ?? now, now);
    if (found.acts.length > 0) {
      const requests = invoicesOf(found.acts, found.mode);
      const all = requests.length > 0 ? requests : [emptyInvoice(found.acts, found.mode)];
      return shown(db, project, found, all, now);
    }
    if (found.idle !== undefined) empty ??= found;
    failed ??= found.failed[0];
  }
  if (empty?.idle !== undefined) return shown(db, project, empty, [joined(empty.idle, [])], now);
  throw failed?.error ?? new Error("What is due is decided or fails.");
}

async function shown(
  db: Queryable,
  project: ProjectId,
  { due_at }: Decided,
  requests: readonly InvoiceRequest[],
  now: Date,
): Promise<NextPreviews> {
  const [invoice_preview, ...others] = await shownPreviews(db, project, requests, now);
  if (invoice_preview === undefined) throw new Error("A preview always has a request.");
  return { due_at, invoice_preview, next_invoice_previews: others };
}

type Decided = {
  readonly due_at: Date;
  /** Starts before closes, those of the oldest subscription first. */
  readonly acts: readonly Act[];
  readonly mode: InvoiceGrouping;
  /** An act without lines, which is shown where nothing at all will be billed. */
  readonly idle: Act | undefined;
  readonly failed: readonly Failed[];
};

/** Decides what falls due of these at that instant, as the close will. */
async function decideAt(
  db: Queryable,
  settings: ProjectSettings,
  ids: readonly string[],
  due_at: Date,
  now: Date,
): Promise<Decided> {
  const batch = await subscriptions.listBilled(db, settings.id, ids);
  const issued = due_at > now ? due_at : now;
  const pending = batch.filter(({ status }) => status === "pending");
  const starts = await decideStarts(db, settings, pending, issued);
  const closes = await decideCloses(
    db,
    settings,
    batch.filter(({ status }) => status !== "pending"),
    issued,
  );
  const acts = [...starts.decided.flatMap(startActs), ...closes.acts];
  const [start] = starts.decided;
  const why = { reason: "start", period_no: 0, due_at } as const;
  const idle = closes.idle ?? (start && actOf(start.subscription, start.first.opened.draft, why));
  const mode = batch[0]?.invoice_grouping ?? "separate";
  return { due_at, acts, mode, idle, failed: [...starts.failed, ...closes.failed] };
}

async function decideCloses(
  db: Queryable,
  settings: ProjectSettings,
  open: readonly Billed[],
  issued: Date,
) {
  const decisions = new Decisions();
  const acts: Act[] = [];
  let idle: Act | undefined;
  if (open.length === 0) return { acts, idle, failed: decisions.failed };
  const project = settings.id;
  const terms = await loadTerms(db, project, open);
  const usage = await loadUsage(db, project, open, terms);
  for (const subscription of open) {
    const { end, next } = dueEnding(subscription);
    const whole = closingOf(terms, usage, subscription, end, settings, issued);
    const closing = { ...whole, usage: await usageUntil(db, project, subscription, whole) };
    const decided = decisions.decide(subscription, () => {
      const closed = closePeriod(closing);
      return { closed, opened: next.kind === "end" ? undefined : openNext(closing) };
    });
    if (decided === undefined) continue;
    const { closed } = decided;
    acts.push(...endingActs(subscription, { end, ...decided }));
    const why = { reason: "period", period_no: subscription.period_no, due_at: end } as const;
    if (closed.draft !== undefined) idle ??= actOf(subscription, closed.draft, why);
  }
  return { acts, idle, failed: decisions.failed };
}

/** The usage of the period; that which was sent ahead of an end within it will not be billed. */
async function usageUntil(
  db: Queryable,
  project: ProjectId,
  subscription: Billed,
  { usage, end }: Closing,
): Promise<Closing["usage"]> {
  if (end >= subscription.current_period_next) return usage;
  const period = openPeriodRef(subscription);
  if (!(await usageSums.hasUsageFrom(db, project, period, end))) return usage;
  return usageSums.totalsBefore(db, project, period, end);
}
