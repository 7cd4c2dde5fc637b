// The steps for what plans are made of: catalog items, metrics and add-ons.

import type { AddOn, Metric } from "../../../client/types.ts";
import type { FileAddOn, FileCatalogItem, FileMetric } from "../../../schema/service-file.ts";
import {
  type Change,
  changesBetween,
  changesOfNew,
  changesOfRestored,
  codeSet,
  liveOf,
} from "../comparing.ts";
import type { Present } from "../present-state.ts";
import type { References } from "./references.ts";
import { putStep, type Step, stepsLeftAlone, type TellFault } from "./steps.ts";

const ITEM_FIELDS = ["name", "amount_cents", "currency", "metadata"];

export function itemSteps(
  wanted: readonly FileCatalogItem[],
  present: Present,
  tell: TellFault,
): Step[] {
  const steps = wanted.map((entry, i): Step => {
    const item = { ...entry, currency: entry.currency ?? "USD" };
    const found = present.catalog.find(({ code }) => code === item.code);
    const request = { operation: "upsertCatalogItem", body: item } as const;
    if (found === undefined)
      return putStep("catalog", item.code, found, changesOfNew(item), request);
    // Spec gap: metadata that the file leaves out stays as it is.
    const changes = [...changesOfRestored(found), ...changesBetween(found, item, ITEM_FIELDS)];
    const users = usersOf(item.code, present);
    const other = users.find((user) => user.currency !== item.currency);
    if (other !== undefined) {
      tell(
        ["catalog", i, "currency"],
        `The plan ${other.code} takes this item's price in ${other.currency}.`,
        "Give the item in another currency a code of its own.",
      );
    }
    const isRepriced = changes.some(({ field }) => field === "amount_cents");
    const reprices = isRepriced ? users.filter((user) => user.pays).map(({ code }) => code) : [];
    return { ...putStep("catalog", item.code, found, changes, request), reprices };
  });
  return [...steps, ...stepsLeftAlone("catalog", wanted, liveOf(present.catalog))];
}

/** The plans with charges for an item, and whether one of those pays the item's own price. */
function usersOf(item_code: string, { plans }: Present) {
  return plans.flatMap(({ code, amount_currency: currency, charges }) => {
    const own = charges.filter(({ catalog_item_code }) => catalog_item_code === item_code);
    const pays = own.some(({ amount_override_cents }) => amount_override_cents === null);
    return own.length === 0 ? [] : [{ code, currency, pays }];
  });
}

/** What a metric is when its file does not say so. */
const METRIC_DEFAULTS = { field_name: null, dimensions: [], weighted_by: null };
const COUNTED_BY = ["aggregation_type", ...Object.keys(METRIC_DEFAULTS)];

export function metricSteps(
  wanted: readonly FileMetric[],
  present: Present,
  tell: TellFault,
): Step[] {
  const steps = wanted.map((metric, i): Step => {
    const found = present.metrics.find(({ code }) => code === metric.code);
    if (found !== undefined) tellOtherCounting(metric, found, i, tell);
    // An archived one comes back under its id, and counts as it did: else that was just told.
    if (found === undefined || found.archived_at !== null) {
      const request = { operation: "createMetric", body: metric } as const;
      return putStep("metrics", metric.code, undefined, changesOfNew(metric), request);
    }
    const changes = changesBetween(found, metric, ["name"]);
    const body = { name: metric.name };
    const request = { operation: "updateMetric", id: found.id, body } as const;
    return putStep("metrics", metric.code, found, changes, request);
  });
  return [...steps, ...stepsLeftAlone("metrics", wanted, liveOf(present.metrics))];
}

function tellOtherCounting(wanted: FileMetric, found: Metric, i: number, tell: TellFault): void {
  const changes = changesBetween(found, { ...METRIC_DEFAULTS, ...wanted }, COUNTED_BY);
  for (const { field, from, to } of changes) {
    tell(
      ["metrics", i, field],
      `${field} of a metric never changes (it is ${inWords(from)}, the file says ${inWords(to)}).`,
      "Usage was counted by it: declare a metric with a new code, and use that one in the plans.",
    );
  }
}

function inWords(value: unknown): string {
  return [value].flat().join(", ") || "none";
}

const ADD_ON_FIELDS = [
  "name",
  "description",
  "catalog_item_code",
  "amount_cents",
  "currency",
  "tax_codes",
];

export function addOnSteps(
  wanted: readonly FileAddOn[],
  present: Present,
  references: References,
): Step[] {
  const steps = wanted.map((addOn, i): Step => {
    const { code, name, catalog_ref } = addOn;
    const found = present.addons.find((each) => each.code === code);
    const item =
      catalog_ref === undefined
        ? undefined
        : references.item(catalog_ref, ["addons", i, "catalog_ref"]);
    references.taxes(addOn.tax_codes, ["addons", i]);
    // Spec gap: a description that the file leaves out stays as it is.
    const description =
      addOn.description === undefined ? (found?.description ?? null) : addOn.description;
    const body = {
      code,
      name,
      description,
      ...priceOf(addOn),
      tax_codes: codeSet(addOn.tax_codes),
    };
    const request = { operation: "upsertAddOn", body } as const;
    if (found === undefined) return putStep("addons", code, found, changesOfNew(body), request);
    const { amount_cents, currency } = item ?? {};
    const now = { catalog_item_code: null, amount_cents, currency, ...body };
    const changes = addOnChanges(found, now, catalog_ref);
    return putStep("addons", code, found, changes, request);
  });
  return [...steps, ...stepsLeftAlone("addons", wanted, liveOf(present.addons))];
}

function priceOf({ catalog_ref, amount_cents, currency = "USD" }: FileAddOn) {
  if (catalog_ref !== undefined) return { catalog_item_code: catalog_ref };
  return { ...(amount_cents !== undefined && { amount_cents }), currency };
}

function addOnChanges(found: AddOn, now: object, catalog_ref: string | undefined): Change[] {
  const before = { ...found, tax_codes: codeSet(found.tax_codes) };
  const fields =
    catalog_ref !== undefined && catalog_ref === found.catalog_item_code
      ? // A new price of the item itself is told where the item stands.
        ADD_ON_FIELDS.filter((field) => field !== "amount_cents" && field !== "currency")
      : ADD_ON_FIELDS;
  return [...changesOfRestored(found), ...changesBetween(before, now, fields)];
}
