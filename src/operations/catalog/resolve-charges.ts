// Looks up what charges refer to, for plans and for prices of one subscription's own, and turns
// them into the entries of a price list.

import { checkDimensions, highestRate, ownProperties } from "../../domain/charge-properties.ts";
import { type ChargeDraft, draftCharge } from "../../domain/charges.ts";
import type { PricedCharge } from "../../domain/pricing.ts";
import { notFound, refuse } from "../../errors.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { CatalogItem } from "../../schema/catalog.ts";
import type { Metric } from "../../schema/metrics.ts";
import type { ChargeInput } from "../../schema/plans.ts";
import type { Tax } from "../../schema/taxes.ts";
import * as catalog from "../../store/catalog/catalog.ts";
import * as metrics from "../../store/catalog/metrics.ts";
import type { ChargeRow, ChargeTerms } from "../../store/catalog/plans.ts";
import * as taxes from "../../store/catalog/taxes.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import { checkTaxCodes } from "./tax-codes.ts";

/** A charge with what it refers to. */
export type ResolvedCharge = ChargeTerms &
  Pick<
    ChargeRow,
    | "billable_metric_code"
    | "aggregation_type"
    | "dimensions"
    | "weighted_by"
    | "catalog_item_code"
    | "catalog_amount_cents"
  >;

/** How metrics, items and taxes are found: held still until the transaction ends, or only read. */
export type Finder = {
  readonly metrics: (wanted: {
    ids: readonly string[];
    codes: readonly string[];
  }) => Promise<readonly Metric[]>;
  readonly items: (codes: readonly string[]) => Promise<readonly CatalogItem[]>;
  readonly taxes: (codes: readonly string[]) => Promise<readonly Tax[]>;
};

export function holding(tx: Tx, project: ProjectId): Finder {
  return {
    metrics: (wanted) => metrics.lockLive(tx, project, wanted),
    items: (codes) => catalog.lockLive(tx, project, codes),
    taxes: (codes) => taxes.lockLive(tx, project, codes),
  };
}

export function reading(db: Queryable, project: ProjectId): Finder {
  return {
    metrics: (wanted) => metrics.listLive(db, project, wanted),
    items: (codes) => catalog.listLive(db, project, codes),
    taxes: (codes) => taxes.listLive(db, project, codes),
  };
}

/** `field` is where the charges stand in the request; "" for one that is the request. */
export async function resolveCharges(
  find: Finder,
  currency: string,
  inputs: readonly ChargeInput[],
  field: "charges" | "overrides.charges" | "",
): Promise<ResolvedCharge[]> {
  const prefixes = inputs.map((_, i) => (field === "" ? "" : `${field}[${i}].`));
  const drafts = inputs.map((input, i) => draftCharge(input, prefixes[i] ?? ""));
  const wanted = metricsOf(drafts);
  const codes = drafts.flatMap(({ catalog_item_code }) => catalog_item_code ?? []);
  const known = wanted.ids.length + wanted.codes.length === 0 ? [] : await find.metrics(wanted);
  const items = codes.length === 0 ? [] : await find.items(codes);
  const tax_codes = drafts.map((draft) => draft.tax_codes);
  await checkTaxCodes(find, tax_codes, field === "" ? "" : `${field}: `);
  return drafts.map((draft, position) => {
    const at = prefixes[position] ?? "";
    const metric = metricOf(draft, known, at);
    const item = itemOf(draft, items, currency, at);
    checkDimensions(draft.price, metric?.dimensions ?? [], inputs[position] ?? {}, at);
    const { metric: _metric, ...terms } = draft;
    return {
      ...terms,
      id: newId(),
      position,
      metric_id: metric?.id ?? null,
      billable_metric_code: metric?.code ?? null,
      aggregation_type: metric?.aggregation_type ?? null,
      dimensions: metric?.dimensions ?? null,
      weighted_by: metric?.weighted_by ?? null,
      catalog_item_id: item?.id ?? null,
      catalog_amount_cents: item?.amount_cents ?? null,
    };
  });
}

function metricsOf(drafts: readonly ChargeDraft[]) {
  const ids: string[] = [];
  const codes: string[] = [];
  for (const { metric } of drafts) {
    if (metric === null) continue;
    if ("id" in metric) ids.push(metric.id);
    else codes.push(metric.code);
  }
  return { ids, codes };
}

function metricOf(draft: ChargeDraft, known: readonly Metric[], at: string): Metric | undefined {
  const { metric } = draft;
  if (metric === null) return undefined;
  const match = known.find((row) =>
    "id" in metric ? row.id === metric.id : row.code === metric.code,
  );
  if (match !== undefined) return match;
  throw refuse("not_found", `${at}billable_metric_id: no live metric is known by this id or code.`);
}

function itemOf(
  draft: ChargeDraft,
  items: readonly CatalogItem[],
  currency: string,
  at: string,
): CatalogItem | undefined {
  if (draft.catalog_item_code === null) return undefined;
  const match = items.find((row) => row.code === draft.catalog_item_code);
  if (match === undefined) {
    throw notFound("live catalog item", { field: `${at}catalog_item_code`, by: "code" });
  }
  if (match.currency !== currency) {
    throw refuse(
      "currency_mismatch",
      `${at}catalog_item_code: ${match.code} is priced in ${match.currency}, the plan in ${currency}.`,
    );
  }
  return match;
}

type Priceable = Omit<ResolvedCharge, "metric_id" | "catalog_item_id" | "position"> & {
  readonly metric_id: string | null;
};

/** The entry of a price list: complete, so that a close needs nothing else. */
export function pricedCharge(charge: Priceable): PricedCharge {
  const { charge_model: model, price } = charge;
  const hasPrice = Object.keys(price).length > 0;
  return {
    id: charge.id,
    name: charge.name,
    charge_model: model,
    invoice_timing: charge.invoice_timing,
    metric_id: charge.metric_id,
    metric_code: charge.billable_metric_code,
    aggregation_type: charge.aggregation_type,
    rate: charge.rate,
    catalog_item_code: charge.catalog_item_code,
    unit_cents: charge.amount_override_cents ?? charge.catalog_amount_cents,
    quantity_from: charge.quantity_from,
    properties: hasPrice ? ownProperties(charge.properties) : charge.properties,
    ...(hasPrice ? { price } : {}),
    ...(charge.dimensions !== null && charge.dimensions.length > 0
      ? { dimensions: charge.dimensions }
      : {}),
    ...(charge.tax_codes === null ? {} : { tax_codes: charge.tax_codes }),
    ...(charge.weighted_by === null ? {} : { weighted_by: charge.weighted_by }),
    ...(model === "flat_fee" || !hasPrice ? {} : { highest_rate: highestRate(model, price) }),
  };
}
