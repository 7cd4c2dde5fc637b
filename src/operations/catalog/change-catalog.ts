// Upserts and archives catalog items. A new price reaches the price lists of the plans that use it.

import { changedFields } from "../../domain/changed-fields.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { CatalogItem, CatalogUpsert } from "../../schema/catalog.ts";
import * as catalog from "../../store/catalog/catalog.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as priceOverrides from "../../store/catalog/price-overrides.ts";
import type { Tx } from "../../store/db/db.ts";
import { type By, emit, updated } from "../emit.ts";
import { repriceOverrides } from "./override-prices.ts";
import { pricePlans } from "./price-plans.ts";

export async function upsertCatalogItem(
  tx: Tx,
  project: ProjectId,
  input: CatalogUpsert,
  by: By,
  now: Date,
): Promise<{ item: CatalogItem; created: boolean }> {
  const terms = { currency: "USD", metadata: {}, ...input };
  const inserted = await catalog.insert(tx, project, terms, now);
  if (inserted !== undefined) {
    await catalog.insertPrice(tx, project, inserted, now);
    const payload = { code: inserted.code, amount_cents: inserted.amount_cents };
    await emit(
      tx,
      project,
      [{ type: "catalog_item.created", resource_id: inserted.id, payload }],
      by,
      now,
    );
    return { item: inserted, created: true };
  }
  return { item: await update(tx, project, input, by, now), created: false };
}

const CHANGING = ["name", "amount_cents", "currency", "metadata", "archived_at"];

/** What the caller leaves out keeps its value: an upsert by code is not a reset. */
async function update(tx: Tx, project: ProjectId, input: CatalogUpsert, by: By, now: Date) {
  const before = await catalog.lockByCode(tx, project, input.code);
  if (before === undefined) throw new Error(`Catalog item ${input.code} vanished.`);
  // Making a plan locks the item until the commit, so a plan that is made meanwhile is seen here.
  const users = await catalog.pricedPlans(tx, project, before.id);
  const locked = await plans.lock(tx, project, users);
  const terms = { ...before, ...input };
  const repriced = terms.amount_cents !== before.amount_cents || terms.currency !== before.currency;
  const other = locked.find((plan) => plan.amount_currency !== terms.currency);
  if (other !== undefined) throw inUse(`the plan ${other.code}`, other.amount_currency);
  if (terms.currency !== before.currency) {
    const own = await priceOverrides.findInOtherCurrency(tx, project, terms);
    if (own !== undefined) throw inUse(`the subscription ${own.external_id}`, own.currency);
  }
  const item = await catalog.update(tx, project, before.id, terms, now);
  if (repriced) {
    await catalog.insertPrice(tx, project, item, now);
    await pricePlans(tx, project, locked, now);
    await repriceOverrides(tx, project, item, now);
  }
  const changed = changedFields(before, item, CHANGING);
  const facts = updated("catalog_item.updated", item.id, changed, { code: item.code });
  await emit(tx, project, facts, by, now);
  return item;
}

function inUse(by: string, currency: string) {
  return refuse(
    "currency_mismatch",
    `currency: ${by} takes its price from this item in ${currency}. Give the item in another ` +
      "currency a code of its own.",
  );
}

export async function archiveCatalogItem(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<void> {
  const item = await catalog.lock(tx, project, id);
  if (item === undefined) throw notFound("catalog item");
  if (item.archived_at !== null) return;
  const isOverride = await priceOverrides.isUsed(tx, project, { catalog_item_code: item.code });
  if (isOverride || (await catalog.isUsed(tx, project, id))) {
    throw refuse(
      "has_dependencies",
      "Live charges or add-ons take their price from this item. Archive or change those first.",
    );
  }
  await catalog.archive(tx, project, id, now);
  const payload = { code: item.code };
  await emit(tx, project, [{ type: "catalog_item.archived", resource_id: id, payload }], by, now);
}
