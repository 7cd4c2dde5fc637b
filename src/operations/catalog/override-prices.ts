// Prices that one subscription has of its own: checked as a plan's are, and kept as a list of their
// own for the plan that they belong to.

import { groupBy } from "../../domain/group-by.ts";
import type { Override, PriceLists } from "../../domain/price-lists.ts";
import type { PricedCharge } from "../../domain/pricing.ts";
import type { ProjectId } from "../../ids.ts";
import type { ChargeInput } from "../../schema/plans.ts";
import type { Overrides } from "../../schema/subscriptions.ts";
import * as priceOverrides from "../../store/catalog/price-overrides.ts";
import type { Tx } from "../../store/db/db.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import {
  type Finder,
  pricedCharge,
  type ResolvedCharge,
  resolveCharges,
} from "./resolve-charges.ts";

/** A list that is not numbered yet, and how callers see it. */
export type NewOverride = Pick<Override, "amount_cents" | "minimum_cents" | "charges"> & {
  readonly overrides: Overrides | null;
};

const NONE: NewOverride = {
  amount_cents: null,
  minimum_cents: null,
  charges: null,
  overrides: null,
};

/** Looks up what sent overrides refer to. Null removes all of them. */
export async function resolveOverrides(
  find: Finder,
  currency: string,
  sent: Overrides | null | undefined,
): Promise<NewOverride> {
  if (sent === null || sent === undefined) return NONE;
  const { amount_cents, minimum_cents, charges } = sent;
  const resolved = charges && (await resolveCharges(find, currency, charges, "overrides.charges"));
  return {
    amount_cents: amount_cents ?? null,
    minimum_cents: minimum_cents ?? null,
    charges: resolved?.map(pricedCharge) ?? null,
    overrides: {
      ...(amount_cents === undefined ? {} : { amount_cents }),
      ...(minimum_cents === undefined ? {} : { minimum_cents }),
      ...(resolved === undefined ? {} : { charges: resolved.map(shownCharge) }),
    },
  };
}

/** A charge in the API's own words, whatever words it was sent in. */
function shownCharge(charge: ResolvedCharge): ChargeInput {
  const { name, charge_model, billable_metric_code, catalog_item_code } = charge;
  const { amount_override_cents, quantity_from, invoice_timing, properties } = charge;
  return {
    name,
    charge_model,
    billable_metric_code,
    catalog_item_code,
    amount_override_cents,
    quantity_from,
    invoice_timing,
    ...(charge.tax_codes === null ? {} : { tax_codes: charge.tax_codes }),
    properties,
  };
}

/** The subscription must be locked. */
export async function recordOverride(
  tx: Tx,
  project: ProjectId,
  of: {
    readonly subscription_id: string;
    readonly plan_id: string;
    readonly effective_at: Date;
  },
  override: NewOverride,
): Promise<void> {
  const [newest] = await priceOverrides.list(tx, project, [of.subscription_id]);
  // Nothing to drop.
  if (newest === undefined && override.overrides === null) return;
  const override_no = (newest?.override_no ?? 0) + 1;
  await priceOverrides.insert(tx, project, [{ ...of, ...override, override_no }]);
}

/** The price lists as they would be with the override, for a preview. */
export function withNewOverride(
  lists: PriceLists,
  of: { readonly plan_id: string; readonly effective_at: Date },
  override: NewOverride,
): PriceLists {
  const override_no = (lists.overrides[0]?.override_no ?? 0) + 1;
  return { ...lists, overrides: [{ ...of, ...override, override_no }, ...lists.overrides] };
}

/** Gives the lists that take a price from a catalog item its new one. */
export async function repriceOverrides(
  tx: Tx,
  project: ProjectId,
  item: Item,
  now: Date,
): Promise<void> {
  const ids = await priceOverrides.listPricedBy(tx, project, item);
  if (ids.length === 0) return;
  // Numbers are given under the lock of the subscription.
  await subscriptions.lockAll(tx, project, ids);
  const lists = groupBy(await priceOverrides.list(tx, project, ids), (row) => row.subscription_id);
  const rows = [...lists.values()].flatMap((own) => repriced(own, item, now));
  await priceOverrides.insert(tx, project, rows);
}

type Item = {
  readonly code: string;
  readonly amount_cents: number;
  readonly currency: string;
};

/**
 * The next lists of one subscription, one a plan whose newest list names the item. `own`: newest
 * first.
 */
function repriced(
  own: readonly priceOverrides.OverrideRow[],
  item: Item,
  now: Date,
): priceOverrides.OverrideRow[] {
  const last = own[0]?.override_no ?? 0;
  const newest = [...groupBy(own, ({ plan_id }) => plan_id).values()].flatMap(([row]) => row ?? []);
  return newest
    .filter(({ charges }) => charges?.some(({ catalog_item_code: code }) => code === item.code))
    .map((row, i) => ({
      ...row,
      override_no: last + 1 + i,
      charges: row.charges?.map((charge, at) => repricedCharge(charge, row, at, item)) ?? null,
      effective_at: now,
    }));
}

/** A charge with an amount of its own keeps it. */
function repricedCharge(
  charge: PricedCharge,
  { overrides }: priceOverrides.OverrideRow,
  at: number,
  item: Item,
): PricedCharge {
  const own = overrides?.charges?.[at]?.amount_override_cents ?? null;
  const isPriced = charge.catalog_item_code === item.code && own === null;
  return isPriced ? { ...charge, unit_cents: item.amount_cents } : charge;
}
