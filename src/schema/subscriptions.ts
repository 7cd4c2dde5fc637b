// Subscriptions: a customer on a plan, period by period.

import Type, { type Static } from "typebox";
import {
  Cents,
  Currency,
  FreeObject,
  Nullable,
  OneOf,
  Reference,
  Timestamp,
  Uuid,
} from "./common.ts";

export const SUBSCRIPTION_STATUSES = ["active", "suspended", "terminated", "canceled"] as const;
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];

export const Subscription = Type.Object(
  {
    id: Uuid,
    external_id: Type.String(),
    customer_id: Uuid,
    plan_id: Uuid,
    status: OneOf(SUBSCRIPTION_STATUSES),
    billing_time: Type.String(),
    properties: Type.String({ description: "The properties as a JSON-encoded string." }),
    started_at: Timestamp,
    current_period_start: Timestamp,
    current_period_end: Timestamp,
    terminated_at: Nullable(Timestamp),
    created_at: Timestamp,
    billing_error: Nullable(
      Type.String({ description: "Why the last close of a period failed; null when all is well." }),
    ),
  },
  { title: "Subscription" },
);
export type Subscription = Static<typeof Subscription>;

export const SubscriptionCreate = Type.Object({
  external_id: Type.Optional(Reference),
  customer_id: Uuid,
  plan_id: Uuid,
  properties: Type.Optional(FreeObject),
});
export type SubscriptionCreate = Static<typeof SubscriptionCreate>;

export const SubscriptionPatch = Type.Object(
  {
    properties: Type.Optional(FreeObject),
    status: Type.Optional(OneOf(SUBSCRIPTION_STATUSES)),
  },
  { "x-at-least-one": true },
);
export type SubscriptionPatch = Static<typeof SubscriptionPatch>;

export const Terminate = Type.Object({
  invoice: Type.Optional(OneOf(["create", "skip"], "skip ends it without a final invoice.")),
});
export type Terminate = Static<typeof Terminate>;

export const SubscriptionUsage = Type.Object(
  {
    subscription_id: Uuid,
    period_start: Timestamp,
    period_end: Timestamp,
    currency: Currency,
    charges: Type.Array(
      Type.Object({
        charge_id: Uuid,
        billable_metric_code: Type.String(),
        units: Type.String(),
        amount_cents: Cents,
        rate: Type.String(),
        events: Type.Integer(),
        days: Type.Array(
          Type.Object({
            date: Type.String({ format: "date" }),
            units: Type.String({ description: "What this day alone would count." }),
          }),
        ),
      }),
    ),
    amount_cents: Cents,
    as_of: Timestamp,
  },
  { title: "SubscriptionUsage" },
);
export type SubscriptionUsage = Static<typeof SubscriptionUsage>;
