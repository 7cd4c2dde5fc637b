// Taxes.

import { changedFields } from "../../domain/changed-fields.ts";
import { notFound, refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { type By, emit, type Fact, updated } from "../../operations/emit.ts";
import { Wrapped } from "../../schema/common.ts";
import { Tax, TaxUpsert } from "../../schema/taxes.ts";
import * as taxes from "../../store/catalog/taxes.ts";
import type { Tx } from "../../store/db/db.ts";
import { Reply, type Route, write } from "../route.ts";
import { codedRoutes } from "./coded-routes.ts";

const tag = "Taxes";
const One = Wrapped("tax", Tax);
const CHANGING = ["name", "percent", "description", "archived_at"];

const upsert = write({
  method: "POST",
  path: "/v1/taxes",
  once_by: "code",
  id: "upsertTax",
  tag,
  summary: "Create or update the tax with this code",
  description: "201 created, 200 updated. A new percentage counts for invoices issued from now on.",
  scope: "write",
  project: "required",
  body: TaxUpsert,
  reply: [201, One],
  also: { 200: One },
  example: { code: "vat", name: "VAT", percent: "20" },
  async handle({ tx, project, by, body, now }) {
    const before = await taxes.lockByCode(tx, project, body.code);
    const { created, ...tax } = await taxes.upsert(tx, project, body, now);
    const { id, code, percent } = tax;
    // A tax that is neither new nor found before was made a moment ago by somebody else.
    const changed = changedFields<object>(before ?? {}, tax, CHANGING);
    const facts = created
      ? [{ type: "tax.created" as const, resource_id: id, payload: { code, percent } }]
      : updated("tax.updated", id, changed, { code });
    await emit(tx, project, facts, by, now);
    return new Reply(created ? 201 : 200, { tax });
  },
});

async function archive(tx: Tx, project: ProjectId, id: string, by: By, now: Date): Promise<void> {
  const tax = await taxes.lock(tx, project, id);
  if (tax === undefined) throw notFound("tax");
  if (tax.archived_at !== null) return;
  if (await taxes.isUsed(tx, project, tax.code)) {
    throw refuse("has_dependencies", "Something live names this tax. Change that first.");
  }
  await taxes.archive(tx, project, id, now);
  const fact: Fact = { type: "tax.archived", resource_id: id, payload: { code: tax.code } };
  await emit(tx, project, [fact], by, now);
}

export const taxRoutes: Route[] = [
  upsert,
  ...codedRoutes({
    tag,
    path: "/v1/taxes",
    one: "a tax",
    many: "taxes",
    key: "tax",
    keys: "taxes",
    schema: Tax,
    store: taxes,
    ids: { list: "listTaxes", get: "getTax", archive: "archiveTax" },
    archive: {
      description: "No new invoice has it. 422 has_dependencies while something live names it.",
      errors: ["has_dependencies"],
      act: archive,
    },
  }),
];
