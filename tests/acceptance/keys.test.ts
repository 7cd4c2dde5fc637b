// Tokens and authentication, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectError, TIMESTAMP, UUID } from "../support/shapes.ts";

const NO_HEADERS = { authorization: undefined, "x-project-id": undefined };

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await openService();
  api = await service.project();
});

function createKey(body: object) {
  return api.call("POST", "/v1/keys", body, NO_HEADERS);
}

test("POST /v1/keys: body name, organization_id, scopes; no authentication; 201 {token, id, key_prefix, name}", async () => {
  const { organization_id } = service;
  const made = await createKey({ name: "ci", organization_id, scopes: ["read"] });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ name: "ci" });
  expect(made.body.id).toMatch(UUID);
  expect(made.body.token.startsWith(made.body.key_prefix)).toBe(true);
});

test("tokens begin with a fixed service-specific prefix, followed by a random part", async () => {
  const [one, two] = [await service.token(), await service.token()];
  expect(one.token).toMatch(/^dues_[0-9A-Za-z]{20,}$/);
  expect(two.token).toMatch(/^dues_[0-9A-Za-z]{20,}$/);
  expect(one.token).not.toBe(two.token);
});

test("the caller names the organization in the body; one that does not exist is refused", async () => {
  const organization_id = UNKNOWN_ID;
  expectError(await createKey({ name: "ci", organization_id }), 404, "not_found");
});

test("GET /v1/keys: 200 {tokens:[Token...]} for the authenticated organization", async () => {
  const { id } = await service.token(["read"]);
  const listed = await api.get("/v1/keys");
  expect(listed.status).toBe(200);
  const token = listed.body.tokens.find((one: { id: string }) => one.id === id);
  expect(token.scopes).toEqual(["read"]);
  expect(token.created_at).toMatch(TIMESTAMP);
  expect(token).toHaveProperty("name", "acceptance");
  expect(token).toHaveProperty("key_prefix");
  expect(token).toHaveProperty("last_used_at");
});

test("the full value is returned once and is not kept", async () => {
  const { token } = await service.token();
  const listed = await api.get("/v1/keys");
  expect(JSON.stringify(listed.body)).not.toContain(token);
  for (const one of listed.body.tokens) expect(one).not.toHaveProperty("token");
});

test("GET /v1/keys/me: 200 with the current token and its organization", async () => {
  const { id, token } = await service.token();
  const me = await api.as({ token }).get("/v1/keys/me");
  expect(me.status).toBe(200);
  expect(me.body.token.id).toBe(id);
  expect(me.body.organization.id).toBe(service.organization_id);
});

test("GET /v1/keys/me of a token that may not administer tells the organization's name, not its id", async () => {
  const { token } = await service.token(["read"]);
  const me = await api.as({ token }).get("/v1/keys/me");
  expect(me.body.organization).not.toHaveProperty("id");
  expect(me.body.organization.name).toBeTypeOf("string");
  expect(JSON.stringify(me.body)).not.toContain(service.organization_id);
});

test("DELETE /v1/keys/:id: 204, revokes the token", async () => {
  const { id, token } = await service.token();
  expect((await api.as({ token }).get("/v1/keys/me")).status).toBe(200);
  expect((await api.delete(`/v1/keys/${id}`)).status).toBe(204);
  expectError(await api.as({ token }).get("/v1/keys/me"), 401, "unauthorized");
  const { tokens } = (await api.get("/v1/keys")).body;
  expect(tokens.map((one: { id: string }) => one.id)).not.toContain(id);
});

test("API calls carry Authorization: Bearer; missing or invalid token gives 401 unauthorized", async () => {
  for (const authorization of [undefined, "", "Bearer", "Bearer x", `Basic ${api.token}`]) {
    const answer = await api.call("GET", "/v1/customers", undefined, { authorization });
    expectError(answer, 401, "unauthorized");
  }
});

test("a token without the needed scope gives 403 forbidden", async () => {
  const { token } = await service.token(["read"]);
  const reader = api.as({ token });
  expect((await reader.get("/v1/customers")).status).toBe(200);
  const body = { external_id: "x", name: "X" };
  expectError(await reader.post("/v1/customers", body), 403, "forbidden");
});

test("project-scoped calls carry X-Project-Id; absence where required gives 400 missing_project", async () => {
  const without = { "x-project-id": undefined };
  const post = await api.call("POST", "/v1/customers", { external_id: "x", name: "X" }, without);
  expectError(post, 400, "missing_project");
  const get = await api.call("GET", "/v1/analytics", undefined, without);
  expectError(get, 400, "missing_project");
});

test("a project of nobody, or one that is no UUID, is refused", async () => {
  const unknown = api.as({ project: UNKNOWN_ID });
  expectError(await unknown.get("/v1/customers"), 404, "not_found");
  const malformed = api.as({ project: "main" });
  expectError(await malformed.get("/v1/customers"), 422, "validation_error");
});
