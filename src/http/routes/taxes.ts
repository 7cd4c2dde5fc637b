// Taxes.

import { refuse } from "../../errors.ts";
import { emit } from "../../operations/emit.ts";
import { CodeQuery, ListOrOne, Wrapped } from "../../schema/common.ts";
import { Tax, TaxUpsert } from "../../schema/taxes.ts";
import * as taxes from "../../store/taxes.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { byCaller, pathId } from "../views.ts";

const tag = "Taxes";
const params = { id: "UUID of the tax." };
const One = Wrapped("tax", Tax);

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
  async handle({ tx, project, actor, body, now }) {
    const { created, ...tax } = await taxes.upsert(tx, project, body, now);
    const type = created ? ("tax.created" as const) : ("tax.updated" as const);
    const payload = { code: tax.code, percent: tax.percent };
    await emit(tx, project, [{ type, resource_id: tax.id, payload }], byCaller(actor), now);
    return new Reply(created ? 201 : 200, { tax });
  },
});

const list = read({
  method: "GET",
  path: "/v1/taxes",
  id: "listTaxes",
  tag,
  summary: "List taxes, or find one by code",
  description: "Newest first, the live ones. With code the answer is that tax.",
  scope: "read",
  project: "required",
  query: CodeQuery("tax"),
  reply: [200, ListOrOne("taxes", { key: "code", one: "tax" }, Tax)],
  async handle({ db, project, query }) {
    if (query.code === undefined) {
      return { taxes: await taxes.list(db, project, query.archived === "1"), has_more: false };
    }
    const tax = await taxes.getByCode(db, project, query.code);
    if (tax === undefined) throw refuse("not_found", "No tax has this code.");
    return { tax };
  },
});

const get = point({
  method: "GET",
  path: "/v1/taxes/:id",
  id: "getTax",
  tag,
  summary: "Get a tax",
  description: "Archived ones too.",
  scope: "read",
  project: "required",
  params,
  reply: [200, One],
  async handle({ db, project, params }) {
    const tax = await taxes.get(db, project, pathId(params.id));
    if (tax === undefined) throw refuse("not_found", "No tax has this id.");
    return { tax };
  },
});

const archive = write({
  method: "DELETE",
  path: "/v1/taxes/:id",
  id: "archiveTax",
  errors: ["has_dependencies"],
  tag,
  summary: "Archive a tax",
  description: "No new invoice has it. 422 has_dependencies while something live names it.",
  scope: "write",
  project: "required",
  params,
  reply: [204, null],
  async handle({ tx, project, actor, params, now }) {
    const tax = await taxes.lock(tx, project, pathId(params.id));
    if (tax === undefined) throw refuse("not_found", "No tax has this id.");
    if (tax.archived_at !== null) return;
    if (await taxes.isUsed(tx, project, tax.code)) {
      throw refuse("has_dependencies", "Something live names this tax. Change that first.");
    }
    await taxes.archive(tx, project, tax.id, now);
    const fact = {
      type: "tax.archived" as const,
      resource_id: tax.id,
      payload: { code: tax.code },
    };
    await emit(tx, project, [fact], byCaller(actor), now);
  },
});

export const taxRoutes: Route[] = [upsert, list, get, archive];
