// The versions of the protocol: the newest through its official client, and by hand what it asks
// of each request.

import type { AddressInfo } from "node:net";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Body, type Json, startApp } from "../support/app.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const NEWEST = "2026-07-28";
const _meta = { [VERSION]: NEWEST, [CAPABILITIES]: {} };

let app: App;
let url: URL;
beforeAll(async () => {
  app = await startApp();
  await app.post("/v1/customers", { external_id: "acme", name: "Acme Ltd" });
  await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.fastify.server.address() as AddressInfo;
  url = new URL(`http://127.0.0.1:${port}/v1/mcp`);
});
afterAll(() => app.close());

function ask(message: unknown, headers: Body = {}) {
  return app.call("POST", "/v1/mcp", message, headers);
}

function request(method: string, params: object = {}): Body {
  return { jsonrpc: "2.0", id: 1, method, params: { _meta, ...params } };
}

const named = (method: string, more: Body = {}): Body => ({
  "mcp-protocol-version": NEWEST,
  "mcp-method": method,
  ...more,
});

test("the official client of the newest version finds out, lists tools and calls them", async () => {
  const { token, project_id } = app.profile;
  const headers = { authorization: `Bearer ${token}`, "x-project-id": project_id };
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
  const client = new Client(
    { name: "tests", version: "1" },
    { versionNegotiation: { mode: { pin: NEWEST } } },
  );
  await client.connect(transport);
  try {
    expect(client.getServerVersion()).toMatchObject({ name: "dues" });
    expect(client.getInstructions()).toContain("_cents");
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(15);
    const found = await client.callTool({ name: "list_customers", arguments: { limit: 5 } });
    expect(found.structuredContent).toMatchObject({ customers: [{ name: "Acme Ltd" }] });
    const wrong = await client.callTool({ name: "list_customers", arguments: { limit: "5" } });
    expect(wrong.isError).toBe(true);
    await expect(client.callTool({ name: "none", arguments: {} })).rejects.toThrow(/no tool none/);
  } finally {
    await client.close();
  }
});

test("each answer says that it is whole, who gave it, and how long it may be kept", async () => {
  const { body } = await ask(request("server/discover"), named("server/discover"));
  expect(body.result).toMatchObject({
    supportedVersions: [NEWEST],
    capabilities: { tools: {} },
    resultType: "complete",
    ttlMs: expect.any(Number),
    cacheScope: "private",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "dues" } },
  });
  const params = { name: "list_plans", arguments: {} };
  const called = await ask(request("tools/call", params), named("tools/call"));
  expect(called.body.result).toMatchObject({ resultType: "complete", isError: false });
  expect(called.body.result).not.toHaveProperty("ttlMs");
});

test.each<[string, Json, Body, number, number]>([
  [
    "a version that nobody speaks",
    request("tools/list"),
    { "mcp-protocol-version": "2999-01-01" },
    400,
    -32022,
  ],
  [
    "one without its _meta",
    { ...request("tools/list"), params: {} },
    named("tools/list"),
    400,
    -32602,
  ],
  [
    "one without its capabilities",
    request("tools/list", { _meta: { [VERSION]: NEWEST } }),
    named("tools/list"),
    400,
    -32602,
  ],
  [
    "another version in the header",
    request("tools/list"),
    { "mcp-protocol-version": "2025-11-25" },
    400,
    -32020,
  ],
  ["another method in the header", request("tools/list"), named("tools/call"), 400, -32020],
  [
    "another name in the header",
    request("tools/call", { name: "list_plans" }),
    named("tools/call", { "mcp-name": "get_plan" }),
    400,
    -32020,
  ],
  ["a method of older versions", request("ping"), named("ping"), 404, -32601],
  ["a batch", [request("tools/list")], named("tools/list"), 400, -32600],
])("%s is an error of JSON-RPC", async (_, message, headers, status, code) => {
  const answer = await ask(message, headers);
  const id = Array.isArray(message) ? null : 1;
  expect([answer.status, answer.body.id, answer.body.error.code]).toEqual([status, id, code]);
  expect(answer.body).toMatchObject({ jsonrpc: "2.0" });
});

test("who names an unknown version is told which there are", async () => {
  const { body } = await ask(
    { jsonrpc: "2.0", id: 7, method: "ping" },
    {
      "mcp-protocol-version": "1999-01-01",
    },
  );
  expect(body).toMatchObject({ id: 7, error: { code: -32022, data: { requested: "1999-01-01" } } });
  expect(body.error.data.supported).toEqual([
    ...[NEWEST, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
  ]);
  expect((await app.get("/v1/mcp")).protocol_versions).toEqual(body.error.data.supported);
});

test("a name that no header can carry is compared as it is meant", async () => {
  const base64 = Buffer.from("list_plans").toString("base64");
  const headers = named("tools/call", { "mcp-name": `=?base64?${base64}?=` });
  const { status } = await ask(request("tools/call", { name: "list_plans" }), headers);
  expect(status).toBe(200);
});

test("plain JSON needs no header of the protocol, and its faults are answers", async () => {
  expect((await ask(request("tools/list"))).body.result.resultType).toBe("complete");
  const unknown = request("tools/list", { _meta: { ..._meta, [VERSION]: "2999-01-01" } });
  const answer = await ask(unknown);
  expect([answer.status, answer.body.error.code]).toEqual([200, -32022]);
});

test("batches are taken but from clients whose version has none", async () => {
  const batch = [{ jsonrpc: "2.0", id: 1, method: "ping" }];
  for (const version of [undefined, "2025-03-26", "2024-11-05"]) {
    const { body } = await ask(batch, { "mcp-protocol-version": version });
    expect(body).toEqual([{ jsonrpc: "2.0", id: 1, result: {} }]);
  }
  for (const version of ["2025-06-18", "2025-11-25", NEWEST]) {
    const { status, body } = await ask(batch, { "mcp-protocol-version": version });
    expect([status, body.error.code]).toEqual([400, -32600]);
  }
  expect((await ask([request("tools/list")])).body.error.code).toBe(-32600);
});
