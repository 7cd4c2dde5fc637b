// Generated from the OpenAPI document: the types of Analytics. Do not edit.

import type { Cents, Currency } from "./common.ts";

export type Analytics = {
  readonly active_subscriptions: number;
  readonly mrr_cents: Cents;
  readonly outstanding_invoice_count: number;
  readonly outstanding_total_cents: Cents;
  readonly revenue_30d_cents: Cents;
  readonly payments_30d_count: number;
  readonly top_plans: readonly {
    readonly plan_code: string;
    readonly plan_name: string;
    readonly active_count: number;
  }[];
  readonly currency: Currency;
  readonly by_currency: readonly {
    readonly currency: Currency;
    readonly mrr_cents: Cents;
    readonly outstanding_invoice_count: number;
    readonly outstanding_total_cents: Cents;
    readonly revenue_30d_cents: Cents;
    readonly payments_30d_count: number;
  }[];
};
