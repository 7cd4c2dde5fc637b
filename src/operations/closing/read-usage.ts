// What the open period of a subscription has used so far. Computed from the sums that will be
// billed, by the functions that will bill them.

import { unitsOf } from "../../domain/aggregation.ts";
import { levelsAtStart } from "../../domain/closing.ts";
import { formatDecimal } from "../../domain/decimal.ts";
import { valuesOf } from "../../domain/dimensions.ts";
import { lineTitle } from "../../domain/documents/lines.ts";
import { groupBy } from "../../domain/group-by.ts";
import { sumCents } from "../../domain/money.ts";
import { namesOf } from "../../domain/names.ts";
import { periodAt, shownEnd } from "../../domain/periods.ts";
import { listOf } from "../../domain/price-lists.ts";
import type { PricedCharge } from "../../domain/pricing.ts";
import { type Line, type Metered, usageLines } from "../../domain/usage-fees.ts";
import { notFound } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { SubscriptionUsage } from "../../schema/subscriptions.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import * as usageSums from "../../store/usage/sums.ts";
import { closingOf, loadTerms, loadUsage, openPeriodRef, type Terms, type Usage } from "./load.ts";

export type ChargeUsage = SubscriptionUsage["charges"][number] & {
  /** The name with the values of its dimensions, as documents have it. */
  readonly title: string;
};

export async function readUsage(
  db: Queryable,
  project: ProjectId,
  ref: string,
  now: Date,
): Promise<SubscriptionUsage> {
  const subscription = await subscriptions.get(db, project, ref);
  if (subscription === undefined) throw notFound("subscription");
  const terms = await loadTerms(db, project, [subscription]);
  const [charges = []] = (await chargesUsed(db, project, [subscription], terms, now)).values();
  const { currency } = listOf(terms.lists(subscription.id), subscription);
  return {
    subscription_id: subscription.id,
    period_start: subscription.current_period_start,
    period_end: shownEnd(subscription.current_period_next),
    currency,
    charges: charges.map(({ title: _title, ...charge }) => charge),
    amount_cents: sumCents(charges.map((charge) => charge.amount_cents)),
    as_of: now,
  };
}

/** By subscription: what each usage charge of its open period comes to, line by line. */
export async function chargesUsed(
  db: Queryable,
  project: ProjectId,
  batch: readonly subscriptions.SubscriptionRow[],
  terms: Terms,
  now: Date,
): Promise<Map<string, ChargeUsage[]>> {
  const days = groupBy(
    await usageSums.listDays(db, project, batch.map(openPeriodRef)),
    (day) => day.subscription_id,
  );
  // Late changes of a level have not reached the open period yet.
  const late: Usage =
    terms.late.size === 0 ? new Map() : await loadUsage(db, project, batch, terms);
  return new Map(
    batch.map((subscription) => {
      const used = days.get(subscription.id) ?? [];
      return [subscription.id, chargesOf(terms, late, subscription, used, now)];
    }),
  );
}

function chargesOf(
  terms: Terms,
  late: Usage,
  subscription: subscriptions.SubscriptionRow,
  used: readonly usageSums.UsageDayRow[],
  now: Date,
): ChargeUsage[] {
  const lists = terms.lists(subscription.id);
  const list = listOf(lists, subscription);
  const { current_period_start: start, current_period_next: next, in_trial } = subscription;
  const closing = closingOf(terms, late, subscription, next, { net_payment_days: 0 }, now);
  const full = periodAt(start, list.interval, subscription.anchor_date);
  const metered: Metered = {
    usage: used,
    levels: levelsAtStart(closing) ?? {},
    start,
    end: countedUntil(used, start, next, now),
    full_ms: full.next.getTime() - full.start.getTime(),
  };
  const names = namesOf(terms.names, list);
  return list.charges.flatMap((charge) =>
    charge.charge_model === "flat_fee"
      ? []
      : usageLines(charge, list, metered, names).map((line) =>
          chargeUsage(charge, line, used, in_trial),
        ),
  );
}

/** Until when a level is counted: now, or the last event that was sent ahead. */
function countedUntil(
  used: readonly usageSums.UsageDayRow[],
  start: Date,
  next: Date,
  now: Date,
): Date {
  const last = Math.max(
    now.getTime(),
    start.getTime(),
    ...used.map(({ last_at }) => last_at.getTime()),
  );
  return new Date(Math.min(last, next.getTime()));
}

function chargeUsage(
  charge: PricedCharge,
  { fee, combination }: Line,
  used: readonly usageSums.UsageDayRow[],
  in_trial: boolean,
): ChargeUsage {
  const { aggregation_type, charge_model, metric_code } = charge;
  if (aggregation_type === null || metric_code === null) throw new Error("A charge by usage.");
  const { properties } = fee;
  // The properties are not asked for them: `dimensions` may be a word of the caller's own there.
  const dimensions =
    combination === undefined ? null : valuesOf(charge.dimensions ?? [], combination);
  const own = used.filter(
    (day) =>
      day.metric_id === charge.metric_id &&
      (combination === undefined || day.combination === combination),
  );
  const byDay = groupBy(own, ({ day }) => day);
  return {
    charge_id: charge.id,
    billable_metric_code: metric_code,
    name: String(properties.name),
    title: lineTitle(String(properties.name), dimensions, charge.dimensions),
    units: fee.units,
    amount_cents: in_trial ? 0 : fee.amount_cents,
    rate: charge_model === "standard" ? String(properties.amount) : null,
    charge_model,
    properties,
    dimensions,
    events: own.reduce((events, day) => events + day.events, 0),
    days: [...byDay].map(([date, parts]) => ({
      date,
      units: formatDecimal(unitsOf(aggregation_type, parts)),
    })),
  };
}
