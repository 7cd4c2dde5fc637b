// Invoices and the fees on them.

import Type, { type Static } from "typebox";
import { CatalogCode } from "./catalog.ts";
import {
  AmountCents,
  AT_LEAST_ONE,
  CalendarDate,
  Cents,
  Currency,
  DECIMAL_PATTERN,
  FreeObject,
  Metadata,
  Name,
  Nullable,
  OneOf,
  Patterned,
  Timestamp,
  Uuid,
} from "./common.ts";
import { TaxLine } from "./credit-notes.ts";
import { INVOICE_STATUSES, PAYMENT_STATUSES } from "./enums.ts";
import { GRANT_KINDS } from "./grants.ts";
import { NullableOverrides } from "./subscriptions.ts";
import { TaxCodes } from "./taxes.ts";

export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];
export const INVOICE_TYPES = ["subscription", "addon", "one_off", "top_up"] as const;
/** Why a part is on an invoice: a period closes or starts, late usage, or what a call makes. */
export const PART_REASONS = [
  "period",
  "start",
  "advance",
  "supplement",
  "add_on",
  "one_off",
  "top_up",
] as const;
export const FEE_TYPES = [
  "subscription",
  "charge",
  "minimum",
  "adjustment",
  "add_on",
  "one_off",
  "top_up",
] as const;

/** The part of the invoice that a line is of. */
const ofPart = {
  part: Type.Integer({ minimum: 0, description: "Index of its part in `parts`." }),
  subscription_id: Nullable(Uuid),
};

export const Fee = Type.Object(
  {
    id: Uuid,
    ...ofPart,
    fee_type: OneOf(
      FEE_TYPES,
      "minimum makes up for a minimum; adjustment corrects an earlier period, or days paid in advance.",
    ),
    charge_id: Nullable(Uuid),
    billable_metric_code: Nullable(Type.String()),
    units: Type.String(),
    amount_cents: Cents,
    amount_currency: Currency,
    discount_cents: Cents,
    taxable_cents: Cents,
    taxes: Type.Array(
      Type.Object({ code: Type.String(), percent: Type.String() }, { additionalProperties: true }),
    ),
    properties: Type.Unsafe<Record<string, unknown>>({
      ...FreeObject,
      description:
        "Why it is this amount: `name` (on documents), `precise_amount` before rounding, in the smallest unit, `plan_code`, `plan_version` and the words of its price. `tiers` lists each tier with units; `packages`; `events` and `paid_events`; `dimensions` and `match`; a minimum's `minimum_cents`, `counted_cents`, `billable_days` and `period_days`; an adjustment's `period_start`, `period_end`, `invoice_number`, and `billed_` and `corrected_` units and amount.",
    }),
  },
  { title: "Fee" },
);
export type Fee = Static<typeof Fee>;

/** What one act of billing puts on an invoice. Its amounts are the sums of its lines. */
export const InvoicePart = Type.Object(
  {
    part: Type.Integer({ minimum: 0 }),
    subscription_id: Nullable(Uuid),
    subscription_external_id: Nullable(Type.String()),
    plan_code: Nullable(Type.String()),
    reason: OneOf(
      PART_REASONS,
      "period: the close of a period; start: of the first paid one, advance: of a later one; supplement: late usage.",
    ),
    period_start: CalendarDate,
    period_end: CalendarDate,
    due_at: Timestamp,
    set_aside: Type.Boolean({
      description: "It could not be billed when it was due, and was later, by itself.",
    }),
    subtotal_cents: Cents,
    discount_cents: Cents,
    net_cents: Cents,
  },
  { title: "InvoicePart" },
);
export type InvoicePart = Static<typeof InvoicePart>;

const fields = {
  id: Uuid,
  number: Type.String(),
  status: OneOf(INVOICE_STATUSES),
  payment_status: OneOf(PAYMENT_STATUSES),
  invoice_type: OneOf(INVOICE_TYPES),
  customer_id: Uuid,
  customer_external_id: Type.String({ description: "The customer's external_id." }),
  customer_name: Type.String({ description: "The customer's name as it is now." }),
  subscription_id: Nullable(Uuid),
  currency: Currency,
  subtotal_cents: Cents,
  discount_cents: Cents,
  tax_cents: Cents,
  total_cents: Cents,
  credit_applied_cents: Cents,
  offset_cents: Cents,
  amount_paid_cents: Cents,
  overpaid_cents: Cents,
  written_off_cents: Cents,
  amount_due_cents: Cents,
  credit_notes_cents: Cents,
  issuing_date: CalendarDate,
  due_date: CalendarDate,
  period_start: CalendarDate,
  period_end: CalendarDate,
  part_count: Type.Integer(),
  subscription_count: Type.Integer(),
  voided_at: Nullable(Timestamp),
  created_at: Timestamp,
  memo: Type.String(),
  po_number: Type.String(),
  metadata: Type.Unsafe<Record<string, string>>({
    type: "object",
    additionalProperties: { type: "string" },
  }),
  tax_note: Type.String(),
  payment_url: Nullable(Type.String()),
};

export const Invoice = Type.Object(fields, { title: "Invoice" });
export type Invoice = Static<typeof Invoice>;

export const Party = Type.Unsafe<Record<string, string | null>>({
  type: "object",
  additionalProperties: { type: ["string", "null"] },
  description: "As it was when the invoice was issued.",
});

