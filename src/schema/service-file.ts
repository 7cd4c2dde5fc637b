// The shape of the configuration file service.yaml, a project's declared state. Which fields go
// together is checked where the file is read.

import Type, { type Static } from "typebox";
import { CatalogCode } from "./catalog.ts";
import {
  AmountCents,
  Currency,
  DECIMAL_PATTERN,
  DecimalText,
  FreeObject,
  Name,
  Nullable,
  OneOf,
  Reference,
  Text,
} from "./common.ts";
import { DUNNING_EVENTS } from "./dunning.ts";
import { TRIAL_DAYS_MAX } from "./enums.ts";
import { AGGREGATIONS, DIMENSIONS_MAX, Dimension, WEIGHTS } from "./metrics.ts";
import {
  BASE_TIMINGS,
  CHARGE_MODELS,
  CHARGES_MAX,
  FREE_EVENTS_MAX,
  INTERVALS,
  INVOICE_TIMINGS,
  PRICES_MAX,
  QUANTITY_MODES,
  QuantityFrom,
  TIERS_MAX,
} from "./plans.ts";
import { FileCoupon, FileSettings, FileTax, FileTaxCodes } from "./service-file-money.ts";
import { Slug } from "./tenants.ts";
import { ENDPOINTS_MAX, WEBHOOK_EVENTS } from "./webhooks.ts";

/** Refuses unknown keys: such a key is most likely a typing mistake. */
const STRICT = { additionalProperties: false };
export const ENTRIES_MAX = 5_000;

const Description = Type.Optional(
  Nullable(Type.String({ maxLength: 2_000, description: "Left out: stays as it is." })),
);

function slug(description: string) {
  return Type.String({ ...Slug, description });
}

export const FileCatalogItem = Type.Object(
  {
    code: Type.String({ ...CatalogCode, description: "Unique key. A new code is a new item." }),
    name: Type.String({ ...Name, maxLength: 128 }),
    amount_cents: AmountCents,
    currency: Type.Optional(
      Type.String({ ...Currency, default: "USD", description: "ISO-4217 code; USD by default." }),
    ),
    metadata: Type.Optional(FreeObject),
  },
  STRICT,
);
export type FileCatalogItem = Static<typeof FileCatalogItem>;

export const FileMetric = Type.Object(
  {
    code: Type.String({ ...Reference, description: "What events name in their `code`." }),
    name: Name,
    aggregation_type: OneOf(AGGREGATIONS, "How events of a period become units."),
    field_name: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 255,
          description:
            "The event property to aggregate; required for sum, max, count_unique and weighted_sum.",
        }),
      ),
    ),
    dimensions: Type.Optional(
      Type.Array(Dimension, {
        maxItems: DIMENSIONS_MAX,
        uniqueItems: true,
        description: "Event properties that keep usage apart, so that charges can have `prices`.",
      }),
    ),
    weighted_by: Type.Optional(
      Nullable(OneOf(WEIGHTS, "weighted_sum: unit-hours, or the average of the period.")),
    ),
  },
  STRICT,
);
export type FileMetric = Static<typeof FileMetric>;

export const FileAddOn = Type.Object(
  {
    code: Reference,
    name: Name,
    description: Description,
    catalog_ref: Type.Optional(
      Type.String({ ...CatalogCode, description: "Code of the item that sets the price." }),
    ),
    amount_cents: Type.Optional(AmountCents),
    currency: Type.Optional(
      Type.String({
        ...Currency,
        default: "USD",
        description: "USD by default; ignored when catalog_ref is set.",
      }),
    ),
    invoice_timing: Type.Optional(OneOf(["immediate"])),
    tax_codes: FileTaxCodes,
  },
  STRICT,
);
export type FileAddOn = Static<typeof FileAddOn>;

function price(description: string) {
  return Type.Optional(Type.String({ ...DecimalText, description }));
}

const UNITS = { type: ["string", "number"], pattern: DECIMAL_PATTERN, minimum: 0 };

function units(description: string) {
  return Type.Optional(Type.Unsafe<string | number>({ ...UNITS, description }));
}

export const FileTier = Type.Object(
  {
    up_to: Type.Optional(
      Type.Unsafe<string | number | null>({
        ...UNITS,
        type: [...UNITS.type, "null"],
        description: "The last unit of the tier; null in the last tier and only there.",
      }),
    ),
    rate: Type.String({ ...DecimalText, description: 'Price per unit, quoted: "0.05".' }),
    flat_amount: price("Due once when the tier has units, or holds them all."),
  },
  STRICT,
);

/** Fields of a price. The charge's type says which go together, and which must be there. */
const priceFields = {
  rate: price('standard: price per unit; package: price of a package. Quoted: "0.05".'),
  tiers: Type.Optional(
    Type.Array(FileTier, {
      minItems: 1,
      maxItems: TIERS_MAX,
      description: "graduated, volume: rising, the last with up_to null.",
    }),
  ),
  package_size: units("package: how many units are one package."),
  percent: price('percentage: of the units, quoted: "2.9".'),
  fixed_amount: price("percentage: for each event."),
  free_units: units("standard, package, percentage: units without a price."),
  free_events: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: FREE_EVENTS_MAX,
      description: "percentage: events without fixed_amount.",
    }),
  ),
};

/** A price for matching usage. It stands alone: a field that it lacks is not the charge's. */
export const FilePrice = Type.Object(
  {
    match: Type.Unsafe<Record<string, string>>({
      type: "object",
      minProperties: 1,
      additionalProperties: { type: "string" },
      description: "Dimensions of the metric and the values that they must have.",
    }),
    ...priceFields,
  },
  STRICT,
);

