// What the subscriptions of one customer will be invoiced when their open periods end, as far as
// they have come: decided as the close will decide it, for all of them in a few statements.

import { type Closing, closePeriod } from "../../domain/closing.ts";
import { groupBy } from "../../domain/group-by.ts";
import { sumCents } from "../../domain/money.ts";
import { openNext } from "../../domain/opening.ts";
import type { FeeDraft } from "../../domain/pricing.ts";
import type { Customer } from "../../schema/customers.ts";
import type { Queryable } from "../../store/db/db.ts";
import type { SubscriptionRow } from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageSums from "../../store/usage/sums.ts";
import { endingActs } from "../closing/acts.ts";
import { closingOf, loadUsage, openPeriodRef, type Terms } from "../closing/load.ts";
import { isNotInvoiceable } from "../issuing/cannot-invoice.ts";
import { computeFigures, type Figure } from "../issuing/figures.ts";
import { readMoney } from "../issuing/load-money.ts";
import type { Act } from "../issuing/request.ts";
import { invoicesOf } from "./grouped.ts";

export type Estimate = {
  readonly currency: string;
  readonly issuing_date: string;
  readonly total_cents: number;
  readonly tax_cents: number;
  /** How many other subscriptions are on the invoice. */
  readonly others: number;
  /** What is on it beside the base fee and usage: flat fees, a minimum. */
  readonly fixed: readonly FeeDraft[];
};

/**
 * Estimates by subscription, without those that will be invoiced nothing, and those whose invoice
 * cannot be made until somebody mends them. Needs a snapshot.
 */
export async function estimateInvoices(
  db: Queryable,
  settings: ProjectSettings,
  customer: Customer,
  batch: readonly SubscriptionRow[],
  terms: Terms,
  now: Date,
): Promise<Map<string, Estimate>> {
  const open = batch.filter(({ status }) => status === "active" || status === "suspended");
  if (open.length === 0) return new Map();
  const usage = await loadUsage(db, settings.id, open, terms);
  const acts: Act[] = [];
  for (const subscription of open.toSorted(asClosed)) {
    const next = subscription.current_period_next;
    const end = endOf(subscription);
    // Usage sent ahead of an end within the period is in the sums, and will not be billed.
    const period = openPeriodRef(subscription);
    if (end < next && (await usageSums.hasUsageFrom(db, settings.id, period, end))) continue;
    const closing = closingOf(terms, usage, subscription, end, settings, end > now ? end : now);
    acts.push(...billable(() => actsOf(closing, subscription, customer)));
  }
  const mode = customer.invoice_grouping ?? settings.invoice_grouping;
  const requests = invoicesOf(acts, mode);
  if (requests.length === 0) return new Map();
  const money = await readMoney(db, settings.id, [customer.id], now);
  const figures = await computeFigures(db, settings.id, requests, money);
  return bySubscription(figures);
}

/** The invoices that each is on: its own, or one with others. */
function bySubscription(figures: readonly Figure[]): Map<string, Estimate> {
  const owned = figures.flatMap((figure) => {
    const ids = new Set(figure.request.parts.flatMap(({ subscription }) => subscription?.id ?? []));
    return [...ids].map((id) => ({ id, figure, others: ids.size - 1 }));
  });
  return new Map([...groupBy(owned, ({ id }) => id)].map(([id, own]) => [id, estimateOf(id, own)]));
}

/** What the period that ends bills, and what is paid at the start of the next. */
function actsOf(
  closing: Closing,
  subscription: SubscriptionRow,
  { id, external_id, name, email }: Customer,
): Act[] {
  const customer = {
    customer_id: id,
    customer_external_id: external_id,
    customer_name: name,
    customer_email: email,
  };
  const closed = closePeriod(closing);
  const { end } = closing;
  const isLast = subscription.ends_at !== null && subscription.ends_at <= end;
  const opened = isLast ? undefined : openNext(closing);
  const named = { ...subscription, ...customer, plan_code: closed.list.plan_code };
  return endingActs(named, { end, closed, opened });
}

/** What `work` asks for; nothing where no invoice can be made. */
function billable(work: () => Act[]): Act[] {
  try {
    return work();
  } catch (error) {
    if (isNotInvoiceable(error)) return [];
    throw error;
  }
}

function endOf({ current_period_next: next, ends_at }: SubscriptionRow): Date {
  return ends_at !== null && ends_at < next ? ends_at : next;
}

/** Orders subscriptions as a close takes them: a coupon goes to the first. */
function asClosed(a: SubscriptionRow, b: SubscriptionRow): number {
  return endOf(a).getTime() - endOf(b).getTime() || (a.id < b.id ? -1 : 1);
}

type Owned = { readonly figure: Figure; readonly others: number };

function estimateOf(id: string, owned: readonly Owned[]): Estimate {
  const figures = owned.map(({ figure }) => figure);
  const drafts = figures.map(({ request }) => request.draft);
  const parts = figures.flatMap(({ request }) => request.parts);
  const own = parts.filter(({ subscription }) => subscription?.id === id);
  return {
    currency: drafts[0]?.currency ?? "",
    issuing_date: drafts[0]?.issuing_date ?? "",
    total_cents: sumCents(figures.map(({ amounts }) => amounts.total_cents)),
    tax_cents: sumCents(figures.map(({ amounts }) => amounts.tax_cents)),
    others: Math.max(...owned.map(({ others }) => others)),
    fixed: own.flatMap(({ draft }) => draft.fees.filter(isFixed)),
  };
}

function isFixed({ fee_type, billable_metric_code }: FeeDraft): boolean {
  return fee_type === "minimum" || (fee_type === "charge" && billable_metric_code === null);
}
