// The company of the demo: who it is, what it measures, its prices, taxes and coupons. It sells
// access to language models, by the token, and is at home in Ireland.

import type { Dues } from "../../client/dues.ts";
import type {
  ChargeInput,
  CreatePlanBody,
  SetSettingsBody,
  UpsertTaxBody,
} from "../../client/types.ts";
import { formatDecimal } from "../../domain/decimal.ts";

export const COMPANY = "Lumen Models";

const SETTINGS: SetSettingsBody = {
  name: `${COMPANY} Ltd`,
  address: "12 Grand Canal Quay",
  city: "Dublin",
  postal_code: "D02 P820",
  country: "IE",
  tax_id: "IE3206488LH",
  tax_codes: [],
  logo_color: "#4338ca",
  footer: `${COMPANY} Ltd is a company that does not exist. These are demo data.`,
  net_payment_days: 14,
  default_currency: "USD",
  late_usage_periods: 2,
};

const TAXES: readonly UpsertTaxBody[] = [
  { code: "vat-ie", name: "VAT", percent: "23", description: "Ireland" },
  { code: "vat-de", name: "MwSt.", percent: "19", description: "Germany, one stop shop" },
  { code: "vat-fr", name: "TVA", percent: "20", description: "France, one stop shop" },
  { code: "vat-es", name: "IVA", percent: "21", description: "Spain, one stop shop" },
  { code: "vat-gr", name: "ΦΠΑ", percent: "24", description: "Greece, one stop shop" },
  { code: "vat-se", name: "Moms", percent: "25", description: "Sweden, one stop shop" },
  { code: "us-ca", name: "Sales tax", percent: "7.25", description: "California" },
  { code: "us-ny", name: "Sales tax", percent: "8.875", description: "New York City" },
  { code: "us-wa", name: "Sales tax", percent: "10.35", description: "Seattle" },
];

export const MODELS = ["nova-mini", "nova", "nova-max"] as const;
export const REGIONS = ["us", "eu", "apac"] as const;

/** `cents` are for a million tokens; `percent` is what the plan pays of the list price. */
function tokenPrice(cents: number, percent: number): string {
  return formatDecimal({ digits: BigInt(cents * percent), scale: 10 });
}

/** Dearest model and region first: the first that matches counts. */
function tokenPrices(percent: number): ChargeInput {
  const price = (cents: number) => tokenPrice(cents, percent);
  return {
    name: "Tokens",
    charge_model: "standard",
    billable_metric_code: "tokens",
    rate: price(60),
    prices: [
      { match: { model: "nova-max", region: "apac" }, amount: price(1_200) },
      { match: { model: "nova-max" }, amount: price(1_000) },
      { match: { model: "nova", region: "apac" }, amount: price(300) },
      { match: { model: "nova" }, amount: price(250) },
    ],
  };
}

function requestTiers(free: string): ChargeInput {
  return {
    name: "Requests",
    charge_model: "graduated",
    billable_metric_code: "requests",
    tiers: [
      { up_to: free, amount: "0" },
      { up_to: "5000000", amount: "0.0004" },
      { up_to: null, amount: "0.0002" },
    ],
  };
}

const IMAGES: ChargeInput = {
  name: "Images, by the hundred",
  charge_model: "package",
  billable_metric_code: "images",
  rate: "4",
  package_size: "100",
};

const STORAGE: ChargeInput = {
  name: "Stored vectors, GB",
  charge_model: "volume",
  billable_metric_code: "storage",
  tiers: [
    { up_to: "100", amount: "0.25" },
    { up_to: null, amount: "0.18" },
  ],
};

function seats(catalog_item_code: string): ChargeInput {
  return {
    name: "Seats",
    charge_model: "flat_fee",
    catalog_item_code,
    quantity_from: "subscription_property.seats",
  };
}

