// What a customer sees of its own billing: subscriptions with the usage so far, invoices,
// payments, credit notes and wallets.

import { maskedEmail } from "../../domain/email-mask.ts";
import { hasEnded } from "../../domain/lifecycle.ts";
import { shownEnd } from "../../domain/periods.ts";
import { listOf } from "../../domain/price-lists.ts";
import type { ProjectId } from "../../ids.ts";
import type { Customer } from "../../schema/customers.ts";
import type { Portal, PortalPage } from "../../schema/portal.ts";
import * as customers from "../../store/customers/customers.ts";
import { matchesCustomer } from "../../store/customers/customers.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as wallets from "../../store/money/wallets.ts";
import * as figures from "../../store/portal/figures.ts";
import { countDrops, type Drops } from "../../store/portal/views.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import { getSettingsById } from "../../store/tenants/tenants.ts";
import { loadTerms, type Terms } from "../closing/load.ts";
import { type ChargeUsage, chargesUsed } from "../closing/read-usage.ts";
import { shownInvoice } from "../invoices/shown.ts";
import { runningOf, shownWallet } from "../money/read-wallets.ts";

export const PORTAL_ROWS_MAX = 50;
const NEWEST = { limit: PORTAL_ROWS_MAX, offset: 0, count: false };

/** The view, and what the page is made of beside it. */
export type PortalFound = {
  readonly portal: Portal;
  readonly drops: Drops;
  /** Whether time alone changes what it says. */
  readonly moves: boolean;
  readonly customer: Customer;
  readonly subscriptions: readonly subscriptions.SubscriptionRow[];
  /** Undefined without a subscription. */
  readonly terms: Terms | undefined;
  readonly page: Omit<PortalPage, "next" | "open">;
};

/** Needs a snapshot, so that everything is of one instant. */
export async function readPortal(
  db: Queryable,
  project: ProjectId,
  customer_id: string,
  now: Date,
): Promise<PortalFound | undefined> {
  const drops = await countDrops(db, project, customer_id);
  const customer = await customers.get(db, project, customer_id);
  if (customer === undefined) return undefined;
  const { id, short_id, name, currency } = customer;
  const mine = await subscriptions.list(db, project, { customer_id }, NEWEST);
  const terms = mine.rows.length === 0 ? undefined : await loadTerms(db, project, mine.rows);
  const shown = terms === undefined ? [] : await withUsage(db, project, mine.rows, terms, now);
  const filter = { customer: matchesCustomer(project, customer_id) };
  const { rows: bills } = await invoices.list(db, project, filter, NEWEST);
  const payments = await figures.listPayments(db, project, customer_id, NEWEST);
  const due = await figures.listDue(db, project, customer_id);
  const { rows: notes } = await creditNotes.list(db, project, { customer_id: id }, NEWEST);
  const money = await loadWallets(db, project, customer_id, now);

  const open = due.find((sum) => sum.currency === currency);
  return {
    portal: {
      customer: { id, short_id, name, email: maskedEmail(customer.email), currency },
      subscriptions: shown.map(({ subscription }) => subscription),
      invoices: bills.map(portalInvoice),
      payments: payments.rows.map(portalPayment),
      credit_notes: notes.map(portalCreditNote),
      wallets: money.wallets,
      // Spec gap: the totals are of the customer's currency, those of others stand beside them.
      totals: {
        outstanding_cents: open?.outstanding_cents ?? 0,
        overdue_cents: open?.overdue_cents ?? 0,
        currency,
        by_currency: due,
      },
      generated_at: now,
    },
    drops,
    moves: terms !== undefined && mine.rows.some((row) => isMoving(row, terms)),
    customer,
    subscriptions: mine.rows,
    terms,
    page: {
      days: Object.assign({}, ...shown.map(({ days }) => days)) as PortalPage["days"],
      titles: Object.fromEntries(
        shown.map(({ subscription, titles }) => [subscription.id, titles]),
      ),
      due,
      prepaid: money.prepaid,
      has_more_subscriptions: mine.has_more,
    },
  };
}

/** Whether its usage grows without an event, as what is weighted by time does. */
function isMoving(row: subscriptions.SubscriptionRow, terms: Terms): boolean {
  if (hasEnded(row.status)) return false;
  const { charges } = listOf(terms.lists(row.id), row);
  return charges.some(({ aggregation_type }) => aggregation_type === "weighted_sum");
}

