// What the log and the webhooks say about a subscription's periods, plan and end.

import { type Period, shownEnd } from "../../domain/periods.ts";
import type { EventType } from "../../schema/billing-events.ts";
import type { Webhook } from "../../schema/webhook-payloads.ts";
import type { BilledSubscription } from "../../store/subscriptions/subscriptions.ts";
import type { Fact } from "../emit.ts";

type SubscriptionState = Pick<
  BilledSubscription,
  | "id"
  | "external_id"
  | "plan_code"
  | "status"
  | "customer_id"
  | "customer_external_id"
  | "current_period_start"
  | "current_period_next"
>;

function dataOf(subscription: SubscriptionState) {
  const { id, external_id, plan_code, status, current_period_start } = subscription;
  const current_period_end = shownEnd(subscription.current_period_next);
  return {
    subscription: { id, external_id, plan_code, status, current_period_start, current_period_end },
    customer: { id: subscription.customer_id, external_id: subscription.customer_external_id },
  };
}

/** A fact that has one name, in the log and as a webhook. */
function factOf(
  subscription: SubscriptionState,
  payload: Fact["payload"],
  webhook: Extract<Webhook, { event: EventType }>,
): Fact {
  return { type: webhook.event, resource_id: subscription.id, payload, webhook };
}

export function started(subscription: SubscriptionState): Fact {
  const { external_id, current_period_start } = subscription;
  return factOf(
    subscription,
    { external_id, current_period_start },
    { event: "subscription.started", data: dataOf(subscription) },
  );
}

export function trialEnded(subscription: SubscriptionState, trial_ends_at: Date): Fact {
  const { external_id } = subscription;
  return factOf(
    subscription,
    { external_id, trial_ends_at },
    { event: "subscription.trial_ended", data: dataOf(subscription) },
  );
}

export function planChanged(subscription: SubscriptionState, previous_plan_code: string): Fact {
  const { external_id, plan_code } = subscription;
  return factOf(
    subscription,
    { external_id, plan_code, previous_plan_code },
    { event: "subscription.plan_changed", data: { ...dataOf(subscription), previous_plan_code } },
  );
}

/** The period of the subscription is over and cannot be billed, or it cannot be started. */
export function billingFailed(subscription: SubscriptionState, reason: string): Fact {
  const { external_id } = subscription;
  return factOf(
    subscription,
    { external_id, reason },
    { event: "subscription.billing_failed", data: { ...dataOf(subscription), reason } },
  );
}

/** A caller has given up a part of a period, or all of it, because it could not be billed. */
export function periodDropped(
  { id, external_id }: SubscriptionState,
  { start: period_start, next }: Period,
  dropped: "all" | "due_at_start",
  reason: string,
): Fact {
  const payload = { external_id, period_start, period_end: shownEnd(next), dropped, reason };
  return { type: "subscription.period_dropped", resource_id: id, payload };
}

/** `subscription` is as it is in the new period. */
export function periodRenewed(
  subscription: SubscriptionState,
  previous: { readonly start: Date; readonly end: Date },
): Fact {
  const { id, status, current_period_start, current_period_next } = subscription;
  const payload = { current_period_start, current_period_end: shownEnd(current_period_next) };
  // A suspended subscription renews without a webhook: only the log says that it changed.
  if (status !== "active") return { type: "subscription.updated", resource_id: id, payload };
  const previous_period = { start: previous.start, end: shownEnd(previous.end) };
  return factOf(subscription, payload, {
    event: "subscription.period_renewed",
    data: { ...dataOf(subscription), previous_period },
  });
}

/** The log tells a cancellation from other ends, the webhook says `terminated` for all. */
export function ended(
  subscription: SubscriptionState,
  from: SubscriptionState["status"],
  terminated_at: Date | null,
): Fact {
  const { id, external_id, status } = subscription;
  const payload = { external_id, from, ...(terminated_at === null ? {} : { terminated_at }) };
  const type = status === "canceled" ? "subscription.canceled" : "subscription.terminated";
  const webhook = { event: "subscription.terminated" as const, data: dataOf(subscription) };
  return { type, resource_id: id, payload, webhook };
}
