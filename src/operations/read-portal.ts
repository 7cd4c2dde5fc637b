// What a customer sees of its own billing: subscriptions with the usage so far, invoices, payments.

import { unitsOf } from "../domain/aggregation.ts";
import { versionNo } from "../domain/closing.ts";
import { decimal, formatDecimal, max, ZERO } from "../domain/decimal.ts";
import { maskedEmail } from "../domain/email-mask.ts";
import { groupBy } from "../domain/group-by.ts";
import { isLive } from "../domain/lifecycle.ts";
import { usageAmount } from "../domain/money.ts";
import { shownEnd } from "../domain/periods.ts";
import type { Invoice } from "../schema/invoices.ts";
import type { Portal, PortalPage } from "../schema/portal.ts";
import * as credits from "../store/credits.ts";
import * as customers from "../store/customers.ts";
import { matchesCustomer } from "../store/customers.ts";
import type { Queryable } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import * as plans from "../store/plans.ts";
import * as portal from "../store/portal.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId } from "../store/tenants.ts";

export const PORTAL_ROWS_MAX = 50;
const NEWEST = { limit: PORTAL_ROWS_MAX, offset: 0, count: false };

/** Needs a snapshot, so that everything is of one instant. */
export async function readPortal(
  db: Queryable,
  project: ProjectId,
  customer_id: string,
  now: Date,
): Promise<{ portal: Portal; page: PortalPage; drops: portal.Drops } | undefined> {
  const drops = await portal.countDrops(db, project, customer_id);
  const customer = await customers.get(db, project, customer_id);
  if (customer === undefined) return undefined;
  const mine = await subscriptions.list(db, project, { customer_id }, NEWEST);
  const shown = await withUsage(db, project, mine.rows);
  const filter = { customer: matchesCustomer(project, customer_id) };
  const { rows: bills } = await invoices.list(db, project, filter, NEWEST);
  const payments = await portal.listPayments(db, project, customer_id, PORTAL_ROWS_MAX);
  const due = await portal.listDue(db, project, customer_id);
  const balances = await credits.list(db, project, customer_id);

  const { id, short_id, name, currency } = customer;
  const open = due.find((sum) => sum.currency === currency);
  return {
    portal: {
      customer: { id, short_id, name, email: maskedEmail(customer.email), currency },
      subscriptions: shown.map(({ subscription }) => subscription),
      invoices: bills.map(shownInvoice),
      payments,
      // Spec gap: the totals are of the customer's currency; the page adds those of others.
      totals: {
        outstanding_cents: open?.outstanding_cents ?? 0,
        overdue_cents: open?.overdue_cents ?? 0,
        currency,
      },
      generated_at: now,
    },
    page: {
      days: Object.assign({}, ...shown.map(({ days }) => days)) as PortalPage["days"],
      due,
      credit: balances.map(({ currency, balance_cents }) => ({ currency, balance_cents })),
    },
    drops,
  };
}

type Shown = { subscription: Portal["subscriptions"][number]; days: PortalPage["days"] };

/** The live ones first, each with what its open period has used so far. */
async function withUsage(
  db: Queryable,
  project: ProjectId,
  rows: readonly subscriptions.SubscriptionRow[],
): Promise<Shown[]> {
  if (rows.length === 0) return [];
  const ids = [...new Set(rows.map((row) => row.plan_id))];
  const versions = groupBy(
    await plans.listVersions(db, project, ids),
    (version) => version.plan_id,
  );
  const planNames = nameMap(await portal.listPlanNames(db, project, ids));
  const metricIds = [...versions.values()]
    .flat()
    .flatMap(({ charges }) =>
      charges.flatMap(({ metric_id }) => (metric_id === null ? [] : [metric_id])),
    );
  const metricNames = nameMap(await portal.listMetricNames(db, project, metricIds));
  const live = rows.filter(({ status }) => isLive(status));
  const periods = live.map(({ id, period_no }) => ({ subscription_id: id, period_no }));
  const days = groupBy(await portal.listDays(db, project, periods), (day) => day.subscription_id);
  return [...live, ...rows.filter(({ status }) => !isLive(status))].map((row) => {
    const version = versionNo(versions.get(row.plan_id) ?? [], row.plan_version);
    const name = planNames.get(row.plan_id) ?? version.plan_code;
    const names = { plan: name, metrics: metricNames };
    return shownSubscription(row, version, names, days.get(row.id) ?? []);
  });
}

function shownSubscription(
  row: subscriptions.SubscriptionRow,
  version: plans.VersionRow,
  names: { plan: string; metrics: ReadonlyMap<string, string> },
  days: readonly portal.DayRow[],
): Shown {
  const byMetric = groupBy(days, (day) => day.metric_id);
  const shownDays: Record<string, PortalPage["days"][string]> = {};
  const usage = version.charges.flatMap((charge) => {
    const { metric_id, metric_code, aggregation_type, rate } = charge;
    if (metric_id === null || metric_code === null || rate === null) return [];
    if (aggregation_type === null || !isLive(row.status)) return [];
    const used = byMetric.get(metric_id) ?? [];
    const units = max(unitsOf(aggregation_type, used), ZERO);
    shownDays[`${row.id} ${metric_code}`] = used.map((day) => ({
      date: day.day,
      units: formatDecimal(unitsOf(aggregation_type, [day])),
    }));
    return [
      {
        code: metric_code,
        name: names.metrics.get(metric_id) ?? metric_code,
        units: formatDecimal(units),
        amount_cents: usageAmount(units, decimal(rate), version.currency).amount_cents,
      },
    ];
  });
  return {
    subscription: {
      id: row.id,
      external_id: row.external_id,
      status: row.status,
      plan: {
        code: version.plan_code,
        name: names.plan,
        interval: version.interval,
        amount_cents: version.amount_cents,
        amount_currency: version.currency,
      },
      current_period_start: row.current_period_start,
      current_period_end: shownEnd(row.current_period_next),
      usage,
    },
    days: shownDays,
  };
}

/** Field by field, so that a field that is added to invoices is not made public by itself. */
function shownInvoice(invoice: Invoice): Portal["invoices"][number] {
  return {
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    payment_status: invoice.payment_status,
    invoice_type: invoice.invoice_type,
    currency: invoice.currency,
    total_cents: invoice.total_cents,
    credit_applied_cents: invoice.credit_applied_cents,
    amount_paid_cents: invoice.amount_paid_cents,
    amount_due_cents: invoice.amount_due_cents,
    issuing_date: invoice.issuing_date,
    due_date: invoice.due_date,
    period_start: invoice.period_start,
    period_end: invoice.period_end,
  };
}

function nameMap(rows: readonly { id: string; name: string }[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ id, name }) => [id, name]));
}
