// `dues plans|metrics|catalog|addons list` and `get`: what a file declares, as the service has it.

import type { Command } from "commander";
import type { AddOn, CatalogItem, Metric, Plan } from "../../client/types.ts";
import { addOnId, itemId, metricId, planId } from "../connection/refs.ts";
import type { Io } from "../terminal/io.ts";
import { money, plural } from "../terminal/output.ts";
import { getCommand, listCommand } from "./lists.ts";

export const ARCHIVED = { flag: "--archived", says: "archived ones too" };

export function archived(flags: { readonly [filter: string]: unknown }) {
  return flags.archived === true ? ({ archived: "1" } as const) : {};
}

function taxText(codes: readonly string[] | null): string | null {
  return codes === null ? null : codes.join(", ") || "none";
}

export function planReads(io: Io): Command[] {
  const list = listCommand<Plan>(io, {
    name: "plans",
    many: "plans",
    says: "List plans.",
    examples: [["dues plans list", ""]],
    filters: [ARCHIVED],
    columns: [
      { title: "CODE", of: (row) => row.code },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "INTERVAL", of: (row) => row.interval },
      { title: "BASE", right: true, of: (row) => money(row.amount_cents, row.amount_currency) },
      {
        title: "MINIMUM",
        right: true,
        where_set: true,
        of: (row) => (row.minimum_cents > 0 ? money(row.minimum_cents, row.amount_currency) : null),
      },
      {
        title: "TRIAL",
        where_set: true,
        of: (row) => (row.trial_days > 0 ? plural(row.trial_days, "day") : null),
      },
      { title: "TAXES", where_set: true, of: (row) => taxText(row.tax_codes) },
      { title: "CHARGES", right: true, of: (row) => row.charges.length },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, flags) => (await dues.listPlans(archived(flags))).plans,
  });
  const what = {
    name: "plans",
    says: "Show a plan with its charges.",
    ref: "plan",
    example: "pro",
  };
  return [list, getCommand(io, what, async (dues, ref) => dues.getPlan(await planId(dues, ref)))];
}

export function metricReads(io: Io): Command[] {
  const list = listCommand<Metric>(io, {
    name: "metrics",
    many: "metrics",
    says: "List billable metrics.",
    examples: [["dues metrics list", ""]],
    filters: [ARCHIVED],
    columns: [
      { title: "CODE", of: (row) => row.code },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "AGGREGATION", of: (row) => row.aggregation_type },
      { title: "FIELD", of: (row) => row.field_name },
      { title: "DIMENSIONS", where_set: true, cut: true, of: (row) => row.dimensions.join(", ") },
      { title: "WEIGHTED BY", where_set: true, of: (row) => row.weighted_by },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, flags) => (await dues.listMetrics(archived(flags))).metrics,
  });
  const what = { name: "metrics", says: "Show a metric.", ref: "metric", example: "api_calls" };
  return [
    list,
    getCommand(io, what, async (dues, ref) => dues.getMetric(await metricId(dues, ref))),
  ];
}

export function catalogReads(io: Io): Command[] {
  const list = listCommand<CatalogItem>(io, {
    name: "catalog",
    many: "catalog_items",
    says: "List catalog items.",
    examples: [["dues catalog list", ""]],
    filters: [ARCHIVED],
    columns: [
      { title: "CODE", of: (row) => row.code },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "PRICE", right: true, of: (row) => money(row.amount_cents, row.currency) },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, flags) => (await dues.listCatalogItems(archived(flags))).catalog_items,
  });
  const what = { name: "catalog", says: "Show a catalog item.", ref: "item", example: "seat" };
  return [
    list,
    getCommand(io, what, async (dues, ref) => dues.getCatalogItem(await itemId(dues, ref))),
  ];
}

export function addOnReads(io: Io): Command[] {
  const list = listCommand<AddOn>(io, {
    name: "addons",
    many: "add_ons",
    says: "List add-ons.",
    examples: [["dues addons list", ""]],
    filters: [ARCHIVED],
    columns: [
      { title: "CODE", of: (row) => row.code },
      { title: "NAME", cut: true, of: (row) => row.name },
      { title: "PRICE", right: true, of: (row) => money(row.amount_cents, row.currency) },
      { title: "TAXES", where_set: true, of: (row) => taxText(row.tax_codes) },
      { title: "ITEM", of: (row) => row.catalog_item_code },
      { title: "ID", drop: 1, of: (row) => row.id },
    ],
    read: async (dues, flags) => (await dues.listAddOns(archived(flags))).add_ons,
  });
  const what = { name: "addons", says: "Show an add-on.", ref: "addon", example: "onboarding" };
  return [list, getCommand(io, what, async (dues, ref) => dues.getAddOn(await addOnId(dues, ref)))];
}
