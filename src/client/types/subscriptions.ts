// Generated from the OpenAPI document: the types of Subscriptions. Do not edit.

import type { Cents, Currency, Page, PageQuery } from "./common.ts";

export type Subscription = {
  readonly id: string;
  readonly external_id: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly status: "active" | "suspended" | "terminated" | "canceled";
  readonly billing_time: string;
  /** The properties as a JSON-encoded string. */
  readonly properties: string;
  readonly started_at: string;
  readonly current_period_start: string;
  readonly current_period_end: string;
  readonly terminated_at: string | null;
  readonly created_at: string;
  /** Why the last close of a period failed; null when all is well. */
  readonly billing_error: string | null;
};

export type CreateSubscriptionBody = {
  readonly external_id?: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly properties?: Readonly<Record<string, unknown>>;
};

export type ListSubscriptionsQuery = PageQuery & {
  readonly customer_id?: string | undefined;
  readonly plan_id?: string | undefined;
  readonly external_id?: string | undefined;
  readonly status?: "active" | "suspended" | "terminated" | "canceled" | undefined;
};

export type ListSubscriptionsReply = Page & { readonly subscriptions: readonly Subscription[] };

export type UpdateSubscriptionBody = {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly status?: "active" | "suspended" | "terminated" | "canceled";
};

export type SubscriptionUsage = {
  readonly subscription_id: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly currency: Currency;
  readonly charges: readonly {
    readonly charge_id: string;
    readonly billable_metric_code: string;
    readonly units: string;
    readonly amount_cents: Cents;
    readonly rate: string;
    readonly events: number;
    readonly days: readonly {
      readonly date: string;
      /** What this day alone would count. */
      readonly units: string;
    }[];
  }[];
  readonly amount_cents: Cents;
  readonly as_of: string;
};

export type TerminateSubscriptionBody = {
  /** skip ends it without a final invoice. */
  readonly invoice?: "create" | "skip";
};
