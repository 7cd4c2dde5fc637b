// Add-ons: declared here, applied to customers with an immediate invoice.

import Type from "typebox";
import { refuse } from "../../errors.ts";
import { applyAddOn } from "../../operations/apply-addon.ts";
import { upsertAddOn } from "../../operations/change-addon.ts";
import { emit } from "../../operations/emit.ts";
import { AddOn, AddOnUpsert, AppliedAddOn } from "../../schema/addons.ts";
import { CodeQuery, ListOrOne, Uuid, Wrapped } from "../../schema/common.ts";
import * as addons from "../../store/addons.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { byCaller, pathId } from "../views.ts";

const tag = "Add-ons";
const params = { id: "UUID of the add-on." };
const One = Wrapped("add_on", AddOn);

const upsert = write({
  method: "POST",
  path: "/v1/addons",
  once_by: "code",
  id: "upsertAddOn",
  tag,
  summary: "Create or update the add-on with this code",
  description:
    "201 created, 200 updated. The price is the catalog item's, or its own amount_cents.",
  scope: "write",
  project: "required",
  body: AddOnUpsert,
  reply: [201, One],
  also: { 200: One },
  example: { code: "onboarding", name: "Onboarding", amount_cents: 25000, currency: "USD" },
  async handle({ tx, project, actor, body, now }) {
    const { add_on, created } = await upsertAddOn(tx, project, body, byCaller(actor), now);
    return new Reply(created ? 201 : 200, { add_on });
  },
});

const list = read({
  method: "GET",
  path: "/v1/addons",
  id: "listAddOns",
  tag,
  summary: "List add-ons, or find one by code",
  description: "Newest first, the live ones. With code the answer is that add-on.",
  scope: "read",
  project: "required",
  query: CodeQuery("add_on"),
  reply: [200, ListOrOne("add_ons", { key: "code", one: "add_on" }, AddOn)],
  async handle({ db, project, query }) {
    if (query.code === undefined) {
      return { add_ons: await addons.list(db, project, query.archived === "1"), has_more: false };
    }
    const add_on = await addons.getByCode(db, project, query.code);
    if (add_on === undefined) throw refuse("not_found", "No add-on has this code.");
    return { add_on };
  },
});

const get = point({
  method: "GET",
  path: "/v1/addons/:id",
  id: "getAddOn",
  tag,
  summary: "Get an add-on",
  description: "Archived ones too.",
  scope: "read",
  project: "required",
  params,
  reply: [200, One],
  async handle({ db, project, params }) {
    const add_on = await addons.get(db, project, pathId(params.id));
    if (add_on === undefined) throw refuse("not_found", "No add-on has this id.");
    return { add_on };
  },
});

const archive = write({
  method: "DELETE",
  path: "/v1/addons/:id",
  id: "archiveAddOn",
  tag,
  summary: "Archive an add-on",
  description: "It can no longer be applied. What was billed stays.",
  scope: "write",
  project: "required",
  params,
  reply: [204, null],
  async handle({ tx, project, actor, params, now }) {
    const add_on = await addons.get(tx, project, pathId(params.id));
    if (add_on === undefined) throw refuse("not_found", "No add-on has this id.");
    if (!(await addons.archive(tx, project, add_on.id, now))) return;
    const fact = {
      type: "add_on.archived" as const,
      resource_id: add_on.id,
      payload: { code: add_on.code },
    };
    await emit(tx, project, [fact], byCaller(actor), now);
  },
});

const apply = write({
  method: "POST",
  path: "/v1/addons/:id/apply",
  id: "applyAddOn",
  tag,
  summary: "Apply an add-on to a customer",
  description:
    "Makes an immediate invoice. Send an Idempotency-Key: applying twice is two purchases.",
  scope: "write",
  project: "required",
  params,
  body: Type.Object({ customer_id: Uuid }),
  reply: [201, Wrapped("applied_add_on", AppliedAddOn)],
  async handle({ tx, settings, actor, params, body, now }) {
    // Ids are stored in lower case.
    const customer_id = body.customer_id.toLowerCase();
    const id = pathId(params.id);
    return {
      applied_add_on: await applyAddOn(tx, settings, id, customer_id, byCaller(actor), now),
    };
  },
});

export const addOnRoutes: Route[] = [upsert, list, get, archive, apply];
