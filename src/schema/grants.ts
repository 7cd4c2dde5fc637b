// Grants, the ledger that they stand in, and wallets.

import Type, { type Static } from "typebox";
import {
  AMOUNT_CENTS_MAX,
  AT_LEAST_ONE,
  Cents,
  Currency,
  Nullable,
  OneOf,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";
import { GRANT_STATUSES } from "./enums.ts";

export const GRANT_KINDS = [
  "free",
  "paid",
  "overpayment",
  "negative_total",
  "voided",
  "credit_note",
] as const;
export type GrantKind = (typeof GRANT_KINDS)[number];
export const ENTRY_REASONS = [...GRANT_KINDS, "applied", "expired", "revoked", "refunded"] as const;

export const Grant = Type.Object(
  {
    id: Uuid,
    customer_id: Uuid,
    currency: Currency,
    kind: OneOf(GRANT_KINDS),
    name: Type.String(),
    amount_cents: Cents,
    remaining_cents: Cents,
    priority: Type.Integer(),
    expires_at: Nullable(Timestamp),
    status: OneOf(GRANT_STATUSES),
    invoice_id: Nullable(Uuid),
    created_at: Timestamp,
  },
  { title: "Grant" },
);
export type Grant = Static<typeof Grant>;

export const GrantCreate = Type.Object({
  customer_id: Type.String({ maxLength: 260 }),
  amount_cents: Type.Integer({ minimum: 1, maximum: AMOUNT_CENTS_MAX }),
  kind: OneOf(["free", "paid"], "paid is invoiced, and active once that is paid."),
  currency: Type.Optional(Currency),
  name: Type.Optional(Type.String({ maxLength: 255 })),
  expires_at: Type.Optional(Nullable(TimestampInput)),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
});
export type GrantCreate = Static<typeof GrantCreate>;

export const LedgerEntry = Type.Object(
  {
    id: Uuid,
    grant_id: Uuid,
    currency: Currency,
    reason: OneOf(ENTRY_REASONS),
    amount_cents: Cents,
    balance_cents: Cents,
    invoice_id: Nullable(Uuid),
    credit_note_id: Nullable(Uuid),
    refund_id: Nullable(Uuid),
    created_at: Timestamp,
  },
  { title: "LedgerEntry" },
);
export type LedgerEntry = Static<typeof LedgerEntry>;

export const Wallet = Type.Object(
  {
    customer_id: Uuid,
    currency: Currency,
    balance_cents: Cents,
    running_cents: Cents,
    available_cents: Cents,
    low_balance_cents: Nullable(Cents),
    top_up_cents: Nullable(Cents),
  },
  { title: "Wallet" },
);
export type Wallet = Static<typeof Wallet>;

export const WalletPut = Type.Object(
  {
    low_balance_cents: Type.Optional(
      Nullable(Type.Integer({ minimum: 0, maximum: AMOUNT_CENTS_MAX })),
    ),
    top_up_cents: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: AMOUNT_CENTS_MAX }))),
  },
  AT_LEAST_ONE,
);
export type WalletPut = Static<typeof WalletPut>;
