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
export const CHARGE_MODELS = [
  "standard",
  "graduated",
  "volume",
  "package",
  "percentage",
  "flat_fee",
] as const;
/** Whether the base fee of a period is billed when it is over or when it starts. */
export const BASE_TIMINGS = ["arrears", "advance"] as const;
export const TRIAL_DAYS_MAX = 730;
/** At the end of a period; once, when the subscription starts; at the start of every period. */
export const INVOICE_TIMINGS = ["arrears", "immediate", "advance"] as const;
export const QUANTITY_FROM_PATTERN = "^subscription_property\\.[^\\u0000-\\u001f\\u007f]{1,200}$";
export const CHARGES_MAX = 100;
export const TIERS_MAX = 100;
/** Of one charge, for combinations of dimensions. */
export const PRICES_MAX = 100;
export const FREE_EVENTS_MAX = 1_000_000_000_000;
/** Of a flat fee: the quantity at billing, that of each day, or the highest of the period. */
export const QUANTITY_MODES = ["last", "prorated", "max"] as const;

export const Charge = Type.Object(
  {
    id: Uuid,
    plan_id: Uuid,
    name: Nullable(
      Type.String({ description: "On documents; null: the name of the metric or catalog item." }),
    ),
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

/** A price word, read by domain/charge-words.ts, which says exactly what is wrong with it. */
const word = (description: string) =>
  Type.Optional(Type.Unsafe<unknown>({ description: `${description} Same as in properties.` }));

/**
 * A charge as callers may write it, in the API's words or in those of service.yaml: `type` is
 * charge_model, `metric_ref` billable_metric_code, `catalog_ref` catalog_item_code, and `rate`
 * properties.amount. Which of them go together is decided in domain/charges.ts.
 */
export const ChargeInput = Type.Object(
  {
    name: Type.Optional(Nullable(Text)),
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
    tiers: word("graduated, volume: [{up_to, amount, flat_amount}]."),
    free_units: word("standard, package, percentage: units without a price."),
    package_size: word("package: how many units are one package."),
    percent: word("percentage: of the units."),
    fixed_amount: word("percentage: for each event."),
    free_events: word("percentage: events without fixed_amount."),
    prices: word("Usage: [{match, ...}], the prices of combinations of dimensions."),
    minimum_cents: word("Usage: what the charge is billed at least."),
    quantity_mode: word("flat_fee: last, prorated or max."),
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
    minimum_cents: AmountCents,
    base_timing: OneOf(BASE_TIMINGS),
    trial_days: Type.Integer(),
    labels: Type.Array(Type.String()),
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    charges: Type.Array(Charge),
  },
  { title: "Plan" },
);
export type Plan = Static<typeof Plan>;

const Labels = Type.Array(Text, { maxItems: 100 });
/** Of a plan as a whole, beside its charges. */
const terms = {
  amount_cents: Type.Optional(AmountCents),
  minimum_cents: Type.Optional(
    Type.Integer({ ...AmountCents, description: "What a full period is billed at least." }),
  ),
  base_timing: Type.Optional(
    OneOf(BASE_TIMINGS, "advance bills the base fee when a period starts."),
  ),
  trial_days: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: TRIAL_DAYS_MAX,
      description: "A first period that is billed nothing.",
    }),
  ),
};
const Description = Nullable(Type.String({ maxLength: 2_000 }));

export const PlanCreate = Type.Object({
  code: Reference,
  name: Text,
  description: Type.Optional(Description),
  category: Type.Optional(Nullable(Text)),
  interval: OneOf(INTERVALS),
  ...terms,
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
    ...terms,
    charges: Type.Optional(Type.Array(ChargeInput, { maxItems: CHARGES_MAX })),
  },
  { "x-at-least-one": true },
);
export type PlanPatch = Static<typeof PlanPatch>;
