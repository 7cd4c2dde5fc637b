// Creates or changes an add-on, whose price is its own or that of a catalog item, never both.

import { changedFields } from "../../domain/changed-fields.ts";
import { notFound, refuseField } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import type { AddOn, AddOnUpsert } from "../../schema/addons.ts";
import * as addons from "../../store/catalog/addons.ts";
import * as catalog from "../../store/catalog/catalog.ts";
import type { Tx } from "../../store/db/db.ts";
import { type By, emit, type Fact, updated } from "../emit.ts";
import { holding } from "./resolve-charges.ts";
import { checkTaxCodes } from "./tax-codes.ts";

export async function upsertAddOn(
  tx: Tx,
  project: ProjectId,
  input: AddOnUpsert,
  by: By,
  now: Date,
): Promise<{ add_on: AddOn; created: boolean }> {
  const code = input.catalog_item_code ?? input.catalog_ref ?? null;
  const amount_cents = input.amount_cents ?? null;
  if ((code === null) === (amount_cents === null)) {
    throw refuseField(
      "amount_cents",
      code === null ? "required" : "exclusive",
      "An add-on needs exactly one price: catalog_item_code or amount_cents.",
    );
  }
  const item = code === null ? undefined : (await catalog.lockLive(tx, project, [code]))[0];
  if (code !== null && item === undefined) {
    throw notFound("live catalog item", { field: "catalog_item_code", by: "code" });
  }
  await checkTaxCodes(holding(tx, project), [input.tax_codes]);
  const before = await addons.lockByCode(tx, project, input.code);
  const { id, created } = await addons.upsert(
    tx,
    project,
    {
      code: input.code,
      name: input.name,
      description: input.description ?? null,
      catalog_item_id: item?.id ?? null,
      amount_cents,
      // The item's own currency counts when there is an item.
      currency: item === undefined ? (input.currency ?? "USD") : null,
      tax_codes: input.tax_codes ?? null,
    },
    now,
  );
  const add_on = await addons.get(tx, project, id);
  if (add_on === undefined) throw new Error(`Add-on ${id} was not written.`);
  await emit(tx, project, created ? [createdFact(add_on)] : changeOf(before, add_on), by, now);
  return { add_on, created };
}

function createdFact({ id, code, amount_cents, currency }: AddOn): Fact {
  return { type: "add_on.created", resource_id: id, payload: { code, amount_cents, currency } };
}

const CHANGING = [
  "name",
  "description",
  "catalog_item_code",
  "amount_cents",
  "currency",
  "tax_codes",
  "archived_at",
];

/** Without `before` the add-on was made a moment ago by somebody else. */
function changeOf(before: AddOn | undefined, after: AddOn): Fact[] {
  const changed = changedFields<object>(before ?? {}, after, CHANGING);
  return updated("add_on.updated", after.id, changed, { code: after.code });
}
