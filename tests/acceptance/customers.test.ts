// Customers, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { makeCustomer } from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

test("POST /v1/customers: body external_id, name, email, currency; 201 {customer}", async () => {
  const body = { external_id: "acme", name: "Acme", email: "a@acme.test", currency: "EUR" };
  const made = await api.post("/v1/customers", body);
  expect(made.status).toBe(201);
  expect(Object.keys(made.body)).toEqual(["customer"]);
  const { customer } = made.body;
  expect(customer).toMatchObject(body);
  expect(customer.id).toMatch(UUID);
  expect(customer.created_at).toMatch(TIMESTAMP);
  expect(customer.updated_at).toMatch(TIMESTAMP);
});

test("short_id: short form, pattern cust_<4 chars>", async () => {
  expect((await makeCustomer(api)).short_id).toMatch(/^cust_.{4}$/);
});

test("GET /v1/customers: 200 {customers:[...]}", async () => {
  const customer = await makeCustomer(api);
  const listed = await api.get("/v1/customers");
  expect(listed.status).toBe(200);
  expect(listed.body.customers).toContainEqual(customer);
});

test("GET /v1/customers with external_id: 200 {customer}", async () => {
  const customer = await makeCustomer(api);
  const found = await api.get(`/v1/customers?external_id=${customer.external_id}`);
  expect(found.status).toBe(200);
  expect(found.body).toEqual({ customer });
});

test("GET /v1/customers/:id: 200 {customer}", async () => {
  const customer = await makeCustomer(api);
  const found = await api.get(`/v1/customers/${customer.id}`);
  expect(found.status).toBe(200);
  expect(found.body).toEqual({ customer });
});

test("external_id: the caller's own identifier; usable in paths as ext:<external_id>", async () => {
  const customer = await makeCustomer(api, { external_id: "a/b c%d" });
  const path = `/v1/customers/ext:${encodeURIComponent(customer.external_id)}`;
  expect((await api.get(path)).body).toEqual({ customer });
  const patched = await api.patch(path, { name: "Renamed" });
  expect(patched.body.customer).toMatchObject({ id: customer.id, name: "Renamed" });
});

test("PATCH /v1/customers/:id: optional name, email, currency; 200 {customer}", async () => {
  const customer = await makeCustomer(api);
  for (const change of [{ name: "New" }, { email: "new@acme.test" }, { currency: "EUR" }]) {
    const patched = await api.patch(`/v1/customers/${customer.id}`, change);
    expect(patched.status).toBe(200);
    expect(patched.body.customer).toMatchObject(change);
  }
  const now = (await api.get(`/v1/customers/${customer.id}`)).body.customer;
  expect(now).toMatchObject({ name: "New", email: "new@acme.test", currency: "EUR" });
});

test("PATCH currency takes a 3-letter ISO-4217 code", async () => {
  const customer = await makeCustomer(api);
  for (const currency of ["usd", "US", "DOLLAR", "ZZZ", 840]) {
    const answer = await api.patch(`/v1/customers/${customer.id}`, { currency });
    expectError(answer, 422, "validation_error");
  }
});

test("PATCH /v1/customers/:id: 404 when absent", async () => {
  const unknown = `/v1/customers/${UNKNOWN_ID}`;
  expectError(await api.patch(unknown, { name: "X" }), 404, "not_found");
  expectError(await api.patch("/v1/customers/ext:nobody", { name: "X" }), 404, "not_found");
});

test("a PATCH with no fields fails schema validation", async () => {
  const customer = await makeCustomer(api);
  expectError(await api.patch(`/v1/customers/${customer.id}`, {}), 422, "validation_error");
});

test("an external_id that is taken is refused and names the customer that has it", async () => {
  const customer = await makeCustomer(api);
  const again = { external_id: customer.external_id, name: "Other" };
  const refused = await api.post("/v1/customers", again);
  expectError(refused, 409, "already_exists");
  expect(refused.body.error.details).toEqual([
    { field: "external_id", code: "taken", existing_id: customer.id },
  ]);
});

test("most resources belong to a project: another project has its own customers", async () => {
  const other = await service.project();
  const customer = await makeCustomer(api);
  expectError(await other.get(`/v1/customers/${customer.id}`), 404, "not_found");
  const namesake = await makeCustomer(other, { external_id: customer.external_id });
  expect(namesake.id).not.toBe(customer.id);
});