export const InvoiceCoupon = Type.Object(
  {
    applied_coupon_id: Uuid,
    code: Type.String(),
    name: Type.String(),
    percent: Nullable(Type.String()),
    amount_cents: Cents,
  },
  { title: "InvoiceCoupon" },
);

const InvoiceCredit = Type.Object(
  { grant_id: Uuid, kind: OneOf(GRANT_KINDS), amount_cents: Cents },
  { title: "InvoiceCredit" },
);

export const InvoiceWithFees = Type.Object(
  {
    ...fields,
    coupons: Type.Array(InvoiceCoupon),
    taxes: Type.Array(TaxLine),
    credits: Type.Array(InvoiceCredit),
    seller: Party,
    buyer: Party,
    parts: Type.Array(InvoicePart),
    fees: Type.Array(Fee),
  },
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
    subscription_id: Nullable(Uuid),
    currency: Currency,
    subtotal_cents: Cents,
    discount_cents: Cents,
    tax_cents: Cents,
    total_cents: Cents,
    credit_applied_cents: Cents,
    offset_cents: Cents,
    amount_paid_cents: Cents,
    overpaid_cents: Cents,
    written_off_cents: Cents,
    amount_due_cents: Cents,
    issuing_date: CalendarDate,
    due_date: CalendarDate,
    period_start: CalendarDate,
    period_end: CalendarDate,
    part_count: Type.Integer(),
    subscription_count: Type.Integer(),
    parts: Type.Array(InvoicePart),
    fees: Type.Array(
      Type.Object({
        ...ofPart,
        fee_type: OneOf(FEE_TYPES),
        charge_id: Nullable(Uuid),
        billable_metric_code: Nullable(Type.String()),
        units: Type.String(),
        amount_cents: Cents,
        amount_currency: Currency,
        discount_cents: Cents,
        taxable_cents: Cents,
        taxes: Type.Array(
          Type.Object(
            { code: Type.String(), percent: Type.String() },
            { additionalProperties: true },
          ),
        ),
        properties: FreeObject,
      }),
    ),
    coupons: Type.Array(InvoiceCoupon),
    taxes: Type.Array(TaxLine),
    credits: Type.Array(InvoiceCredit),
    tax_note: Type.String(),
    seller: Party,
    buyer: Party,
  },
  { title: "InvoicePreview" },
);

export type InvoicePreview = Static<typeof InvoicePreview>;

export const OneOffLine = Type.Object(
  {
    name: Type.Optional(
      Nullable(Type.String({ ...Name, description: "Needed but for a catalog item." })),
    ),
    quantity: Type.Optional(
      Type.String({ pattern: DECIMAL_PATTERN, description: 'Above 0; "1" by default.' }),
    ),
    unit_amount_cents: Type.Optional(Nullable(AmountCents)),
    catalog_item_code: Type.Optional(
      Nullable(Type.String({ ...CatalogCode, description: "Instead of unit_amount_cents." })),
    ),
    tax_codes: Type.Optional(TaxCodes),
  },
  { title: "OneOffLine" },
);

export const InvoiceCreate = Type.Object({
  customer_id: Type.String({ maxLength: 260, description: "UUID, or ext:<external_id>." }),
  currency: Type.Optional(Currency),
  lines: Type.Array(OneOffLine, { minItems: 1, maxItems: 100 }),
  memo: Type.Optional(Type.String({ maxLength: 2_000 })),
  po_number: Type.Optional(Type.String({ maxLength: 255 })),
  net_payment_days: Type.Optional(Type.Integer({ minimum: 0, maximum: 365 })),
  metadata: Type.Optional(Metadata),
});
export type InvoiceCreate = Static<typeof InvoiceCreate>;

const { subscription_id, at: _at, ...ofSubscription } = InvoicePreviewRequest.properties;
const { customer_id, lines, ...ofOneOff } = InvoiceCreate.properties;

/** A preview of a subscription, of all that a customer is billed next, or of lines of its own. */
export const InvoicePreviewBody = Type.Object({
  subscription_id: Type.Optional(subscription_id),
  at: Type.Optional(
    OneOf(
      ["now", "period_end", "next"],
      "For a subscription: as if the period ended now (default), or at its end. For a customer: next, when something of it falls due.",
    ),
  ),
  ...ofSubscription,
  customer_id: Type.Optional(customer_id),
  lines: Type.Optional(lines),
  ...ofOneOff,
});
export type InvoicePreviewBody = Static<typeof InvoicePreviewBody>;

export const InvoicePatch = Type.Object(
  {
    memo: Type.Optional(Type.String({ maxLength: 2_000 })),
    po_number: Type.Optional(Type.String({ maxLength: 255 })),
    metadata: Type.Optional(Metadata),
    payment_url: Type.Optional(
      Nullable(
        Patterned("^https://[^\\s]+$", "begin with https:// and have no spaces", {
          maxLength: 2_048,
        }),
      ),
    ),
  },
  AT_LEAST_ONE,
);
export type InvoicePatch = Static<typeof InvoicePatch>;

export const InvoicePreviews = Type.Object({
  invoice_preview: InvoicePreview,
  next_invoice_previews: Type.Optional(
    Type.Array(InvoicePreview, {
      description:
        "With plan_id: the start of the period that follows, if it bills, and its end. With at next: the other invoices of that instant.",
    }),
  ),
  due_at: Type.Optional(
    Type.Unsafe<Date>({ ...Timestamp, description: "With at next: when all of it falls due." }),
  ),
});
