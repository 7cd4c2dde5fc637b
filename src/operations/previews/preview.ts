// The invoices that an end of the open period would make, now or at its end, with a change of plan
// if one is asked about. Writes nothing.

import { type Closed, type Closing, closePeriod } from "../../domain/closing.ts";
import { justAfter } from "../../domain/dates.ts";
import type { InvoiceDraft } from "../../domain/invoicing.ts";
import { hasEnded } from "../../domain/lifecycle.ts";
import { type Opened, openNext } from "../../domain/opening.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoicePreviewRequest } from "../../schema/invoices.ts";
import * as plans from "../../store/catalog/plans.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageSums from "../../store/usage/sums.ts";
import { withNewOverride } from "../catalog/override-prices.ts";
import { reading } from "../catalog/resolve-charges.ts";
import { closingOf, loadTerms, loadUsage, openPeriodRef } from "../closing/load.ts";
import { separately } from "../issuing/group-acts.ts";
import { actOf, actsOf, type InvoiceRequest, joined } from "../issuing/request.ts";
import { checkChange } from "../subscriptions/change-plan.ts";
import { shownPreviews } from "./shown.ts";

export async function previewInvoice(
  db: Queryable,
  settings: ProjectSettings,
  request: InvoicePreviewRequest,
  now: Date,
) {
  const project = settings.id;
  const stored = await previewed(db, project, request);
  const subscription = withProperties(stored, request);
  const to = await planAskedFor(db, project, subscription, request);
  const asked = await closingAsked(db, settings, subscription, request, to?.id, now);
  const closing = withFormer(asked, stored.properties, now);
  const changed =
    to === undefined ? closing : await withPlan(db, project, closing, to, request, now);
  const closed = closePeriod(changed);
  const opened = opensNext(changed, request, subscription, to) ? openNext(changed) : undefined;
  const requests = endingRequests(changed, subscription, closed, opened);
  if (to !== undefined && opened !== undefined) {
    const { period } = opened;
    const following = closeOf(changed, opened, closed.levels.end);
    const why = { reason: "period", period_no: changed.subscription.period_no + 1 } as const;
    const named = { ...subscription, plan_code: opened.list.plan_code };
    if (following !== undefined) {
      requests.push(joined(actOf(named, following, { ...why, due_at: period.next }), []));
    }
  }
  const [invoice_preview, ...next] = await shownPreviews(db, project, requests, now);
  if (invoice_preview === undefined) throw new Error("A preview always has a draft.");
  return to === undefined ? { invoice_preview } : { invoice_preview, next_invoice_previews: next };
}

/** Whether the preview has what follows: not where the subscription ends, as at the close. */
function opensNext(
  { end, subscription: { ends_at } }: Closing,
  { at }: InvoicePreviewRequest,
  { invoice_grouping }: subscriptions.BilledSubscription,
  to: plans.PlanRow | undefined,
): boolean {
  if (ends_at !== null && ends_at <= end) return false;
  return to !== undefined || (at === "period_end" && invoice_grouping !== "separate");
}

/** The close, also where it bills nothing, and the start of what follows, grouped as by a close. */
function endingRequests(
  { end: due_at, subscription: { period_no, in_trial } }: Closing,
  subscription: subscriptions.BilledSubscription,
  { list, draft }: Closed,
  opened: Opened | undefined,
): InvoiceRequest[] {
  if (draft === undefined) throw new Error("A period that is previewed is billed.");
  const why = { reason: "period", period_no, due_at } as const;
  const close = actOf({ ...subscription, plan_code: list.plan_code }, draft, why);
  if (opened === undefined) return [joined(close, [])];
  const named = { ...subscription, plan_code: opened.list.plan_code };
  const reason = in_trial ? "start" : "advance";
  const starts = actsOf(named, opened.draft, { reason, period_no: period_no + 1, due_at });
  if (subscription.invoice_grouping === "separate") {
    return [joined(close, []), ...separately(starts)];
  }
  const [first = close, ...others] = [close, ...starts].filter(
    ({ draft }) => draft.fees.length > 0,
  );
  return [joined(first, others)];
}

async function previewed(
  db: Queryable,
  project: ProjectId,
  request: InvoicePreviewRequest,
): Promise<subscriptions.BilledSubscription> {
  const found = await subscriptions.getBilled(db, project, request.subscription_id);
  if (found === undefined) {
    throw refuse("not_found", "subscription_id: no subscription is known by it.");
  }
  if (found.status === "pending") {
    throw refuse("not_started", "subscription_id: the subscription has not started.");
  }
  if (hasEnded(found.status)) {
    throw refuse(
      "not_found",
      "subscription_id: the subscription has ended and has no open period.",
    );
  }
  return found;
}

/**
 * The subscription with the properties that are asked about, as a PATCH would change them: at once,
 * unless the plan changes now, because the period that ends then keeps the former ones.
 */
