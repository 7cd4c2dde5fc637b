// Generated from the OpenAPI document: the types of Portal. Do not edit.

import type { Cents, Currency } from "./common.ts";

export type Portal = {
  readonly customer: {
    readonly id: string;
    readonly short_id: string;
    readonly name: string;
    /** Masked: the first letter and the domain. */
    readonly email: string;
    readonly currency: Currency;
  };
  readonly subscriptions: readonly {
    readonly id: string;
    readonly external_id: string;
    readonly status: "active" | "suspended" | "terminated" | "canceled";
    readonly plan: {
      readonly code: string;
      readonly name: string;
      readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
      readonly amount_cents: Cents;
      readonly amount_currency: Currency;
    };
    readonly current_period_start: string;
    readonly current_period_end: string;
    readonly usage: readonly {
      readonly code: string;
      readonly name: string;
      readonly units: string;
      readonly amount_cents: Cents;
    }[];
  }[];
  readonly invoices: readonly {
    readonly id: string;
    readonly number: string;
    readonly status: "outstanding" | "overdue" | "succeeded" | "voided";
    readonly payment_status: "pending" | "partially_paid" | "succeeded";
    readonly invoice_type: "subscription" | "addon";
    readonly currency: Currency;
    readonly total_cents: Cents;
    readonly credit_applied_cents: Cents;
    readonly amount_paid_cents: Cents;
    readonly amount_due_cents: Cents;
    readonly issuing_date: string;
    readonly due_date: string;
    readonly period_start: string;
    readonly period_end: string;
  }[];
  readonly payments: readonly {
    readonly id: string;
    readonly invoice_number: string;
    readonly amount_cents: Cents;
    readonly currency: Currency;
    readonly provider: string;
    readonly status: string;
    readonly paid_at: string;
  }[];
  readonly totals: {
    readonly outstanding_cents: Cents;
    readonly overdue_cents: Cents;
    readonly currency: Currency;
  };
  readonly generated_at: string;
};

export type GetPortalQuery = {
  /** 1 bypasses the kept view and computes a new one. */
  readonly refresh?: "0" | "1" | undefined;
};

export type PurgePortalCacheReply = {
  readonly purged: boolean;
  readonly customer_id: string;
};

export type PurgeAllPortalCacheReply = {
  readonly purged: boolean;
  readonly count: number;
};
