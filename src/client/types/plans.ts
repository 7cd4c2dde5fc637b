// Generated from the OpenAPI document: the types of Plans. Do not edit.

import type { Cents, Currency, Page } from "./common.ts";

export type ChargeInput = {
  readonly charge_model?: "standard" | "flat_fee";
  readonly type?: "standard" | "flat_fee";
  readonly billable_metric_id?: string | null;
  readonly billable_metric_code?: string | null;
  readonly metric_ref?: string | null;
  readonly catalog_item_code?: string | null;
  readonly catalog_ref?: string | null;
  readonly rate?: string | null;
  readonly amount_override_cents?: Cents | null;
  /** subscription_property.<property_name> */
  readonly quantity_from?: string | null;
  readonly invoice_timing?: "arrears" | "immediate" | "advance";
  readonly properties?: Readonly<Record<string, unknown>>;
};

export type Plan = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly category: string | null;
  readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
  readonly amount_cents: Cents;
  readonly amount_currency: Currency;
  readonly labels: readonly string[];
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly charges: readonly Charge[];
};

export type Charge = {
  readonly id: string;
  readonly plan_id: string;
  readonly charge_model: "standard" | "flat_fee";
  readonly billable_metric_id: string | null;
  readonly billable_metric_code: string | null;
  readonly catalog_item_code: string | null;
  readonly amount_override_cents: Cents | null;
  readonly quantity_from: string | null;
  readonly invoice_timing: "arrears" | "immediate" | "advance";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type CreatePlanBody = {
  readonly code: string;
  readonly name: string;
  readonly description?: string | null;
  readonly category?: string | null;
  readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
  readonly amount_cents?: Cents;
  readonly amount_currency: Currency;
  readonly labels?: readonly string[];
  readonly charges?: readonly ChargeInput[];
};

export type ListPlansQuery = {
  /** Answers {plan}: the live one, else the newest archived one. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type ListPlansReply = Page & { readonly plans: readonly Plan[] };

export type UpdatePlanBody = {
  readonly labels?: readonly string[];
  readonly category?: string | null;
  readonly name?: string;
  readonly description?: string | null;
  readonly amount_cents?: Cents;
  readonly charges?: readonly ChargeInput[];
};