/** Prices in other currencies are prices of their own, not converted. */
const PLANS: readonly CreatePlanBody[] = [
  {
    ...{ code: "starter", name: "Starter", interval: "monthly", trial_days: 14 },
    ...{ amount_cents: 2_900, amount_currency: "USD" },
    charges: [tokenPrices(100), requestTiers("50000")],
  },
  {
    ...{ code: "team", name: "Team", interval: "monthly", base_timing: "advance" },
    ...{ amount_cents: 19_900, amount_currency: "USD" },
    charges: [tokenPrices(90), requestTiers("250000"), seats("seat"), IMAGES],
  },
  {
    ...{ code: "team-eur", name: "Team", interval: "monthly", base_timing: "advance" },
    ...{ amount_cents: 18_900, amount_currency: "EUR" },
    charges: [tokenPrices(85), requestTiers("250000"), seats("seat-eur"), IMAGES],
  },
  {
    ...{ code: "team-jpy", name: "Team", interval: "monthly", base_timing: "advance" },
    ...{ amount_cents: 29_800, amount_currency: "JPY" },
    charges: [tokenPrices(14_000), requestTiers("250000")],
  },
  {
    ...{ code: "scale", name: "Scale", interval: "monthly", minimum_cents: 250_000 },
    ...{ amount_cents: 149_900, amount_currency: "USD" },
    charges: [tokenPrices(70), requestTiers("1000000"), STORAGE, IMAGES],
  },
  {
    ...{ code: "scale-eur", name: "Scale", interval: "monthly", minimum_cents: 240_000 },
    ...{ amount_cents: 139_900, amount_currency: "EUR" },
    charges: [tokenPrices(66), requestTiers("1000000"), STORAGE, IMAGES],
  },
  {
    ...{ code: "annual", name: "Scale, by the year", interval: "yearly", base_timing: "advance" },
    ...{ amount_cents: 1_499_000, amount_currency: "USD" },
    charges: [tokenPrices(60)],
  },
];

export type Company = {
  readonly plans: ReadonlyMap<string, string>;
  readonly coupons: ReadonlyMap<string, string>;
  readonly add_on: string;
};

/** Makes all of it, in an order in which everything named is there. */
export async function foundCompany(dues: Dues): Promise<Company> {
  await dues.setSettings(SETTINGS);
  for (const tax of TAXES) await dues.upsertTax(tax);
  await dues.createMetric({
    ...{ code: "tokens", name: "Tokens", aggregation_type: "sum", field_name: "tokens" },
    dimensions: ["model", "region"],
  });
  const sum = { aggregation_type: "sum", field_name: "count" } as const;
  await dues.createMetric({ code: "requests", name: "Requests", ...sum });
  await dues.createMetric({ code: "images", name: "Images", ...sum });
  await dues.createMetric({
    ...{ code: "storage", name: "Stored vectors", aggregation_type: "weighted_sum" },
    ...{ field_name: "gigabytes", weighted_by: "period" },
  });
  const seat = { name: "Seat", amount_cents: 1_500 };
  await dues.upsertCatalogItem({ ...seat, code: "seat" });
  await dues.upsertCatalogItem({ ...seat, code: "seat-eur", amount_cents: 1_400, currency: "EUR" });
  const { add_on } = await dues.upsertAddOn({
    ...{ code: "onboarding", name: "Onboarding", amount_cents: 75_000 },
    description: "A day with an engineer",
  });
  const plans = new Map<string, string>();
  for (const body of PLANS) plans.set(body.code, (await dues.createPlan(body)).plan.id);
  await setUpDunning(dues);
  return { plans, coupons: await makeCoupons(dues), add_on: add_on.id };
}

async function makeCoupons(dues: Dues): Promise<Map<string, string>> {
  const coupons = new Map<string, string>();
  for (const body of [
    { code: "launch20", name: "Launch: 20 % for three months", percent: "20", times: 3 },
    { code: "nonprofit", name: "Non-profit: 30 % for ever", percent: "30" },
    { code: "startup", name: "Startup pot", amount_cents: 50_000, currency: "USD" },
  ]) {
    coupons.set(body.code, (await dues.upsertCoupon(body)).coupon.id);
  }
  return coupons;
}

/** The endpoint answers nothing: its name is reserved for that. */
export const FAILING_ENDPOINT = "https://hooks.lumen-models.invalid/dues";

async function setUpDunning(dues: Dues): Promise<void> {
  await dues.setDunning({
    enabled: true,
    steps: [
      { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
      { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
      { days_after_due: 14, webhook_event: "subscription.suspend_requested" },
      { days_after_due: 30, webhook_event: "subscription.terminate_requested" },
    ],
  });
  await dues.createWebhook({
    url: FAILING_ENDPOINT,
    events: ["subscription.suspend_requested", "subscription.terminate_requested"],
  });
}
