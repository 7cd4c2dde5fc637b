// Customers: who is billed.

import Type, { type Static } from "typebox";
import {
  AT_LEAST_ONE,
  Cents,
  Country,
  Currency,
  Email,
  Metadata,
  Name,
  Nullable,
  OneOf,
  Patterned,
  Reference,
  TEXT_MAX,
  Timestamp,
  Uuid,
} from "./common.ts";
import { INVOICE_GROUPINGS } from "./enums.ts";
import { ADDRESS_MAX, NET_PAYMENT_DAYS_MAX } from "./settings.ts";
import { TaxCodes } from "./taxes.ts";

export const TAX_EXEMPTIONS = ["exempt", "reverse_charge"] as const;

export const Customer = Type.Object(
  {
    id: Uuid,
    short_id: Patterned("^cust_[0-9a-z]{4}$", "be such as cust_x7k2"),
    external_id: Type.String(),
    name: Type.String(),
    email: Type.String(),
    currency: Currency,
    address: Type.String(),
    city: Type.String(),
    postal_code: Type.String(),
    region: Type.String(),
    country: Type.String(),
    tax_id: Type.String(),
    tax_exemption: Nullable(OneOf(TAX_EXEMPTIONS)),
    tax_note: Type.String(),
    tax_codes: TaxCodes,
    net_payment_days: Nullable(Type.Integer()),
    invoice_grouping: Nullable(OneOf(INVOICE_GROUPINGS)),
    metadata: Type.Unsafe<Record<string, string>>({
      type: "object",
      additionalProperties: { type: "string" },
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Customer" },
);
export type Customer = Static<typeof Customer>;

const Line = Type.String({ maxLength: TEXT_MAX });

/** The customer before the law, and how it is taxed and pays. */
const terms = {
  address: Type.Optional(Type.String({ maxLength: ADDRESS_MAX })),
  city: Type.Optional(Line),
  postal_code: Type.Optional(Line),
  region: Type.Optional(Line),
  country: Type.Optional(Country),
  tax_id: Type.Optional(Line),
  tax_exemption: Type.Optional(Nullable(OneOf(TAX_EXEMPTIONS, "reverse_charge needs a tax_id."))),
  tax_note: Type.Optional(Type.String({ maxLength: 500 })),
  tax_codes: Type.Optional(TaxCodes),
  net_payment_days: Type.Optional(
    Nullable(Type.Integer({ minimum: 0, maximum: NET_PAYMENT_DAYS_MAX })),
  ),
  invoice_grouping: Type.Optional(
    Nullable(OneOf(INVOICE_GROUPINGS, "What makes one invoice; null: as the settings say.")),
  ),
  metadata: Type.Optional(Metadata),
};

export const CustomerCreate = Type.Object({
  external_id: Reference,
  name: Name,
  email: Type.Optional(Email),
  currency: Type.Optional(Currency),
  ...terms,
});
export type CustomerCreate = Static<typeof CustomerCreate>;

export const CustomerPatch = Type.Object(
  {
    name: Type.Optional(Name),
    email: Type.Optional(Email),
    currency: Type.Optional(Currency),
    ...terms,
  },
  AT_LEAST_ONE,
);
export type CustomerPatch = Static<typeof CustomerPatch>;

/** A search: each of its words begins a word of the name, the email or the external_id. */
export const Search = Type.String({
  minLength: 1,
  maxLength: 100,
  description:
    "Words, each of which begins a word of the name, email or external_id, in any case: ac lt finds Acme Ltd. Or a short_id.",
});
/** Words of a search: each is looked up by itself. */
export const SEARCH_WORDS_MAX = 10;

/** A customer's credit in one currency: it lowers what is due on the next invoice. */
export const Credit = Type.Object(
  { currency: Currency, balance_cents: Cents },
  { title: "Credit" },
);
