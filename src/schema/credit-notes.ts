// Credit notes and refunds.

import Type, { type Static } from "typebox";
import {
  AMOUNT_CENTS_MAX,
  CalendarDate,
  Cents,
  Currency,
  FreeObject,
  Nullable,
  Reference,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";

export const TaxLine = Type.Object(
  {
    code: Type.String(),
    name: Type.String(),
    percent: Type.String(),
    taxable_cents: Cents,
    tax_cents: Cents,
  },
  { title: "TaxLine" },
);

const Line = Type.Object({ fee_id: Uuid, amount_cents: Cents });

const amounts = {
  currency: Currency,
  subtotal_cents: Cents,
  tax_cents: Cents,
  total_cents: Cents,
  offset_cents: Cents,
  refund_cents: Cents,
  credit_cents: Cents,
  taxes: Type.Array(TaxLine),
  lines: Type.Array(Line),
};

export const CreditNote = Type.Object(
  {
    id: Uuid,
    number: Type.String(),
    invoice_id: Uuid,
    invoice_number: Type.String(),
    customer_id: Uuid,
    ...amounts,
    refunded_cents: Cents,
    reason: Type.String(),
    memo: Type.String(),
    issuing_date: CalendarDate,
    created_at: Timestamp,
    seller: Type.Optional(FreeObject),
    buyer: Type.Optional(FreeObject),
  },
  { title: "CreditNote" },
);
export type CreditNote = Static<typeof CreditNote>;

export const CreditNotePreview = Type.Object(
  { invoice_id: Uuid, ...amounts },
  { title: "CreditNotePreview" },
);

export const CreditNoteCreate = Type.Object({
  invoice_id: Uuid,
  subscription_id: Type.Optional(
    Type.String({
      maxLength: 260,
      description: "UUID, or ext:<external_id>: all that is left of its lines, instead of lines.",
    }),
  ),
  lines: Type.Optional(
    Type.Array(
      Type.Object({
        fee_id: Uuid,
        amount_cents: Type.Integer({
          minimum: -AMOUNT_CENTS_MAX,
          maximum: AMOUNT_CENTS_MAX * 1000,
        }),
      }),
      { minItems: 1, maxItems: 1_000 },
    ),
  ),
  refund_cents: Type.Optional(Type.Integer({ minimum: 0, maximum: AMOUNT_CENTS_MAX * 1000 })),
  reason: Type.Optional(Type.String({ maxLength: 255 })),
  memo: Type.Optional(Type.String({ maxLength: 2_000 })),
});
export type CreditNoteCreate = Static<typeof CreditNoteCreate>;

export const Refund = Type.Object(
  {
    id: Uuid,
    payment_id: Uuid,
    invoice_id: Uuid,
    credit_note_id: Nullable(Uuid),
    amount_cents: Cents,
    currency: Currency,
    provider: Type.String(),
    provider_refund_id: Type.String(),
    refunded_at: Timestamp,
    created_at: Timestamp,
  },
  { title: "Refund" },
);
export type Refund = Static<typeof Refund>;

export const RefundCreate = Type.Object({
  payment_id: Uuid,
  amount_cents: Type.Integer({ minimum: 1, maximum: AMOUNT_CENTS_MAX * 1000 }),
  provider_refund_id: Reference,
  credit_note_id: Type.Optional(Nullable(Uuid)),
  refunded_at: Type.Optional(TimestampInput),
});
export type RefundCreate = Static<typeof RefundCreate>;
