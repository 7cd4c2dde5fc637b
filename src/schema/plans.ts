// Plans and the charges on them.

import Type, { type Static } from "typebox";
import { CatalogCode } from "./catalog.ts";
import {
  AmountCents,
  Currency,
  DecimalText,
  FreeObject,
  Nullable,
  OneOf,
  Reference,
  Text,
  Timestamp,
  Uuid,
} from "./common.ts";

export const INTERVALS = ["weekly", "monthly", "quarterly", "semiannual", "yearly"] as const;
export type Interval = (typeof INTERVALS)[number];
export const CHARGE_MODELS = ["standard", "flat_fee"] as const;
/** At the end of a period; once, when the subscription starts; at the start of every period. */
export const INVOICE_TIMINGS = ["arrears", "immediate", "advance"] as const;
export const QUANTITY_FROM_PATTERN = "^subscription_property\\.[^\\u0000-\\u001f\\u007f]{1,200}$";
export const CHARGES_MAX = 100;

export const Charge = Type.Object(
  {
    id: Uuid,
    plan_id: Uuid,
    charge_model: OneOf(CHARGE_MODELS),
    billable_metric_id: Nullable(Uuid),
    billable_metric_code: Nullable(Type.String()),
    catalog_item_code: Nullable(Type.String()),
    amount_override_cents: Nullable(AmountCents),
    quantity_from: Nullable(Type.String()),
    invoice_timing: OneOf(INVOICE_TIMINGS),
    properties: FreeObject,
    created_at: Timestamp,
  },
  { title: "Charge" },
);
export type Charge = Static<typeof Charge>;

/**
 * A charge as callers may write it, in the API's words or in those of service.yaml: `type` is
 * charge_model, `metric_ref` billable_metric_code, `catalog_ref` catalog_item_code, and `rate`
 * properties.amount. Which of them go together is decided in domain/charges.ts.
 */
export const ChargeInput = Type.Object(
  {
    charge_model: Type.Optional(OneOf(CHARGE_MODELS)),
    type: Type.Optional(OneOf(CHARGE_MODELS)),
    billable_metric_id: Type.Optional(Nullable(Uuid)),
    billable_metric_code: Type.Optional(Nullable(Text)),
    metric_ref: Type.Optional(Nullable(Text)),
    catalog_item_code: Type.Optional(Nullable(CatalogCode)),
    catalog_ref: Type.Optional(Nullable(CatalogCode)),
    rate: Type.Optional(Nullable(DecimalText)),
    amount_override_cents: Type.Optional(Nullable(AmountCents)),
    quantity_from: Type.Optional(
      Nullable(
        Type.String({
          pattern: QUANTITY_FROM_PATTERN,
          description: "subscription_property.<property_name>",
        }),
      ),
    ),
    invoice_timing: Type.Optional(OneOf(INVOICE_TIMINGS)),
    properties: Type.Optional(FreeObject),
  },
  { title: "ChargeInput" },
);
export type ChargeInput = Static<typeof ChargeInput>;

export const Plan = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    description: Nullable(Type.String()),
    category: Nullable(Type.String()),
    interval: OneOf(INTERVALS),
    amount_cents: AmountCents,
    amount_currency: Currency,
    labels: Type.Array(Type.String()),
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    charges: Type.Array(Charge),
  },
  { title: "Plan" },
);
export type Plan = Static<typeof Plan>;

const Labels = Type.Array(Text, { maxItems: 100 });
const Description = Nullable(Type.String({ maxLength: 2_000 }));

export const PlanCreate = Type.Object({
  code: Reference,
  name: Text,
  description: Type.Optional(Description),
  category: Type.Optional(Nullable(Text)),
  interval: OneOf(INTERVALS),
  amount_cents: Type.Optional(AmountCents),
  amount_currency: Currency,
  labels: Type.Optional(Labels),
  charges: Type.Optional(Type.Array(ChargeInput, { maxItems: CHARGES_MAX })),
});
export type PlanCreate = Static<typeof PlanCreate>;

/** `charges` is the whole wanted set. The interval and the currency of a plan never change. */
export const PlanPatch = Type.Object(
  {
    labels: Type.Optional(Labels),
    category: Type.Optional(Nullable(Text)),
    name: Type.Optional(Text),
    description: Type.Optional(Description),
    amount_cents: Type.Optional(AmountCents),
    charges: Type.Optional(Type.Array(ChargeInput, { maxItems: CHARGES_MAX })),
  },
  { "x-at-least-one": true },
);
export type PlanPatch = Static<typeof PlanPatch>;
