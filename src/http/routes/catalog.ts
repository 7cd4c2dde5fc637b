// Catalog items.

import { refuse } from "../../errors.ts";
import { archiveCatalogItem, upsertCatalogItem } from "../../operations/change-catalog.ts";
import { CatalogItem, CatalogUpsert } from "../../schema/catalog.ts";
import { CodeQuery, ListOrOne, Wrapped } from "../../schema/common.ts";
import * as catalog from "../../store/catalog.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { byCaller, pathId } from "../views.ts";

const tag = "Catalog";
const Item = Wrapped("catalog_item", CatalogItem);

const upsertItem = write({
  method: "POST",
  path: "/v1/catalog",
  once_by: "code",
  id: "upsertCatalogItem",
  errors: ["currency_mismatch"],
  tag,
  summary: "Create or update the item with this code",
  description:
    "201 created, 200 updated or brought back from the archive. A new price counts from periods that start later.",
  scope: "write",
  project: "required",
  body: CatalogUpsert,
  reply: [201, Item],
  also: { 200: Item },
  example: { code: "seat", name: "Seat", amount_cents: 4900, currency: "USD" },
  async handle({ tx, project, actor, body, now }) {
    const { item, created } = await upsertCatalogItem(tx, project, body, byCaller(actor), now);
    return new Reply(created ? 201 : 200, { catalog_item: item });
  },
});

const listItems = read({
  method: "GET",
  path: "/v1/catalog",
  id: "listCatalogItems",
  tag,
  summary: "List catalog items, or find one by code",
  description: "Newest first, the live ones. With code the answer is that item.",
  scope: "read",
  project: "required",
  query: CodeQuery("catalog_item"),
  reply: [200, ListOrOne("catalog_items", { key: "code", one: "catalog_item" }, CatalogItem)],
  async handle({ db, project, query }) {
    if (query.code === undefined) {
      const catalog_items = await catalog.list(db, project, query.archived === "1");
      return { catalog_items, has_more: false };
    }
    const item = await catalog.getByCode(db, project, query.code);
    if (item === undefined) throw refuse("not_found", "No catalog item has this code.");
    return { catalog_item: item };
  },
});

const getItem = point({
  method: "GET",
  path: "/v1/catalog/:id",
  id: "getCatalogItem",
  tag,
  summary: "Get a catalog item",
  description: "Archived ones too.",
  scope: "read",
  project: "required",
  params: { id: "UUID of the item." },
  reply: [200, Item],
  async handle({ db, project, params }) {
    const item = await catalog.get(db, project, pathId(params.id));
    if (item === undefined) throw refuse("not_found", "No catalog item has this id.");
    return { catalog_item: item };
  },
});

const archiveItem = write({
  method: "DELETE",
  path: "/v1/catalog/:id",
  id: "archiveCatalogItem",
  errors: ["has_dependencies"],
  tag,
  summary: "Archive a catalog item",
  description: "422 has_dependencies while live charges or add-ons take their price from it.",
  scope: "write",
  project: "required",
  params: { id: "UUID of the item." },
  reply: [204, null],
  async handle({ tx, project, actor, params, now }) {
    await archiveCatalogItem(tx, project, pathId(params.id), byCaller(actor), now);
  },
});

export const catalogRoutes: Route[] = [upsertItem, listItems, getItem, archiveItem];
