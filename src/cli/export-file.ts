// Writes the present state of a project as a service.yaml; syncing that file changes nothing.

import { Document, visit } from "yaml";
import type { AddOn, CatalogItem, Coupon, Metric, Plan, Settings, Tax } from "../client/types.ts";
import type {
  FileAddOn,
  FileCatalogItem,
  FileMetric,
  FilePlan,
  ServiceFile,
} from "../schema/service-file.ts";
import type { FileCoupon, FileSettings, FileTax } from "../schema/service-file-money.ts";
import { urlFault } from "./check-file.ts";
import { fileCharge } from "./sync-plan-charges.ts";
import type { Present } from "./sync-plan-parts.ts";
import { visible, visibleJson } from "./visible.ts";

export type Slugs = Pick<ServiceFile, "org" | "workspace" | "project">;

/** Live records only, in the order of their codes. `name` is the project's own. */
export function exportFile(slugs: Slugs, present: Present, name: string): ServiceFile {
  const { dunning } = present;
  const settings = settingsEntry(present.settings, name);
  const taxes = live(present.taxes).map(taxEntry);
  const coupons = live(present.coupons).map(couponEntry);
  return {
    version: "1",
    ...slugs,
    ...(Object.keys(settings).length > 0 && { settings }),
    ...(taxes.length > 0 && { taxes }),
    catalog: live(present.catalog).map(catalogEntry),
    metrics: live(present.metrics).map(metricEntry),
    addons: live(present.addons).map(addOnEntry),
    plans: live(present.plans).map(planEntry),
    ...(coupons.length > 0 && { coupons }),
    ...(dunning && {
      dunning: {
        enabled: dunning.enabled,
        steps: [...dunning.steps] as NonNullable<ServiceFile["dunning"]>["steps"] & object,
      },
    }),
    webhooks: present.webhooks
      .filter(({ url }) => urlFault(url) === undefined)
      .toSorted((a, b) => (a.url < b.url ? -1 : 1))
      .map(({ url, events }) => ({ url, events: [...events] as FileEvents })),
  };
}

type FileEvents = NonNullable<ServiceFile["webhooks"]>[number]["events"];

export function exportText(slugs: Slugs, present: Present, name: string): string {
  const left = present.webhooks.filter(({ url }) => urlFault(url) !== undefined);
  const notes = left.map(({ url }) => `# Left out, not https: ${visible(url)}\n`);
  const head =
    "# yaml-language-server: $schema=./docs/service.schema.json\n" +
    "# Written by dues export. dues sync applies it; dues diff compares.\n\n";
  const document = new Document(exportFile(slugs, present, name), { version: "1.2" });
  // What is escaped below must stand in double quotes, where an escape means the character.
  visit(document, {
    Scalar(_key, node) {
      if (typeof node.value === "string" && visible(node.value) !== node.value) {
        node.type = "QUOTE_DOUBLE";
      }
    },
  });
  const body = visibleJson(document.toString({ lineWidth: 0 }));
  return `${head}${notes.join("")}${body}`;
}

function live<T extends { readonly archived_at: string | null; readonly code: string }>(
  list: readonly T[],
): T[] {
  return list
    .filter(({ archived_at }) => archived_at === null)
    .toSorted((a, b) => (a.code < b.code ? -1 : 1));
}

/** What a project has that nobody has set. */
const UNSET: Omit<Settings, "name"> = {
  address: "",
  city: "",
  postal_code: "",
  region: "",
  country: "",
  tax_id: "",
  tax_codes: null,
  footer: "",
  invoice_prefix: "INV",
  credit_note_prefix: "CN",
  payment_url: "",
  payment_instructions: "",
  support_email: "",
  logo_color: "#3347c4",
  net_payment_days: 14,
  default_currency: "USD",
  late_usage_periods: 2,
  portal_access: "open",
};

function settingsEntry(settings: Settings, name: string): FileSettings {
  const unset: Settings = { name, ...UNSET };
  const names = Object.keys(unset) as (keyof Settings)[];
  const set = names.filter((field) => settings[field] !== unset[field]);
  return Object.fromEntries(set.map((field) => [field, settings[field]]));
}

function taxEntry({ code, name, percent, description }: Tax): FileTax {
  return { code, name, percent, ...(description !== null && { description }) };
}

function couponEntry(coupon: Coupon): FileCoupon {
  const { code, name, percent, amount_cents, currency, times } = coupon;
  const { plan_codes, metric_codes, redeem_by, max_redemptions } = coupon;
  return {
    code,
    name,
    ...(percent !== null && { percent }),
    ...(amount_cents !== null && { amount_cents }),
    ...(currency !== null && { currency }),
    ...(times !== 1 && { times }),
    ...(plan_codes !== null && { plan_codes }),
    ...(metric_codes !== null && { metric_codes }),
    ...(redeem_by !== null && { redeem_by }),
    ...(max_redemptions !== null && { max_redemptions }),
  };
}

function catalogEntry({ code, name, amount_cents, currency, metadata }: CatalogItem) {
  const free = Object.keys(metadata).length > 0;
  const entry = { code, name, amount_cents, currency, ...(free && { metadata }) };
  return entry as FileCatalogItem;
}

function metricEntry(metric: Metric): FileMetric {
  const { code, name, aggregation_type, field_name, dimensions, weighted_by } = metric;
  return {
    code,
    name,
    aggregation_type,
    ...(field_name !== null && { field_name }),
    ...(dimensions.length > 0 && { dimensions: [...dimensions] }),
    ...(weighted_by !== null && { weighted_by }),
  };
}

function addOnEntry(addOn: AddOn): FileAddOn {
  const { code, name, description, catalog_item_code, amount_cents, currency } = addOn;
  const { tax_codes } = addOn;
  return {
    code,
    name,
    ...(description !== null && { description }),
    ...(catalog_item_code === null
      ? { amount_cents, currency }
      : { catalog_ref: catalog_item_code }),
    ...(tax_codes !== null && { tax_codes }),
  };
}

function planEntry(plan: Plan): FilePlan {
  const { code, name, description, interval, amount_cents, amount_currency, charges } = plan;
  const { minimum_cents, base_timing, trial_days, tax_codes } = plan;
  return {
    code,
    name,
    ...(description !== null && { description }),
    interval,
    amount_cents,
    currency: amount_currency,
    ...(minimum_cents > 0 && { minimum_cents }),
    ...(base_timing !== "arrears" && { base_timing }),
    ...(trial_days > 0 && { trial_days }),
    ...(tax_codes !== null && { tax_codes }),
    charges: charges.map(fileCharge),
  };
}
