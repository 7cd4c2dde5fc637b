// What a running period comes to: the usage so far, and the invoice it would make. Computed from
// the sums that will be billed, by the functions that will bill them.

import { unitsOf } from "../domain/aggregation.ts";
import { closePeriod, versionNo } from "../domain/closing.ts";
import { decimal, formatDecimal } from "../domain/decimal.ts";
import { groupBy } from "../domain/group-by.ts";
import { applyCredit } from "../domain/invoicing.ts";
import { isLive } from "../domain/lifecycle.ts";
import { sumCents, usageAmount } from "../domain/money.ts";
import { shownEnd } from "../domain/periods.ts";
import { refuse } from "../errors.ts";
import type { SubscriptionUsage } from "../schema/subscriptions.ts";
import * as credits from "../store/credits.ts";
import type { Queryable } from "../store/db.ts";
import * as plans from "../store/plans.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId, ProjectSettings } from "../store/tenants.ts";
import * as usage from "../store/usage.ts";
import { closingOf, loadUnlocked } from "./close-periods.ts";

export async function readUsage(
  db: Queryable,
  project: ProjectId,
  ref: string,
  now: Date,
): Promise<SubscriptionUsage> {
  const subscription = await subscriptions.get(db, project, ref);
  if (subscription === undefined) throw refuse("not_found", "No subscription has this id.");
  const { id, plan_id, plan_version, period_no } = subscription;
  const version = versionNo(await plans.listVersions(db, project, [plan_id]), plan_version);
  const days = await usage.listDays(db, project, { subscription_id: id, period_no });
  const byMetric = groupBy(days, (day) => day.metric_id);
  const charges = version.charges.flatMap((charge) => {
    const { metric_id, metric_code, aggregation_type, rate } = charge;
    if (metric_id === null || metric_code === null || rate === null) return [];
    if (aggregation_type === null) return [];
    const used = byMetric.get(metric_id) ?? [];
    const raw = unitsOf(aggregation_type, used);
    const units = raw.digits < 0n ? decimal("0") : raw;
    return [
      {
        charge_id: charge.id,
        billable_metric_code: metric_code,
        units: formatDecimal(units),
        amount_cents: usageAmount(units, decimal(rate), version.currency).amount_cents,
        rate,
        events: used.reduce((events, day) => events + day.events, 0),
        days: used.map((day) => ({
          date: day.day,
          units: formatDecimal(unitsOf(aggregation_type, [day])),
        })),
      },
    ];
  });
  return {
    subscription_id: id,
    period_start: subscription.current_period_start,
    period_end: shownEnd(subscription.current_period_next),
    currency: version.currency,
    charges,
    amount_cents: sumCents(charges.map((charge) => charge.amount_cents)),
    as_of: now,
  };
}

/** What would be billed if the period ended now, or at its end with the usage of now. */
export async function previewInvoice(
  db: Queryable,
  settings: ProjectSettings,
  ref: string,
  at: "now" | "period_end",
  now: Date,
) {
  const project = settings.id;
  const subscription = await subscriptions.getBilled(db, project, ref);
  if (subscription === undefined) {
    throw refuse("not_found", "subscription_id: no subscription is known by it.");
  }
  if (!isLive(subscription.status)) {
    throw refuse(
      "not_found",
      "subscription_id: the subscription has ended and has no open period.",
    );
  }
  const load = await loadUnlocked(db, project, [subscription]);
  const isOver = at === "period_end" || subscription.current_period_next <= now;
  const end = isOver ? subscription.current_period_next : now;
  const issued = end > now ? end : now;
  const closing = closingOf(load, subscription, end, settings, issued);
  const period = { subscription_id: subscription.id, period_no: subscription.period_no };
  // Usage sent ahead of now is in the sums already; an end now would not bill it.
  const ahead = !isOver && (await usage.hasUsageFrom(db, project, period, end));
  const used = ahead ? await usage.totalsBefore(db, project, period, end) : closing.usage;
  const { draft } = closePeriod({ ...closing, usage: used, draft_anyway: true });
  if (draft === undefined) throw new Error("A preview always has a draft.");
  const balances = await credits.list(db, project, subscription.customer_id);
  const balance = balances.find(({ currency }) => currency === draft.currency)?.balance_cents ?? 0;
  const { credit_cents: _credit, ...shown } = draft;
  return {
    ...shown,
    subscription_id: subscription.id,
    ...applyCredit(draft.total_cents, balance),
    fees: draft.fees.map((fee) => ({ ...fee, amount_currency: draft.currency })),
  };
}
