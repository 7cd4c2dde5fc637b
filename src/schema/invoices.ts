// Invoices and the fees on them.

import Type, { type Static } from "typebox";
import {
  CalendarDate,
  Cents,
  Currency,
  FreeObject,
  Nullable,
  OneOf,
  Timestamp,
  Uuid,
} from "./common.ts";
import { NullableOverrides } from "./subscriptions.ts";

export const INVOICE_STATUSES = ["outstanding", "overdue", "succeeded", "voided"] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];
export const PAYMENT_STATUSES = ["pending", "partially_paid", "succeeded"] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];
export const INVOICE_TYPES = ["subscription", "addon"] as const;
export const FEE_TYPES = ["subscription", "charge", "minimum", "adjustment", "add_on"] as const;

export const Fee = Type.Object(
  {
    id: Uuid,
    fee_type: OneOf(
      FEE_TYPES,
      "minimum makes up for a minimum; adjustment corrects an earlier period, or days paid in advance.",
    ),
    charge_id: Nullable(Uuid),
    billable_metric_code: Nullable(Type.String()),
    units: Type.String(),
    amount_cents: Cents,
    amount_currency: Currency,
    properties: Type.Unsafe<Record<string, unknown>>({
      ...FreeObject,
      description:
        "Why it is this amount: `name` (on documents), `precise_amount` before rounding, in the smallest unit, `plan_code`, `plan_version` and the words of its price. `tiers` lists each tier with units; `packages`; `events` and `paid_events`; `dimensions` and `match`; a minimum's `minimum_cents`, `counted_cents`, `billable_days` and `period_days`; an adjustment's `period_start`, `period_end`, `invoice_number`, and `billed_` and `corrected_` units and amount.",
    }),
  },
  { title: "Fee" },
);
export type Fee = Static<typeof Fee>;

const fields = {
  id: Uuid,
  number: Type.String(),
  status: OneOf(INVOICE_STATUSES),
  payment_status: OneOf(PAYMENT_STATUSES),
  invoice_type: OneOf(INVOICE_TYPES),
  customer_id: Uuid,
  subscription_id: Nullable(Uuid),
  currency: Currency,
  subtotal_cents: Cents,
  total_cents: Cents,
  credit_applied_cents: Cents,
  amount_paid_cents: Cents,
  amount_due_cents: Cents,
  issuing_date: CalendarDate,
  due_date: CalendarDate,
  period_start: CalendarDate,
  period_end: CalendarDate,
  voided_at: Nullable(Timestamp),
  created_at: Timestamp,
};

export const Invoice = Type.Object(fields, { title: "Invoice" });
export type Invoice = Static<typeof Invoice>;

export const InvoiceWithFees = Type.Object(
  { ...fields, fees: Type.Array(Fee) },
  { title: "InvoiceWithFees" },
);
export type InvoiceWithFees = Static<typeof InvoiceWithFees>;

export const InvoicePreviewRequest = Type.Object({
  subscription_id: Type.String({ maxLength: 260, description: "UUID, or ext:<external_id>." }),
  at: Type.Optional(
    OneOf(["now", "period_end"], "As if the period ended now (default), or at its end."),
  ),
  plan_id: Type.Optional(
    Type.String({ ...Uuid, description: "As if the plan changed then: shows what follows too." }),
  ),
  properties: Type.Optional(FreeObject),
  overrides: Type.Optional(NullableOverrides),
});
export type InvoicePreviewRequest = Static<typeof InvoicePreviewRequest>;

export const InvoicePreview = Type.Object(
  {
    subscription_id: Uuid,
    currency: Currency,
    subtotal_cents: Cents,
    total_cents: Cents,
    credit_applied_cents: Cents,
    amount_due_cents: Cents,
    issuing_date: CalendarDate,
    due_date: CalendarDate,
    period_start: CalendarDate,
    period_end: CalendarDate,
    fees: Type.Array(
      Type.Object({
        fee_type: OneOf(FEE_TYPES),
        charge_id: Nullable(Uuid),
        billable_metric_code: Nullable(Type.String()),
        units: Type.String(),
        amount_cents: Cents,
        amount_currency: Currency,
        properties: FreeObject,
      }),
    ),
  },
  { title: "InvoicePreview" },
);

export const InvoicePreviews = Type.Object({
  invoice_preview: InvoicePreview,
  next_invoice_previews: Type.Optional(
    Type.Array(InvoicePreview, {
      description: "With plan_id: the start of the period that follows, if it bills, and its end.",
    }),
  ),
});
