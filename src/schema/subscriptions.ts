// Subscriptions: a customer on a plan, period by period.

import Type, { type Static } from "typebox";
import {
  AmountCents,
  AT_LEAST_ONE,
  CalendarDate,
  Cents,
  Currency,
  FreeObject,
  Metadata,
  Nullable,
  OneOf,
  Reference,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";
import {
  ASKED_STATUSES,
  BILLING_TIMES,
  CHANGE_TIMES,
  SUBSCRIPTION_STATUSES,
  TRIAL_DAYS_MAX,
} from "./enums.ts";
import { CHARGE_MODELS, CHARGES_MAX, ChargeInput } from "./plans.ts";

export type AskedStatus = (typeof ASKED_STATUSES)[number];
export type SubscriptionStatus = (typeof SUBSCRIPTION_STATUSES)[number];
export type BillingTime = (typeof BILLING_TIMES)[number];

/** Prices of one subscription, in place of the plan's. */
export const Overrides = Type.Object(
  {
    amount_cents: Type.Optional(AmountCents),
    minimum_cents: Type.Optional(AmountCents),
    charges: Type.Optional(
      Type.Array(ChargeInput, { maxItems: CHARGES_MAX, description: "The whole set." }),
    ),
  },
  { title: "Overrides", description: "What it names replaces the plan's." },
);
export type Overrides = Static<typeof Overrides>;

export const NullableOverrides = Type.Unsafe<Overrides | null>({
  ...Overrides,
  type: ["object", "null"],
});

export const Subscription = Type.Object(
  {
    id: Uuid,
    external_id: Type.String(),
    customer_id: Uuid,
    customer_external_id: Type.String({ description: "The customer's external_id." }),
    plan_id: Uuid,
    plan_code: Type.String({ description: "The plan's code." }),
    status: OneOf(SUBSCRIPTION_STATUSES),
    billing_time: OneOf(BILLING_TIMES),
    anchor_date: Nullable(
      Type.String({ ...CalendarDate, description: "anniversary: periods are counted from it." }),
    ),
    properties: Type.String({ description: "The properties as a JSON-encoded string." }),
    started_at: Timestamp,
    current_period_start: Timestamp,
    current_period_end: Timestamp,
    trial_ends_at: Nullable(
      Type.Unsafe<Date>({
        ...Timestamp,
        description: "Up to here a first period that is billed nothing; kept afterwards.",
      }),
    ),
    ends_at: Nullable(Type.Unsafe<Date>({ ...Timestamp, description: "It will terminate then." })),
    scheduled_plan_id: Nullable(
      Type.String({ ...Uuid, description: "The plan from the next period on." }),
    ),
    overrides: Type.Unsafe<Record<string, unknown> | null>({
      type: ["object", "null"],
      additionalProperties: true,
      description: "Its own prices, in place of the plan's.",
    }),
    metadata: Type.Unsafe<Record<string, string>>({
      type: "object",
      additionalProperties: { type: "string" },
    }),
    terminated_at: Nullable(Timestamp),
    created_at: Timestamp,
    billing_error: Nullable(
      Type.String({ description: "Why the last close of a period failed; null when all is well." }),
    ),
  },
  { title: "Subscription" },
);
export type Subscription = Static<typeof Subscription>;

const trialDays = (description: string) =>
  Type.Integer({ minimum: 0, maximum: TRIAL_DAYS_MAX, description });
const EndsAt = Type.String({ ...TimestampInput, description: "Terminates it then; null: never." });

export const SubscriptionCreate = Type.Object({
  external_id: Type.Optional(Reference),
  customer_id: Uuid,
  plan_id: Uuid,
  properties: Type.Optional(FreeObject),
  billing_time: Type.Optional(
    OneOf(BILLING_TIMES, "Periods of the calendar (default), or from a date of its own."),
  ),
  anchor_date: Type.Optional(
    Nullable(
      Type.String({
        ...CalendarDate,
        description:
          "anniversary: the date that periods are counted from. Default: the first paid day.",
      }),
    ),
  ),
  starts_at: Type.Optional(
    Nullable(
      Type.String({
        ...TimestampInput,
        description: "Later: pending until then. Earlier: within the period that is open.",
      }),
    ),
  ),
  trial_days: Type.Optional(Nullable(trialDays("In place of the plan's."))),
  ends_at: Type.Optional(Nullable(EndsAt)),
  overrides: Type.Optional(NullableOverrides),
  metadata: Type.Optional(Metadata),
});
export type SubscriptionCreate = Static<typeof SubscriptionCreate>;

const Unbilled = OneOf(
  ["drop"],
  "With an end: what cannot be billed of periods that have ended, and of this one, is given up.",
);

export const SubscriptionPatch = Type.Object(
  {
    properties: Type.Optional(FreeObject),
    status: Type.Optional(OneOf(ASKED_STATUSES)),
    trial_days: Type.Optional(
      trialDays("In a trial: its length from the start. An end that has passed means now."),
    ),
    ends_at: Type.Optional(Nullable(EndsAt)),
    plan_id: Type.Optional(Uuid),
    change_at: Type.Optional(
      OneOf(CHANGE_TIMES, "When plan_id counts: now (default) or from the next period on."),
    ),
    overrides: Type.Optional(NullableOverrides),
    unbilled: Type.Optional(Unbilled),
    metadata: Type.Optional(Metadata),
  },
  AT_LEAST_ONE,
);
export type SubscriptionPatch = Static<typeof SubscriptionPatch>;

export const Terminate = Type.Object({
  invoice: Type.Optional(OneOf(["create", "skip"], "skip ends it without a final invoice.")),
  unbilled: Type.Optional(Unbilled),
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
        name: Type.String({ description: "As on documents: the charge's, else the metric's." }),
        billable_metric_code: Type.String(),
        units: Type.String(),
        amount_cents: Cents,
        rate: Nullable(Type.String({ description: "Null without a single price of a unit." })),
        charge_model: OneOf(CHARGE_MODELS),
        properties: Type.Unsafe<Record<string, unknown>>({
          ...FreeObject,
          description: "As on a fee: how the amount comes about.",
        }),
        dimensions: Type.Unsafe<Record<string, string | null> | null>({
          type: ["object", "null"],
          additionalProperties: { type: ["string", "null"] },
          description: "With `prices`: whose usage the line is. Null where a charge has none.",
        }),
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
