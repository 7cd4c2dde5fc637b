// A project's analytics: active subscriptions, MRR, what is due and what came in, at one instant.

import { DAY_MS } from "../../domain/dates.ts";
import { decimal } from "../../domain/decimal.ts";
import { toCents } from "../../domain/money.ts";
import { normalisedMonthly } from "../../domain/pricing.ts";
import type { Analytics } from "../../schema/analytics.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as analytics from "../../store/feeds/analytics.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";

const REVENUE_DAYS = 30;

/** Needs a snapshot, so that counts and totals agree. */
export async function readAnalytics(
  db: Queryable,
  settings: ProjectSettings,
  now: Date,
): Promise<Analytics> {
  const project = settings.id;
  const recurring = await analytics.recurring(db, project);
  const outstanding = await analytics.outstanding(db, project);
  const from = new Date(now.getTime() - REVENUE_DAYS * DAY_MS);
  const span = { from, to: now };
  const paid = await analytics.paid(db, project, span);
  const issued = await analytics.issued(db, project, span);
  const refunded = await analytics.refunded(db, project, span);
  const balances = await analytics.walletBalances(db, project);
  const top_plans = await analytics.topPlans(db, project);

  const currencies = new Set([settings.default_currency]);
  const money = [issued, refunded, balances].flat();
  for (const { currency } of [...recurring, ...outstanding, ...paid, ...money]) {
    currencies.add(currency);
  }
  const by_currency = [...currencies].sort().map((currency) => {
    const parts = recurring.filter((part) => part.currency === currency);
    const due = outstanding.find((sum) => sum.currency === currency);
    const revenue = paid.find((sum) => sum.currency === currency);
    const { net = "0", tax = "0" } = issued.find((sum) => sum.currency === currency) ?? {};
    const back = refunded.find((sum) => sum.currency === currency);
    const wallet = balances.find((sum) => sum.currency === currency);
    return {
      currency,
      mrr_cents: normalisedMonthly(
        parts.map(({ interval, cents }) => ({ interval, cents: decimal(cents) })),
      ),
      outstanding_invoice_count: due?.count ?? 0,
      outstanding_total_cents: toCents(BigInt(due?.cents ?? 0)),
      revenue_30d_cents: toCents(BigInt(revenue?.cents ?? 0)),
      payments_30d_count: revenue?.count ?? 0,
      net_revenue_30d_cents: toCents(BigInt(net)),
      tax_30d_cents: toCents(BigInt(tax)),
      refunds_30d_cents: toCents(BigInt(back?.cents ?? 0)),
      wallet_balance_cents: toCents(BigInt(wallet?.cents ?? 0)),
    };
  });
  const main = by_currency.find(({ currency }) => currency === settings.default_currency);
  if (main === undefined) throw new Error("The default currency is always among them.");
  return {
    billing_failed_count: await subscriptions.countFailed(db, project),
    active_subscriptions: recurring.reduce((sum, { count }) => sum + count, 0),
    ...main,
    top_plans,
    by_currency,
  };
}
