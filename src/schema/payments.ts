// Payments, as callers report them: the service collects no money itself.

import Type, { type Static } from "typebox";
import {
  AMOUNT_CENTS_MAX,
  Cents,
  Currency,
  Nullable,
  Reference,
  Text,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";

export const Payment = Type.Object(
  {
    id: Uuid,
    invoice_id: Uuid,
    amount_cents: Cents,
    currency: Currency,
    provider: Type.String(),
    provider_payment_id: Type.String(),
    reference: Nullable(Type.String()),
    status: Type.String(),
    paid_at: Timestamp,
    refunded_cents: Cents,
    created_at: Timestamp,
  },
  { title: "Payment" },
);
export type Payment = Static<typeof Payment>;

export const PaymentCreate = Type.Object({
  invoice_id: Uuid,
  amount_cents: Type.Integer({ minimum: 1, maximum: AMOUNT_CENTS_MAX * 1000 }),
  currency: Currency,
  provider: Reference,
  provider_payment_id: Reference,
  paid_at: Type.Optional(TimestampInput),
  reference: Type.Optional(Nullable(Text)),
  allow_overpayment: Type.Optional(Type.Boolean()),
});
export type PaymentCreate = Static<typeof PaymentCreate>;
