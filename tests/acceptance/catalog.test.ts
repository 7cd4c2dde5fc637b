// Catalog items, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { code, makeAddOn, makeItem, makePlan } from "../support/records.ts";
import { expectError, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

test("POST /v1/catalog: body code, name, amount_cents, currency, metadata; 201 {catalog_item}", async () => {
  const metadata = { tier: "gold", nested: { list: [1, "two", null, true] } };
  const body = { code: "seat", name: "Seat", amount_cents: 4_900, currency: "EUR", metadata };
  const made = await api.post("/v1/catalog", body);
  expect(made.status).toBe(201);
  expect(made.body.catalog_item).toMatchObject(body);
  expect(made.body.catalog_item.id).toMatch(UUID);
});

test("currency: default USD", async () => {
  const made = await api.post("/v1/catalog", { code: code("c"), name: "X", amount_cents: 0 });
  expect(made.body.catalog_item).toMatchObject({ currency: "USD", metadata: {} });
});

test("creates or updates the item with this code: code is the upsert key", async () => {
  const item = await makeItem(api);
  const body = { code: item.code, name: "Chair", amount_cents: 100 };
  const updated = await api.post("/v1/catalog", body);
  expect([200, 201]).toContain(updated.status);
  expect(updated.body.catalog_item).toMatchObject({ ...body, id: item.id });
  const { catalog_items } = (await api.get("/v1/catalog")).body;
  expect(catalog_items.filter((one: { code: string }) => one.code === item.code)).toHaveLength(1);
});

test("code: pattern [a-z0-9._-]+, max 64 chars", async () => {
  for (const good of ["a", "0", "a.b_c-d", "x".repeat(64)]) {
    const made = await api.post("/v1/catalog", { code: good, name: "X", amount_cents: 1 });
    expect(made.status, good).toBe(201);
  }
  for (const bad of ["", "A", "a b", "a/b", "ä", "x".repeat(65)]) {
    const refused = await api.post("/v1/catalog", { code: bad, name: "X", amount_cents: 1 });
    expectError(refused, 422, "validation_error");
  }
});

test("name: max 128", async () => {
  const body = { code: code("long"), amount_cents: 1 };
  const fits = await api.post("/v1/catalog", { ...body, name: "n".repeat(128) });
  expect(fits.status).toBe(201);
  const refused = await api.post("/v1/catalog", { ...body, name: "n".repeat(129) });
  expectError(refused, 422, "validation_error");
});

test("amount_cents: integer >= 0", async () => {
  for (const amount_cents of [-1, 1.5, "100", null]) {
    const refused = await api.post("/v1/catalog", { code: code("bad"), name: "X", amount_cents });
    expectError(refused, 422, "validation_error");
  }
});

test("GET /v1/catalog: 200 {catalog_items:[...]}", async () => {
  const item = await makeItem(api);
  const listed = await api.get("/v1/catalog");
  expect(listed.status).toBe(200);
  expect(listed.body.catalog_items).toContainEqual(item);
});

test("GET /v1/catalog/:id: a catalog item", async () => {
  const item = await makeItem(api);
  const found = await api.get(`/v1/catalog/${item.id}`);
  expect([found.status, found.body]).toEqual([200, { catalog_item: item }]);
});

test("live to archived by DELETE /v1/catalog/:id", async () => {
  const item = await makeItem(api);
  expect((await api.delete(`/v1/catalog/${item.id}`)).status).toBe(204);
  const { catalog_item } = (await api.get(`/v1/catalog/${item.id}`)).body;
  expect(catalog_item.archived_at).not.toBeNull();
  const { catalog_items } = (await api.get("/v1/catalog")).body;
  expect(catalog_items.map((one: { id: string }) => one.id)).not.toContain(item.id);
});

test("422 has_dependencies if referenced by active charges", async () => {
  const item = await makeItem(api);
  const charges = [{ charge_model: "flat_fee", catalog_item_code: item.code }];
  const plan = await makePlan(api, { charges });
  expectError(await api.delete(`/v1/catalog/${item.id}`), 422, "has_dependencies");
  await api.ok("DELETE", `/v1/plans/${plan.id}`);
  expect((await api.delete(`/v1/catalog/${item.id}`)).status).toBe(204);
});

test("422 has_dependencies if referenced by add-ons", async () => {
  const item = await makeItem(api);
  const addOn = await makeAddOn(api, { catalog_item_code: item.code });
  expectError(await api.delete(`/v1/catalog/${item.id}`), 422, "has_dependencies");
  await api.ok("DELETE", `/v1/addons/${addOn.id}`);
  expect((await api.delete(`/v1/catalog/${item.id}`)).status).toBe(204);
});
