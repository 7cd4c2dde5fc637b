// Generated from the OpenAPI document: the types of Invoices. Do not edit.

import type { Cents, Currency, CursorPage, CursorQuery } from "./common.ts";

export type Invoice = {
  readonly id: string;
  readonly number: string;
  readonly status: "outstanding" | "overdue" | "succeeded" | "voided";
  readonly payment_status: "pending" | "partially_paid" | "succeeded";
  readonly invoice_type: "subscription" | "addon";
  readonly customer_id: string;
  readonly subscription_id: string | null;
  readonly currency: Currency;
  readonly subtotal_cents: Cents;
  readonly total_cents: Cents;
  readonly credit_applied_cents: Cents;
  readonly amount_paid_cents: Cents;
  readonly amount_due_cents: Cents;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly voided_at: string | null;
  readonly created_at: string;
};

export type ListInvoicesQuery = CursorQuery & {
  /** UUID, or ext:<external_id>. */
  readonly customer_id?: string | undefined;
  readonly subscription_id?: string | undefined;
  /** The invoice of this number. */
  readonly number?: string | undefined;
  readonly status?: "outstanding" | "overdue" | "succeeded" | "voided" | undefined;
  readonly payment_status?: "pending" | "partially_paid" | "succeeded" | undefined;
  readonly period_start?: string | undefined;
  readonly period_end?: string | undefined;
};

export type ListInvoicesReply = CursorPage & { readonly invoices: readonly Invoice[] };

export type InvoiceWithFees = Invoice & { readonly fees: readonly Fee[] };

export type Fee = {
  readonly id: string;
  readonly fee_type: "subscription" | "charge" | "adjustment" | "add_on";
  readonly charge_id: string | null;
  readonly billable_metric_code: string | null;
  readonly units: string;
  readonly amount_cents: Cents;
  readonly amount_currency: Currency;
  readonly properties: Readonly<Record<string, unknown>>;
};

export type InvoicePreview = {
  readonly subscription_id: string;
  readonly currency: Currency;
  readonly subtotal_cents: Cents;
  readonly total_cents: Cents;
  readonly credit_applied_cents: Cents;
  readonly amount_due_cents: Cents;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly fees: readonly {
    readonly fee_type: "subscription" | "charge" | "adjustment" | "add_on";
    readonly charge_id: string | null;
    readonly billable_metric_code: string | null;
    readonly units: string;
    readonly amount_cents: Cents;
    readonly amount_currency: Currency;
    readonly properties: Readonly<Record<string, unknown>>;
  }[];
};

export type PreviewInvoiceBody = {
  /** UUID, or ext:<external_id>. */
  readonly subscription_id: string;
  /** As if the period ended now (default), or at its end. */
  readonly at?: "now" | "period_end";
};

export type GetInvoiceDocumentQuery = {
  /** Paper; a4 by default. */
  readonly size?: "a4" | "letter" | undefined;
};

export type GetInvoiceDocumentPdfQuery = {
  /** Paper; a4 by default. */
  readonly size?: "a4" | "letter" | undefined;
};
