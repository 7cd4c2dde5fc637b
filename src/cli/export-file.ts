// Writes the present state of a project as a service.yaml; syncing that file changes nothing.

import { Document, visit } from "yaml";
import type { AddOn, CatalogItem, Metric, Plan } from "../client/types.ts";
import type {
  FileAddOn,
  FileCatalogItem,
  FileMetric,
  FilePlan,
  ServiceFile,
} from "../schema/service-file.ts";
import { urlFault } from "./check-file.ts";
import { fileCharge } from "./sync-plan-charges.ts";
import type { Present } from "./sync-plan-parts.ts";
import { visible, visibleJson } from "./visible.ts";

export type Slugs = Pick<ServiceFile, "org" | "workspace" | "project">;

/** Live records only, in the order of their codes. */
export function exportFile(slugs: Slugs, present: Present): ServiceFile {
  const { dunning } = present;
  return {
    version: "1",
    ...slugs,
    catalog: live(present.catalog).map(catalogEntry),
    metrics: live(present.metrics).map(metricEntry),
    addons: live(present.addons).map(addOnEntry),
    plans: live(present.plans).map(planEntry),
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

export function exportText(slugs: Slugs, present: Present): string {
  const left = present.webhooks.filter(({ url }) => urlFault(url) !== undefined);
  const notes = left.map(({ url }) => `# Left out, not https: ${visible(url)}\n`);
  const head =
    "# yaml-language-server: $schema=./docs/service.schema.json\n" +
    "# Written by dues export. dues sync applies it; dues diff compares.\n\n";
  const document = new Document(exportFile(slugs, present), { version: "1.2" });
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
  return {
    code,
    name,
    ...(description !== null && { description }),
    ...(catalog_item_code === null
      ? { amount_cents, currency }
      : { catalog_ref: catalog_item_code }),
  };
}

function planEntry(plan: Plan): FilePlan {
  const { code, name, description, interval, amount_cents, amount_currency, charges } = plan;
  const { minimum_cents, base_timing, trial_days } = plan;
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
    charges: charges.map(fileCharge),
  };
}
