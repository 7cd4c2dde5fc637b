// Catalog items.

import { archiveCatalogItem, upsertCatalogItem } from "../../operations/catalog/change-catalog.ts";
import { CatalogItem, CatalogUpsert } from "../../schema/catalog.ts";
import { Wrapped } from "../../schema/common.ts";
import * as catalog from "../../store/catalog/catalog.ts";
import { Reply, type Route, write } from "../route.ts";
import { codedRoutes } from "./coded-routes.ts";

const tag = "Catalog";
const One = Wrapped("catalog_item", CatalogItem);

const upsert = write({
  method: "POST",
  path: "/v1/catalog",
  once_by: "code",
  id: "upsertCatalogItem",
  errors: ["currency_mismatch"],
  tag,
  summary: "Create or update the item with this code",
  description:
    "201 created, 200 updated or brought back from the archive. A new price counts from periods that start later. 422 currency_mismatch while a plan or a live subscription takes its price from it in another currency.",
  scope: "write",
  project: "required",
  body: CatalogUpsert,
  reply: [201, One],
  also: { 200: One },
  example: { code: "seat", name: "Seat", amount_cents: 4900, currency: "USD" },
  async handle({ tx, project, by, body, now }) {
    const { item, created } = await upsertCatalogItem(tx, project, body, by, now);
    return new Reply(created ? 201 : 200, { catalog_item: item });
  },
});

export const catalogRoutes: Route[] = [
  upsert,
  ...codedRoutes({
    tag,
    path: "/v1/catalog",
    one: "a catalog item",
    many: "catalog items",
    key: "catalog_item",
    keys: "catalog_items",
    schema: CatalogItem,
    store: catalog,
    ids: { list: "listCatalogItems", get: "getCatalogItem", archive: "archiveCatalogItem" },
    archive: {
      description: "422 has_dependencies while live charges or add-ons take their price from it.",
      errors: ["has_dependencies"],
      act: archiveCatalogItem,
    },
  }),
];
