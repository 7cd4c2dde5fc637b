// Upserts and archives catalog items. A new price reaches the price lists of the plans that use it.

import { refuse } from "../errors.ts";
import type { CatalogItem, CatalogUpsert } from "../schema/catalog.ts";
import * as catalog from "../store/catalog.ts";
import type { Tx } from "../store/db.ts";
import * as plans from "../store/plans.ts";
import * as priceOverrides from "../store/price-overrides.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type By, emit } from "./emit.ts";
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
  if (other !== undefined) {
    throw refuse(
      "currency_mismatch",
      `currency: the plan ${other.code} takes its price from this item in ${other.amount_currency}.`,
    );
  }
  const item = await catalog.update(tx, project, before.id, terms, now);
  if (repriced) {
    await catalog.insertPrice(tx, project, item, now);
    await pricePlans(tx, project, locked, now);
    await repriceOverrides(tx, project, item, now);
  }
  const changed = changedFields(before, item);
  if (Object.keys(changed).length > 0) {
    const payload = { code: item.code, ...changed };
    await emit(
      tx,
      project,
      [{ type: "catalog_item.updated", resource_id: item.id, payload }],
      by,
      now,
    );
  }
  return item;
}

function changedFields(before: CatalogItem, after: CatalogItem): Record<string, unknown> {
  const fields = ["name", "amount_cents", "currency", "metadata", "archived_at"] as const;
  return Object.fromEntries(
    fields
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => [field, after[field]]),
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
  if (item === undefined) throw refuse("not_found", "No catalog item has this id.");
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
