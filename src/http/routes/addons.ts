// Add-ons: declared here, applied to customers with an immediate invoice.

import Type from "typebox";
import { notFound } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { upsertAddOn } from "../../operations/catalog/change-addon.ts";
import { type By, emit, type Fact } from "../../operations/emit.ts";
import { applyAddOn } from "../../operations/invoices/apply-addon.ts";
import { AddOn, AddOnUpsert, AppliedAddOn } from "../../schema/addons.ts";
import { Uuid, Wrapped } from "../../schema/common.ts";
import * as addons from "../../store/catalog/addons.ts";
import type { Tx } from "../../store/db/db.ts";
import { Reply, type Route, write } from "../route.ts";
import { pathId } from "../views.ts";
import { codedRoutes } from "./coded-routes.ts";

const tag = "Add-ons";
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
  async handle({ tx, project, by, body, now }) {
    const { add_on, created } = await upsertAddOn(tx, project, body, by, now);
    return new Reply(created ? 201 : 200, { add_on });
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
  params: { id: "UUID of the add-on." },
  body: Type.Object({ customer_id: Uuid }),
  reply: [201, Wrapped("applied_add_on", AppliedAddOn)],
  async handle({ tx, settings, by, params, body, now }) {
    // Ids are stored in lower case.
    const customer_id = body.customer_id.toLowerCase();
    const id = pathId(params.id);
    return {
      applied_add_on: await applyAddOn(tx, settings, id, customer_id, by, now),
    };
  },
});

async function archive(tx: Tx, project: ProjectId, id: string, by: By, now: Date): Promise<void> {
  const add_on = await addons.get(tx, project, id);
  if (add_on === undefined) throw notFound("add-on");
  if (!(await addons.archive(tx, project, id, now))) return;
  const fact: Fact = { type: "add_on.archived", resource_id: id, payload: { code: add_on.code } };
  await emit(tx, project, [fact], by, now);
}

export const addOnRoutes: Route[] = [
  upsert,
  ...codedRoutes({
    tag,
    path: "/v1/addons",
    one: "an add-on",
    many: "add-ons",
    key: "add_on",
    keys: "add_ons",
    schema: AddOn,
    store: addons,
    ids: { list: "listAddOns", get: "getAddOn", archive: "archiveAddOn" },
    archive: {
      description: "It can no longer be applied. What was billed stays.",
      act: archive,
    },
  }),
  apply,
];
