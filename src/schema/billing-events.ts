// The log of what happened, to whom, by which token.

import Type, { type Static } from "typebox";
import { FreeObject, Nullable, Timestamp, Uuid } from "./common.ts";

export const BillingEvent = Type.Object(
  {
    id: Uuid,
    resource_type: Type.String(),
    resource_id: Uuid,
    event_type: Type.String(),
    actor_token_id: Nullable(Uuid),
    payload: FreeObject,
    created_at: Timestamp,
  },
  { title: "BillingEvent" },
);
export type BillingEvent = Static<typeof BillingEvent>;

/** Every event type of the log, by resource. */
export const EVENT_TYPES = [
  "token.created",
  "token.revoked",
  "organization.id_renewed",
  "customer.created",
  "customer.updated",
  "metric.created",
  "metric.updated",
  "metric.archived",
  "catalog_item.created",
  "catalog_item.updated",
  "catalog_item.archived",
  "plan.created",
  "plan.updated",
  "plan.archived",
  "charge.created",
  "add_on.created",
  "add_on.updated",
  "add_on.archived",
  "add_on.applied",
  "subscription.created",
  "subscription.updated",
  "subscription.started",
  "subscription.trial_ended",
  "subscription.plan_changed",
  "subscription.suspended",
  "subscription.resumed",
  "subscription.reactivated",
  "subscription.terminated",
  "subscription.canceled",
  "subscription.period_renewed",
  "subscription.set_aside",
  "invoice.created",
  "invoice.overdue",
  "invoice.paid",
  "invoice.voided",
  "payment.recorded",
  "webhook_endpoint.created",
  "webhook_endpoint.updated",
  "webhook_endpoint.deleted",
  "webhook_endpoint.disabled",
  "webhook.exhausted",
  "dunning.updated",
  "dunning.step_fired",
  "portal_cache.purged",
  "portal_link.created",
  "portal_link.revoked",
  "settings.updated",
  "clock.frozen",
  "clock.advanced",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
