// Priced products that plans and add-ons share.

import Type, { type Static } from "typebox";
import {
  AmountCents,
  Currency,
  FreeObject,
  Name,
  Nullable,
  Patterned,
  Timestamp,
  Uuid,
} from "./common.ts";

export const CatalogCode = Patterned(
  "^[a-z0-9._-]+$",
  "have only lower-case letters, digits, dots, hyphens and underscores",
  { minLength: 1, maxLength: 64 },
);

export const CatalogItem = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    amount_cents: AmountCents,
    currency: Currency,
    metadata: FreeObject,
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "CatalogItem" },
);
export type CatalogItem = Static<typeof CatalogItem>;

export const CatalogUpsert = Type.Object({
  code: CatalogCode,
  name: Type.String({ ...Name, maxLength: 128 }),
  amount_cents: AmountCents,
  currency: Type.Optional(Currency),
  metadata: Type.Optional(FreeObject),
});
export type CatalogUpsert = Static<typeof CatalogUpsert>;
