// Plans and the charges on them.

import Type, { type Static } from "typebox";
import { CatalogCode } from "./catalog.ts";
import {
  AmountCents,
  AT_LEAST_ONE,
  Currency,
  DecimalText,
  FreeObject,
  Name,
  Nullable,
  OneOf,
  Patterned,
  Reference,
  Text,
  Timestamp,
  Uuid,
} from "./common.ts";
import { TRIAL_DAYS_MAX } from "./enums.ts";
import { TaxCodes } from "./taxes.ts";

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
/** When the base fee of a period is billed: when it is over, or when it starts. */
export const BASE_TIMINGS = ["arrears", "advance"] as const;
/** When a charge is billed: at the end of a period; once, at the start; at each period's start. */
export const INVOICE_TIMINGS = ["arrears", "immediate", "advance"] as const;
export const QuantityFrom = Patterned(
  "^subscription_property\\.[^\\u0000-\\u001f\\u007f]{1,200}$",
  "be subscription_property.<property_name>",
);
export const CHARGES_MAX = 100;
export const TIERS_MAX = 100;
/** Prices of one charge, for combinations of dimensions. */
export const PRICES_MAX = 100;
export const FREE_EVENTS_MAX = 1_000_000_000_000;
/** Quantities of a flat fee: that at billing, that of each day, or the highest of the period. */
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
    tax_codes: TaxCodes,
    properties: Type.Unsafe<Record<string, unknown>>({
      ...FreeObject,
      description: "The price words of its model, in one form, and whatever else was sent.",
    }),
    created_at: Timestamp,
  },
  { title: "Charge" },
);
export type Charge = Static<typeof Charge>;

/**
 * A field of a price. The schema lets any value through: domain/charge-properties.ts says which
 * fields a model takes, and what is wrong with a value.
 */
const priceField = (description: string) => Type.Optional(Type.Unsafe<unknown>({ description }));

/**
 * A charge as callers may write it, in the API's words or in those of service.yaml: `type` is
 * charge_model, `metric_ref` billable_metric_code, `catalog_ref` catalog_item_code, and `rate`
 * properties.amount. Which of them go together is decided in domain/charges.ts.
 */
export const ChargeInput = Type.Object(
  {
    name: Type.Optional(
      Nullable(
        Type.String({
          ...Name,
          description: "On documents; null: the name of the metric or catalog item.",
        }),
      ),
    ),
    charge_model: Type.Optional(
      OneOf(CHARGE_MODELS, "flat_fee by quantity, all others by usage and in arrears."),
    ),
    type: Type.Optional(OneOf(CHARGE_MODELS, "Same as charge_model.")),
    billable_metric_id: Type.Optional(Nullable(Uuid)),
    billable_metric_code: Type.Optional(
      Nullable(Type.String({ ...Text, description: "By usage: the metric, by code or by id." })),
    ),
    metric_ref: Type.Optional(
      Nullable(Type.String({ ...Text, description: "Same as billable_metric_code." })),
    ),
    catalog_item_code: Type.Optional(Nullable(CatalogCode)),
    catalog_ref: Type.Optional(
      Nullable(Type.String({ ...CatalogCode, description: "Same as catalog_item_code." })),
    ),
    rate: Type.Optional(
      Nullable(Type.String({ ...DecimalText, description: "Same as properties.amount." })),
    ),
    amount_override_cents: Type.Optional(Nullable(AmountCents)),
    quantity_from: Type.Optional(
      Nullable(
        Type.String({ ...QuantityFrom, description: "subscription_property.<property_name>" }),
      ),
    ),
    invoice_timing: Type.Optional(
      OneOf(
        INVOICE_TIMINGS,
        "At the end of a period (default), once at the start, or at each start.",
      ),
    ),
    tiers: priceField(
      "graduated, volume: `[{up_to, amount, flat_amount}]`. up_to rises and is null in the last.",
    ),
    free_units: priceField("standard, package, percentage: units without a price."),
    package_size: priceField("package: how many units are one package."),
    percent: priceField('percentage: of the units, such as "2.9".'),
    fixed_amount: priceField("percentage: what each event costs beside."),
    free_events: priceField("percentage: events without fixed_amount."),
    prices: priceField(
      "By usage: `[{match: {dimension: value}, …}]`, each with all words of its price. The first that matches counts, else the charge's own.",
    ),
    minimum_cents: priceField("By usage: what it is billed at least for a full period."),
    quantity_mode: priceField(
      "flat_fee in arrears: `last` (default), `prorated` by days or `max` of the period.",
    ),
    tax_codes: Type.Optional(TaxCodes),
    properties: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        ...FreeObject,
        description:
          "The price words: `amount` (per unit, or of a package), `tiers`, `free_units`, `package_size`, `percent`, `fixed_amount`, `free_events`, `prices`, `minimum_cents`, `quantity_mode`. They may stand on the charge itself too, there `amount` is `rate`. Other keys are kept.",
      }),
    ),
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
    minimum_cents: Type.Integer({
      ...AmountCents,
      description: "What a full period is billed at least, before discounts and tax; 0: nothing.",
    }),
    base_timing: OneOf(BASE_TIMINGS, "advance: the base fee is billed when a period starts."),
    trial_days: Type.Integer({ description: "Of new subscriptions; 0: no trial." }),
    tax_codes: TaxCodes,
    labels: Type.Array(Type.String()),
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    charges: Type.Array(Charge),
  },
  { title: "Plan" },
);
export type Plan = Static<typeof Plan>;

const Labels = Type.Array(Text, { maxItems: 100 });
/** Terms of a plan as a whole, beside its charges. */
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
  tax_codes: Type.Optional(TaxCodes),
};
const Description = Nullable(Type.String({ maxLength: 2_000 }));

export const PlanCreate = Type.Object({
  code: Reference,
  name: Name,
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
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    ...terms,
    charges: Type.Optional(Type.Array(ChargeInput, { maxItems: CHARGES_MAX })),
  },
  AT_LEAST_ONE,
);
export type PlanPatch = Static<typeof PlanPatch>;
