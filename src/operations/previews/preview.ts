// The invoices that an end of the open period would make, now or at its end, with a change of plan
// if one is asked about. Writes nothing.

import { type Closing, closePeriod } from "../../domain/closing.ts";
import { justAfter } from "../../domain/dates.ts";
import { type InvoiceDraft, isInvoiced } from "../../domain/invoicing.ts";
import { hasEnded } from "../../domain/lifecycle.ts";
import { type Opened, openNext } from "../../domain/opening.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoicePreview, InvoicePreviewRequest } from "../../schema/invoices.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as parties from "../../store/customers/parties.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import * as usageSums from "../../store/usage/sums.ts";
import { withNewOverride } from "../catalog/override-prices.ts";
import { reading } from "../catalog/resolve-charges.ts";
import { closingOf, loadTerms, loadUsage, openPeriodRef } from "../closing/load.ts";
import {
  computeFigures,
  dueDateOf,
  type Figure,
  noteFor,
  shownCoupon,
} from "../issuing/figures.ts";
import { type Money, readMoney } from "../issuing/load-money.ts";
import { actOf, type InvoiceRequest, joined, type Why } from "../issuing/request.ts";
import { UNMOVED } from "../issuing/standing.ts";
import { checkChange } from "../subscriptions/change-plan.ts";

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
  const { draft, levels } = closePeriod(changed);
  const { ends_at, period_no, in_trial } = changed.subscription;
  const { end: due_at } = changed;
  const actFor = (draft: InvoiceDraft | undefined, why: Why) =>
    draft === undefined ? [] : [actOf(subscription, draft, why)];
  const acts = actFor(draft, { reason: "period", period_no, due_at });
  // Nothing follows where the subscription ends, as at the close.
  const isLast = ends_at !== null && ends_at <= changed.end;
  if (to !== undefined && !isLast) {
    const opened = openNext(changed);
    const next = { period_no: period_no + 1, due_at };
    const reason = in_trial ? "start" : "advance";
    if (isInvoiced([opened.draft])) acts.push(...actFor(opened.draft, { ...next, reason }));
    const following = closeOf(changed, opened, levels.end);
    acts.push(...actFor(following, { ...next, reason: "period", due_at: opened.period.next }));
  }
  const requests = acts.map((act) => joined(act, []));
  const [invoice_preview, ...next] = await shownPreviews(db, project, requests, now);
  if (invoice_preview === undefined) throw new Error("A preview always has a draft.");
  return to === undefined ? { invoice_preview } : { invoice_preview, next_invoice_previews: next };
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

/** Invoices as they would be shown. Each has the credit and coupons that those before it leave. */
export async function shownPreviews(
  db: Queryable,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  now: Date,
): Promise<InvoicePreview[]> {
  const customers = [...new Set(requests.map(({ customer }) => customer.id))];
  const money = await readMoney(db, project, customers, now);
  const figures = await computeFigures(db, project, requests, money);
  const both = await parties.listPresent(db, project, customers);
  return figures.map((figure) => {
    const { seller = {}, buyer = {} } = both.get(figure.request.customer.id) ?? {};
    return { ...shownFigure(figure, money), seller, buyer };
  });
}

function shownFigure(figure: Figure, money: Money): Omit<InvoicePreview, "seller" | "buyer"> {
  const { request, amounts, taken, taxes, credit_applied_cents } = figure;
  const { draft, subscription } = request;
  const { subtotal_cents, discount_cents, tax_cents, total_cents } = amounts;
  const { currency, issuing_date, period_start, period_end } = draft;
  return {
    subscription_id: subscription?.id ?? null,
    currency,
    subtotal_cents,
    discount_cents,
    tax_cents,
    total_cents,
    credit_applied_cents,
    ...UNMOVED,
    amount_due_cents: total_cents - credit_applied_cents,
    issuing_date,
    due_date: dueDateOf(request, money),
    period_start,
    period_end,
    fees: draft.fees.map(({ money: _money, ...fee }, i) => ({
      ...fee,
      properties: { ...fee.properties },
      amount_currency: currency,
      discount_cents: amounts.fees[i]?.discount_cents ?? 0,
      taxable_cents: amounts.fees[i]?.taxable_cents ?? fee.amount_cents,
      taxes: (taxes[i] ?? []).map(({ code, percent }) => ({ code, percent })),
    })),
    coupons: amounts.coupons.map(shownCoupon),
    taxes: [...amounts.taxes],
    credits: [...taken],
    tax_note: noteFor(figure, money),
  };
}
