// Writes the present state of a project as a service.yaml; syncing that file changes nothing.

import { Document, visit } from "yaml";
import type {
  AddOn,
  CatalogItem,
  Coupon,
  Metric,
  Plan,
  Settings,
  Tax,
} from "../../client/types.ts";
import type {
  FileAddOn,
  FileCatalogItem,
  FileMetric,
  FilePlan,
  ServiceFile,
} from "../../schema/service-file.ts";
import type { FileCoupon, FileSettings, FileTax } from "../../schema/service-file-money.ts";
import { NEW_SETTINGS } from "../../schema/settings.ts";
import { parsedUrl } from "../../schema/urls.ts";
import { visible, visibleJson } from "../terminal/visible.ts";
import { fileCharge } from "./charge-terms.ts";
import { urlFault } from "./checking/webhook-url.ts";
import { liveOf } from "./comparing.ts";
import type { Present, PresentEndpoint } from "./present-state.ts";

export type Slugs = Pick<ServiceFile, "org" | "workspace" | "project">;

/** Archived records are left out. `name` is the project's own. */
export function exportFile(slugs: Slugs, present: Present, name: string): ServiceFile {
  const { dunning } = present;
  const settings = settingsEntry(present.settings, name);
  const taxes = byCode(liveOf(present.taxes)).map(taxEntry);
  const coupons = byCode(liveOf(present.coupons)).map(couponEntry);
  return {
    version: "1",
    ...slugs,
    ...(Object.keys(settings).length > 0 && { settings }),
    ...(taxes.length > 0 && { taxes }),
    catalog: byCode(liveOf(present.catalog)).map(catalogEntry),
    metrics: byCode(liveOf(present.metrics)).map(metricEntry),
    addons: byCode(liveOf(present.addons)).map(addOnEntry),
    plans: byCode(liveOf(present.plans)).map(planEntry),
    ...(coupons.length > 0 && { coupons }),
    ...(dunning && {
      dunning: {
        enabled: dunning.enabled,
        steps: [...dunning.steps] as NonNullable<ServiceFile["dunning"]>["steps"] & object,
      },
    }),
    webhooks: declared(present.webhooks)
      .toSorted((a, b) => (a.url < b.url ? -1 : 1))
      .map(({ url, events }) => ({ url, events: [...events] as FileEvents })),
  };
}

/** One endpoint for each URL, the oldest, which is the one that a sync looks at. */
function declared(endpoints: readonly PresentEndpoint[]): PresentEndpoint[] {
  const oldest = endpoints.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1));
  const first = new Map<string, PresentEndpoint>();
  for (const each of oldest) {
    const href = parsedUrl(each.url)?.href ?? each.url;
    if (urlFault(each.url) === undefined && !first.has(href)) first.set(href, each);
  }
  return [...first.values()];
}

type FileEvents = NonNullable<ServiceFile["webhooks"]>[number]["events"];

export function exportText(slugs: Slugs, present: Present, name: string): string {
  const kept = new Set(declared(present.webhooks));
  const notes = present.webhooks
    .filter((each) => !kept.has(each))
    .map(({ url }) => `# Left out: ${visible(url)} ${urlFault(url) ?? "is declared already"}\n`);
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

/** In the order of their codes, which does not change from one export to the next. */
function byCode<T extends { readonly code: string }>(records: readonly T[]): T[] {
  return records.toSorted((a, b) => (a.code < b.code ? -1 : 1));
}

/** Only what differs from a new project's settings. `name` is the project's own. */
function settingsEntry(settings: Settings, name: string): FileSettings {
  const fresh: Settings = { name, ...NEW_SETTINGS };
  const names = Object.keys(fresh) as (keyof Settings)[];
  const set = names.filter((field) => settings[field] !== fresh[field]);
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
