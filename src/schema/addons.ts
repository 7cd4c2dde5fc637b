// One-off priced items, applied to a customer with an immediate invoice.

import Type, { type Static } from "typebox";
import { CatalogCode } from "./catalog.ts";
import {
  AmountCents,
  Currency,
  Name,
  Nullable,
  OneOf,
  Reference,
  Timestamp,
  Uuid,
} from "./common.ts";
import { TaxCodes } from "./taxes.ts";

export const AddOn = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    description: Nullable(Type.String()),
    catalog_item_code: Nullable(Type.String()),
    amount_cents: AmountCents,
    currency: Currency,
    invoice_timing: OneOf(["immediate"]),
    tax_codes: TaxCodes,
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "AddOn" },
);
export type AddOn = Static<typeof AddOn>;

export const AddOnUpsert = Type.Object({
  code: Reference,
  name: Name,
  description: Type.Optional(Nullable(Type.String({ maxLength: 2_000 }))),
  catalog_item_code: Type.Optional(Nullable(CatalogCode)),
  catalog_ref: Type.Optional(Nullable(CatalogCode)),
  amount_cents: Type.Optional(Nullable(AmountCents)),
  currency: Type.Optional(Currency),
  invoice_timing: Type.Optional(OneOf(["immediate"])),
  tax_codes: Type.Optional(TaxCodes),
});
export type AddOnUpsert = Static<typeof AddOnUpsert>;

export const AppliedAddOn = Type.Object(
  {
    id: Uuid,
    customer_id: Uuid,
    add_on_id: Uuid,
    invoice_id: Uuid,
    amount_cents: AmountCents,
    currency: Currency,
    applied_at: Timestamp,
  },
  { title: "AppliedAddOn" },
);
export type AppliedAddOn = Static<typeof AppliedAddOn>;
