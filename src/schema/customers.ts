// Customers: who is billed.

import Type, { type Static } from "typebox";
import { Cents, Currency, Email, Reference, Text, Timestamp, Uuid } from "./common.ts";

export const Customer = Type.Object(
  {
    id: Uuid,
    short_id: Type.String({ pattern: "^cust_[0-9a-z]{4}$" }),
    external_id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    currency: Currency,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Customer" },
);
export type Customer = Static<typeof Customer>;

export const CustomerCreate = Type.Object({
  external_id: Reference,
  name: Text,
  email: Type.Optional(Email),
  currency: Type.Optional(Currency),
});
export type CustomerCreate = Static<typeof CustomerCreate>;

export const CustomerPatch = Type.Object(
  { name: Type.Optional(Text), email: Type.Optional(Email), currency: Type.Optional(Currency) },
  { "x-at-least-one": true },
);
export type CustomerPatch = Static<typeof CustomerPatch>;

/** A customer's credit in one currency: it lowers what is due on the next invoice. */
export const Credit = Type.Object(
  { currency: Currency, balance_cents: Cents },
  { title: "Credit" },
);
