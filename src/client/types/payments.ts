// Generated from the OpenAPI document: the types of Payments. Do not edit.

import type { Cents, Currency, CursorPage, CursorQuery } from "./common.ts";

export type Payment = {
  readonly id: string;
  readonly invoice_id: string;
  readonly amount_cents: Cents;
  readonly currency: Currency;
  readonly provider: string;
  readonly provider_payment_id: string;
  readonly reference: string | null;
  readonly status: string;
  readonly paid_at: string;
  readonly created_at: string;
};

export type RecordPaymentBody = {
  readonly invoice_id: string;
  readonly amount_cents: number;
  readonly currency: Currency;
  readonly provider: string;
  readonly provider_payment_id: string;
  readonly paid_at?: string;
  readonly reference?: string | null;
  readonly allow_overpayment?: boolean;
};

export type ListPaymentsQuery = CursorQuery & {
  readonly invoice_id?: string | undefined;
  /** UUID, or ext:<external_id>. */
  readonly customer_id?: string | undefined;
};

export type ListPaymentsReply = CursorPage & { readonly payments: readonly Payment[] };
