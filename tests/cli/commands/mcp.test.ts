// `dues mcp`: the official MCP client starts it as a program and talks over its input and output.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAIN } from "../../support/built.ts";
import { type Shell, sharedShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await sharedShell();
  await shell.app.post("/v1/customers", { external_id: "acme", name: "Acme Ltd" });
});
afterAll(() => shell.close());

async function connected(env: Record<string, string> = {}): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp"],
    env: { PATH: process.env.PATH ?? "", ...shell.env, ...env },
    stderr: "ignore",
  });
  const client = new Client({ name: "tests", version: "1" });
  // The SDK's own types do not agree with one another under exactOptionalPropertyTypes.
  await client.connect(transport as unknown as Parameters<Client["connect"]>[0]);
  return client;
}

test("the official client connects, lists the tools and calls them", async () => {
  const client = await connected();
  try {
    expect(client.getServerVersion()).toMatchObject({ name: "dues" });
    expect(client.getInstructions()).toContain("_cents");
    await client.ping();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("list_customers");
    const calls = [1, 2, 3].map(() => client.callTool({ name: "list_customers", arguments: {} }));
    for (const result of await Promise.all(calls)) {
      expect(result.isError).not.toBe(true);
      expect(result.structuredContent).toMatchObject({ customers: [{ name: "Acme Ltd" }] });
    }
    const missing = await client.callTool({
      name: "get_customer",
      arguments: { id: "ext:nobody" },
    });
    expect(missing.isError).toBe(true);
    await expect(client.callTool({ name: "no_such_tool", arguments: {} })).rejects.toThrow();
  } finally {
    await client.close();
  }
});

test("a token that is refused is an error of the protocol", async () => {
  await expect(connected({ DUES_TOKEN: "dues_wrong" })).rejects.toMatchObject({ code: -32010 });
});

test("what a pipe asks is answered before the program ends, and nothing else is written", async () => {
  const call = { jsonrpc: "2.0", method: "tools/call" };
  const params = { name: "get_customer", arguments: { id: "ext:acme" } };
  // U+2028 ends a line in some readers, and none of JSON-RPC.
  const search = { name: "list_customers", arguments: { search: "acme\u2028ltd" } };
  const input = [
    JSON.stringify({ ...call, id: 7, params }),
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
    JSON.stringify({ hello: "world" }),
    "no JSON at all",
    "",
    JSON.stringify({ ...call, id: 8, params: search }),
    JSON.stringify({ jsonrpc: "2.0", id: 9, method: "ping", params: [] }),
    JSON.stringify({ jsonrpc: "2.0", id: "p", method: "ping" }),
  ].join("\n");
  const ran = await shell.process(["mcp"], { input: `${input}\n` });
  expect(ran.code, ran.err).toBe(0);
  const answers = ran.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(answers).toHaveLength(6);
  const byId = (id: unknown) => answers.find((each) => each.id === id);
  expect(byId(7).result.structuredContent.customer).toMatchObject({ external_id: "acme" });
  expect(byId("p").result).toEqual({});
  expect(byId(8).result.isError).toBe(false);
  expect(byId(9).error.code).toBe(-32602);
  const nameless = answers.filter(({ id }) => id === null).map(({ error }) => error.code);
  expect(nameless.toSorted()).toEqual([-32600, -32700]);
});

test("a service that is away is an error of the protocol that says so", async () => {
  const input = `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`;
  const env = { DUES_URL: "http://127.0.0.1:9" };
  const ran = await shell.process(["mcp"], { input, env });
  const answer = JSON.parse(ran.out);
  expect(answer).toMatchObject({ id: 1, error: { code: -32010 } });
  expect(answer.error.message).toContain("No answer from http://127.0.0.1:9");
  expect(answer.error.data).toMatchObject({ code: "network_error", retryable: true });
});

test("without a token nothing is written to the output", async () => {
  const env = { DUES_URL: "", DUES_TOKEN: "", DUES_PROJECT: "" };
  const ran = await shell.process(["mcp"], { env });
  expect([ran.code, ran.out]).toEqual([77, ""]);
});
