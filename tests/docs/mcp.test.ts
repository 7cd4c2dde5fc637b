// docs/MCP.md: its table has the tools that there are, and its settings lead an official client to
// them.

import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../cli/support.ts";

const GUIDE = readFileSync(new URL("../../docs/MCP.md", import.meta.url), "utf8");

type Entry = {
  readonly url?: string;
  readonly headers?: Record<string, string>;
  readonly command?: string;
  readonly args?: string[];
  readonly env?: Record<string, string>;
};
type Settings = {
  readonly mcpServers?: Record<string, Entry>;
  readonly servers?: Record<string, Entry>;
};

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

/** The settings of the guide, with the values that it asks the reader to put in. */
function entries(): Entry[] {
  const { token, project_id } = shell.app.profile;
  const blocks = [...GUIDE.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
  return blocks.map((text) => {
    const filled = text
      .replaceAll("http://127.0.0.1:8080", shell.url)
      .replaceAll(/<token>|\$\{input:dues-token\}/g, token)
      .replaceAll("<project id>", project_id)
      .replaceAll("/path/to/dues/", new URL("../../", import.meta.url).pathname);
    const { mcpServers, servers } = JSON.parse(filled) as Settings;
    return (mcpServers ?? servers)?.dues ?? {};
  });
}

function transportOf({ url, headers = {}, command, args = [], env = {} }: Entry) {
  if (url !== undefined) {
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  }
  if (command !== process.execPath && command !== "node") throw new Error(`What is ${command}?`);
  const own = { PATH: process.env.PATH ?? "", HOME: shell.folder };
  return new StdioClientTransport({ command: process.execPath, args, env: { ...own, ...env } });
}

test("with each of its settings a client finds the tools of its table, and can call one", async () => {
  const named = [...GUIDE.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const settings = entries();
  expect(settings).toHaveLength(3);
  for (const entry of settings) {
    const client = new Client({ name: "tests", version: "1" });
    // The SDK's own types do not agree with one another under exactOptionalPropertyTypes.
    const transport = transportOf(entry) as unknown as Parameters<Client["connect"]>[0];
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(named);
    const { isError } = await client.callTool({ name: "list_plans", arguments: {} });
    expect(isError).toBe(false);
    await client.close();
  }
});
