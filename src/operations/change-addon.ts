// Creates or changes an add-on, whose price is its own or that of a catalog item, never both.

import { refuse, refuseField } from "../errors.ts";
import type { AddOn, AddOnUpsert } from "../schema/addons.ts";
import * as addons from "../store/addons.ts";
import * as catalog from "../store/catalog.ts";
import type { Tx } from "../store/db.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type By, emit } from "./emit.ts";
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
    throw refuse("not_found", "catalog_item_code: no live catalog item has this code.");
  }
  await checkTaxCodes(holding(tx, project), [input.tax_codes]);
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
  const type = created ? "add_on.created" : "add_on.updated";
  const payload = {
    code: add_on.code,
    amount_cents: add_on.amount_cents,
    currency: add_on.currency,
  };
  await emit(tx, project, [{ type, resource_id: id, payload }], by, now);
  return { add_on, created };
}
