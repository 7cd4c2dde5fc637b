// Taxes: a code, a name and a percentage, named by settings, customers, plans, charges and add-ons.

import Type, { type Static } from "typebox";
import { Name, Nullable, Patterned, Reference, Timestamp, Uuid } from "./common.ts";

export const TAX_CODES_MAX = 5;

/** A percentage of 0 to 100 with up to four decimals. */
export const Percent = Patterned(
  "^(100(\\.0{1,4})?|\\d{1,2}(\\.\\d{1,4})?)$",
  "be a decimal from 0 to 100 such as 5.5, with at most four digits after the point",
  { description: 'A decimal string from 0 to 100, such as "5.5".' },
);

/** Which taxes count: null says nothing, an empty list says none. */
export const TaxCodes = Type.Unsafe<readonly string[] | null>({
  type: ["array", "null"],
  items: { type: "string", minLength: 1, maxLength: 255 },
  maxItems: TAX_CODES_MAX,
  uniqueItems: true,
  description: "Codes of taxes; null says nothing, [] says no tax.",
});

export const Tax = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    percent: Type.String(),
    description: Nullable(Type.String()),
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Tax" },
);
export type Tax = Static<typeof Tax>;

export const TaxUpsert = Type.Object({
  code: Reference,
  name: Name,
  percent: Percent,
  description: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
});
export type TaxUpsert = Static<typeof TaxUpsert>;