/** A customer without a wallet costs one statement. */
async function loadWallets(db: Queryable, project: ProjectId, customer_id: string, now: Date) {
  const rows = await wallets.list(db, project, customer_id);
  if (rows.length === 0) return { wallets: [], prepaid: [] };
  const settings = await getSettingsById(db, project);
  const running = await runningOf(db, settings, customer_id, now);
  const granted = await figures.listGranted(db, project, customer_id);
  const isPrepaid = ({ currency, low_balance_cents, top_up_cents }: wallets.WalletRow) =>
    granted.includes(currency) || low_balance_cents !== null || top_up_cents !== null;
  return {
    wallets: rows.map((row) => shownWallet(row, running.get(row.currency) ?? 0)),
    prepaid: rows.filter(isPrepaid).map(({ currency }) => currency),
  };
}

type Shown = {
  readonly subscription: Portal["subscriptions"][number];
  readonly days: PortalPage["days"];
  readonly titles: readonly string[];
};

/** Subscriptions with what their open periods have used so far; those that have ended come last. */
async function withUsage(
  db: Queryable,
  project: ProjectId,
  rows: readonly subscriptions.SubscriptionRow[],
  terms: Terms,
  now: Date,
): Promise<Shown[]> {
  const ongoing = rows.filter(({ status }) => !hasEnded(status));
  const used = await chargesUsed(db, project, ongoing, terms, now);
  return [...ongoing, ...rows.filter(({ status }) => hasEnded(status))].map((row) =>
    shownSubscription(row, terms, used.get(row.id) ?? []),
  );
}

function shownSubscription(
  row: subscriptions.SubscriptionRow,
  terms: Terms,
  used: readonly ChargeUsage[],
): Shown {
  const list = listOf(terms.lists(row.id), row);
  const shownDays: Record<string, PortalPage["days"][string]> = {};
  const usage = used.map(({ billable_metric_code: code, name, units, amount_cents, ...more }) => {
    const { dimensions, days } = more;
    const values = dimensions === null ? "" : ` ${JSON.stringify(Object.values(dimensions))}`;
    shownDays[`${row.id} ${code}${values}`] = days;
    return { code, name, units, amount_cents, ...(dimensions === null ? {} : { dimensions }) };
  });
  return {
    subscription: {
      id: row.id,
      external_id: row.external_id,
      status: row.status,
      plan: {
        code: list.plan_code,
        name: terms.names.plans.get(list.plan_id) ?? list.plan_code,
        interval: list.interval,
        amount_cents: list.amount_cents,
        amount_currency: list.currency,
      },
      current_period_start: row.current_period_start,
      current_period_end: shownEnd(row.current_period_next),
      trial_ends_at: row.trial_ends_at,
      ends_at: row.ends_at,
      usage,
    },
    days: shownDays,
    titles: used.map(({ title }) => title),
  };
}

/** Written field by field, so that a field that invoices get is not made public by itself. */
export function portalInvoice(row: invoices.ShownRow): Portal["invoices"][number] {
  const invoice = shownInvoice(row);
  return {
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    payment_status: invoice.payment_status,
    invoice_type: invoice.invoice_type,
    currency: invoice.currency,
    subtotal_cents: invoice.subtotal_cents,
    discount_cents: invoice.discount_cents,
    tax_cents: invoice.tax_cents,
    total_cents: invoice.total_cents,
    credit_applied_cents: invoice.credit_applied_cents,
    offset_cents: invoice.offset_cents,
    amount_paid_cents: invoice.amount_paid_cents,
    amount_due_cents: invoice.amount_due_cents,
    issuing_date: invoice.issuing_date,
    due_date: invoice.due_date,
    period_start: invoice.period_start,
    period_end: invoice.period_end,
    part_count: invoice.part_count,
    payment_url: invoice.payment_url,
  };
}

export function portalPayment(row: figures.ShownPayment): Portal["payments"][number] {
  return {
    id: row.id,
    invoice_number: row.invoice_number,
    amount_cents: row.amount_cents,
    refunded_cents: row.refunded_cents,
    currency: row.currency,
    provider: row.provider,
    status: row.status,
    paid_at: row.paid_at,
  };
}

/** Leaves out the memo, which may be the owner's own. */
export function portalCreditNote(row: creditNotes.CreditNoteRow): Portal["credit_notes"][number] {
  return {
    id: row.id,
    number: row.number,
    invoice_number: row.invoice_number,
    currency: row.currency,
    subtotal_cents: row.subtotal_cents,
    tax_cents: row.tax_cents,
    total_cents: row.total_cents,
    offset_cents: row.offset_cents,
    refund_cents: row.refund_cents,
    refunded_cents: row.refunded_cents,
    credit_cents: row.credit_cents,
    reason: row.reason,
    issuing_date: row.issuing_date,
  };
}
