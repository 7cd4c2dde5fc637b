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
    invoice_number: Type.String(),
    customer_id: Uuid,
    customer_external_id: Type.String({ description: "The customer's external_id." }),
    customer_name: Type.String({ description: "The customer's name as it is now." }),
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
  invoice_id: Type.String({ ...Uuid, description: "The invoice that the money is for." }),
  amount_cents: Type.Integer({
    minimum: 1,
    maximum: AMOUNT_CENTS_MAX * 1000,
    description: "What was received, in the smallest currency unit.",
  }),
  currency: Type.String({ ...Currency, description: "The invoice's currency." }),
  provider: Type.String({
    ...Reference,
    description: "Who took the money: stripe, bank_transfer, cash.",
  }),
  provider_payment_id: Type.String({
    ...Reference,
    description:
      "The provider's id of this payment: the same one again is not recorded twice. For cash or a transfer, the number of the receipt or bank entry.",
  }),
  paid_at: Type.Optional(
    Type.String({ ...TimestampInput, description: "When the money came; now by default." }),
  ),
  reference: Type.Optional(
    Nullable(
      Type.String({
        ...Text,
        description: "A note that is kept with it; on the portal it is not shown.",
      }),
    ),
  ),
  allow_overpayment: Type.Optional(
    Type.Boolean({ description: "Take more than is due; the rest becomes credit." }),
  ),
});
export type PaymentCreate = Static<typeof PaymentCreate>;