export const FileCharge = Type.Object(
  {
    type: OneOf(CHARGE_MODELS, "flat_fee is a fixed price; all others are by usage."),
    name: Type.Optional(
      Type.String({ ...Name, description: "On documents; else that of the metric or item." }),
    ),
    // Spec gap: `advance` is one more timing than the file's text names, as the API has it.
    invoice_timing: Type.Optional(
      Type.Unsafe<(typeof INVOICE_TIMINGS)[number]>({
        ...OneOf(INVOICE_TIMINGS, "arrears by default; usage is always billed in arrears."),
        default: "arrears",
      }),
    ),
    metric_ref: Type.Optional(Type.String({ ...Text, description: "Usage: code of the metric." })),
    ...priceFields,
    prices: Type.Optional(
      Type.Array(FilePrice, {
        minItems: 1,
        maxItems: PRICES_MAX,
        description: "Usage: prices of combinations of dimensions; the first that matches counts.",
      }),
    ),
    minimum_cents: Type.Optional(
      Type.Integer({ ...AmountCents, description: "Usage: what a full period costs at least." }),
    ),
    catalog_ref: Type.Optional(
      Type.String({ ...CatalogCode, description: "flat_fee: code of the catalog item." }),
    ),
    amount_override_cents: Type.Optional(
      Type.Integer({ ...AmountCents, description: "flat_fee: instead of the item's price." }),
    ),
    quantity_from: Type.Optional(
      Type.String({
        ...QuantityFrom,
        description: "flat_fee: subscription_property.<property_name>",
      }),
    ),
    quantity_mode: Type.Optional(
      Type.Unsafe<(typeof QUANTITY_MODES)[number]>({
        ...OneOf(QUANTITY_MODES, "flat_fee in arrears: how its quantity is taken."),
        default: "last",
      }),
    ),
    tax_codes: FileTaxCodes,
    properties: Type.Optional(FreeObject),
  },
  STRICT,
);
export type FileCharge = Static<typeof FileCharge>;

export const FilePlan = Type.Object(
  {
    code: Reference,
    name: Name,
    description: Description,
    interval: OneOf(INTERVALS),
    amount_cents: Type.Optional(Type.Integer({ ...AmountCents, default: 0 })),
    currency: Currency,
    minimum_cents: Type.Optional(
      Type.Integer({ ...AmountCents, default: 0, description: "A full period costs at least." }),
    ),
    base_timing: Type.Optional(
      Type.Unsafe<(typeof BASE_TIMINGS)[number]>({
        ...OneOf(BASE_TIMINGS, "advance bills the base fee when a period starts."),
        default: "arrears",
      }),
    ),
    trial_days: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: TRIAL_DAYS_MAX,
        default: 0,
        description: "A first period that is billed nothing.",
      }),
    ),
    tax_codes: FileTaxCodes,
    charges: Type.Optional(
      Type.Array(FileCharge, {
        maxItems: CHARGES_MAX,
        description: "The whole set, in the order of the invoice. Left out: stays as it is.",
      }),
    ),
  },
  STRICT,
);
export type FilePlan = Static<typeof FilePlan>;

export const FileDunning = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean({ default: false })),
    steps: Type.Optional(
      Type.Array(
        Type.Object(
          {
            days_after_due: Type.Integer({ minimum: 1, maximum: 3_650 }),
            webhook_event: OneOf(DUNNING_EVENTS),
          },
          STRICT,
        ),
        { maxItems: 20, description: "Required when enabled." },
      ),
    ),
  },
  STRICT,
);
export type FileDunning = Static<typeof FileDunning>;

export const FileWebhook = Type.Object(
  {
    url: Type.String({
      minLength: 1,
      maxLength: 2_048,
      description: "HTTPS URL. Endpoints are matched by it.",
    }),
    events: Type.Array(OneOf(WEBHOOK_EVENTS), { minItems: 1, maxItems: 20, uniqueItems: true }),
  },
  STRICT,
);
export type FileWebhook = Static<typeof FileWebhook>;

function section<T extends Parameters<typeof Type.Array>[0]>(entry: T, description: string) {
  return Type.Optional(Type.Array(entry, { maxItems: ENTRIES_MAX, description }));
}

export const ServiceFile = Type.Object(
  {
    version: Type.Unsafe<"1">({
      type: "string",
      enum: ["1"],
      description: 'Version of the file\'s form, quoted: "1".',
    }),
    org: slug("Slug of the organization."),
    workspace: slug("Slug of the workspace."),
    project: slug("Slug of the project that the file declares."),
    settings: Type.Optional(FileSettings),
    taxes: section(FileTax, "What tax_codes name. A new percentage counts from now on."),
    catalog: section(FileCatalogItem, "Priced products that plans and add-ons share."),
    metrics: section(FileMetric, "What is measured. [] where nothing is billed by usage."),
    addons: section(FileAddOn, "One-off items. Each has one price: catalog_ref or amount_cents."),
    plans: section(FilePlan, "What customers subscribe to."),
    coupons: section(FileCoupon, "Each takes percent or amount_cents off the price."),
    dunning: Type.Optional(FileDunning),
    webhooks: Type.Optional(
      Type.Array(FileWebhook, {
        maxItems: ENDPOINTS_MAX,
        description: "Endpoints that are absent here are not deleted.",
      }),
    ),
  },
  {
    ...STRICT,
    title: "service.yaml",
    description: "A project's declared state. Sections that are absent are left unchanged.",
  },
);
export type ServiceFile = Static<typeof ServiceFile>;