function withProperties(
  stored: subscriptions.BilledSubscription,
  request: InvoicePreviewRequest,
): subscriptions.BilledSubscription {
  const isOther = request.plan_id !== undefined && request.plan_id.toLowerCase() !== stored.plan_id;
  const isNow = isOther && request.at !== "period_end";
  if (request.properties === undefined || (isNow && !stored.in_trial)) return stored;
  return { ...stored, properties: { ...stored.properties, ...request.properties } };
}

/** Quantities over time count the stored ones until now, also where others replace them. */
function withFormer(
  closing: Closing,
  properties: subscriptions.BilledSubscription["properties"],
  now: Date,
): Closing {
  const { former, present } = closing.quantities;
  return { ...closing, quantities: { former: [...former, { until: now, properties }], present } };
}

/** The plan that is asked about; undefined without a change of plan. */
async function planAskedFor(
  db: Queryable,
  project: ProjectId,
  { plan_id }: subscriptions.BilledSubscription,
  request: InvoicePreviewRequest,
): Promise<plans.PlanRow | undefined> {
  const asked = request.plan_id?.toLowerCase();
  if (asked === undefined || asked === plan_id) return undefined;
  const plan = await plans.get(db, project, asked);
  if (plan === undefined) throw notFound("plan", { field: "plan_id" });
  if (plan.archived_at !== null) throw refuse("plan_archived", "plan_id: the plan is archived.");
  return plan;
}

async function closingAsked(
  db: Queryable,
  settings: ProjectSettings,
  subscription: subscriptions.BilledSubscription,
  { at = "now" }: InvoicePreviewRequest,
  plan_id: string | undefined,
  now: Date,
): Promise<Closing> {
  const project = settings.id;
  const plan_ids = plan_id === undefined ? [] : [plan_id];
  const terms = await loadTerms(db, project, [subscription], plan_ids);
  const usage = await loadUsage(db, project, [subscription], terms);
  const { current_period_next: next, ends_at } = subscription;
  const over = ends_at !== null && ends_at < next ? ends_at : next;
  // A change of plan ends no trial: what is billed first by the new plan comes when that ends.
  const isKept = subscription.in_trial && plan_id !== undefined;
  const isOver = at === "period_end" || over <= now || isKept;
  const end = isOver ? over : now;
  const issued = end > now ? end : now;
  const closing = closingOf(terms, usage, subscription, end, settings, issued);
  const period = openPeriodRef(subscription);
  // Usage sent ahead of now is in the sums already, and an end now would not bill it. It would bill
  // usage of its own instant, unless a new plan has that.
  const from = isOver || plan_id !== undefined ? end : justAfter(end);
  const ahead = end < next && (await usageSums.hasUsageFrom(db, project, period, from));
  if (!ahead) return closing;
  return { ...closing, usage: await usageSums.totalsBefore(db, project, period, from) };
}

/** The closing with a change of plan, now or at the end of the period. */
async function withPlan(
  db: Queryable,
  project: ProjectId,
  closing: Closing,
  plan: plans.PlanRow,
  request: InvoicePreviewRequest,
  now: Date,
): Promise<Closing> {
  const subscription = closing.subscription as subscriptions.BilledSubscription;
  const properties = { ...subscription.properties, ...request.properties };
  const wanted = { plan, properties, overrides: request.overrides };
  const { override } = await checkChange(db, project, reading(db, project), subscription, wanted);
  const of = { plan_id: plan.id, effective_at: now };
  const lists = withNewOverride(closing.lists, of, override);
  const isNow = request.at !== "period_end" && !subscription.in_trial;
  if (isNow) return { ...closing, lists, change_to: plan.id, next_properties: properties };
  return {
    ...closing,
    lists,
    next_properties: properties,
    subscription: { ...subscription, scheduled_plan_id: plan.id },
  };
}

/** The close of the period that follows, without further usage. */
function closeOf(
  closing: Closing,
  opened: Opened,
  levels: Closing["subscription"]["levels"],
): InvoiceDraft | undefined {
  const { subscription } = closing;
  const properties = closing.next_properties ?? subscription.properties;
  const { ends_at } = subscription;
  const { next } = opened.period;
  const end = ends_at !== null && ends_at < next ? ends_at : next;
  const { change_to: _change, ...rest } = closing;
  const following: Closing = {
    ...rest,
    subscription: {
      ...subscription,
      plan_id: opened.list.plan_id,
      plan_version: opened.list.version,
      override_no: opened.override_no,
      anchor_date: opened.anchor_date,
      period_no: subscription.period_no + 1,
      current_period_start: opened.period.start,
      current_period_next: next,
      in_trial: false,
      scheduled_plan_id: null,
      advance: opened.advance,
      properties,
      levels,
    },
    end,
    usage: [],
    late: [],
    base_invoice: null,
    quantities: { former: [], present: properties },
    now: end,
  };
  return closePeriod(following).draft;
}
