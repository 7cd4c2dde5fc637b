// Generated from the OpenAPI document: the types of Add-ons. Do not edit.

import type { Cents, Currency, Page } from "./common.ts";

export type AddOn = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly catalog_item_code: string | null;
  readonly amount_cents: Cents;
  readonly currency: Currency;
  readonly invoice_timing: "immediate";
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type UpsertAddOnBody = {
  readonly code: string;
  readonly name: string;
  readonly description?: string | null;
  readonly catalog_item_code?: string | null;
  readonly catalog_ref?: string | null;
  readonly amount_cents?: Cents | null;
  readonly currency?: Currency;
  readonly invoice_timing?: "immediate";
};

export type ListAddOnsQuery = {
  /** Answers {add_on} instead of a list. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type ListAddOnsReply = Page & { readonly add_ons: readonly AddOn[] };

export type AppliedAddOn = {
  readonly id: string;
  readonly customer_id: string;
  readonly add_on_id: string;
  readonly invoice_id: string;
  readonly amount_cents: Cents;
  readonly currency: Currency;
  readonly applied_at: string;
};

export type ApplyAddOnBody = { readonly customer_id: string };
