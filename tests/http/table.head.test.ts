// HEAD, which no route of the table names: what may be read with GET is answered with its status
// and no body, and has no other effect; anywhere else it is a method that is not there.

import { type AddressInfo, connect } from "node:net";
import { afterAll, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { routeTable } from "../../src/http/table.ts";
import { startApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { makeEveryRecord, readEveryRecord } from "../support/every-record.ts";
import { UNKNOWN_ID } from "../support/samples.ts";

const app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
afterAll(async () => {
  app.server.fastify.server.closeAllConnections();
  await app.close();
});

const { port } = app.server.fastify.server.address() as AddressInfo;
const { token, project_id } = app.profile;
const client = new Client(app, { token, project: project_id });
const records = await makeEveryRecord(client);
const table = routeTable(
  app.context,
  { draining: false, schema_version: 0, warnings: [] },
  new Bounds(),
);
const paths = [...new Set(table.map(({ path }) => path))];
/** Whether a GET route takes it, also as an id of its own: /v1/events/batch is that of an event. */
function isReadable(path: string): boolean {
  return table.some(({ method, path: pattern }) => {
    const taken = new RegExp(`^${pattern.replaceAll(".", "\\.").replace(/:\w+/g, "[^/]+")}$`);
    return method === "GET" && taken.test(path);
  });
}

function pathOf(path: string, unknown: boolean): string {
  const id = unknown ? undefined : records[path.split("/")[2] ?? ""];
  return path.replace(":currency", "USD").replace(/:\w+/g, id ?? UNKNOWN_ID);
}

type Answer = { readonly status: number; readonly type?: string; readonly rest: string };

/** A PDF that a busy machine has not made in time is asked for again. */
async function askInTheEnd(...asked: Parameters<typeof ask>): Promise<Answer> {
  const answer = await ask(...asked);
  return answer.status === 503 ? askInTheEnd(...asked) : answer;
}

/** What comes back on a connection that asks no more; `rest` follows the first answer's head. */
function ask(method: string, url: string, headers: readonly string[]): Promise<Answer> {
  const lines = [`${method} ${url} HTTP/1.1`, "host: x", ...headers];
  if (method === "GET") lines.push("connection: close");
  // After HEAD another request: its answer must begin where the head of the first one ends.
  else lines.push("", "GET /healthz HTTP/1.1", "host: x", "connection: close");
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", reject).on("close", () => {
      const end = text.indexOf("\r\n\r\n");
      const head = text.slice(0, end);
      const [, type] = /\r\ncontent-type: ([^\r]*)/.exec(head) ?? [];
      const rest = text.slice(end + 4);
      resolve({ status: Number(head.split(" ")[1]), rest, ...(type !== undefined && { type }) });
    });
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  });
}

test.each(paths)("HEAD %s", async (path) => {
  const who = `authorization: Bearer ${token}`;
  const where = `x-project-id: ${project_id}`;
  const tries: [string, string[]][] = [
    [pathOf(path, false), [who, where]],
    [pathOf(path, true), [who, where]],
    [pathOf(path, false), [who]],
    [pathOf(path, false), []],
  ];
  for (const [url, headers] of tries) {
    const head = await askInTheEnd("HEAD", url, headers);
    const get = await askInTheEnd("GET", url, headers);
    expect([url, head.status, head.type]).toEqual([url, get.status, get.type]);
    expect([url, head.rest.slice(0, 12)]).toEqual([url, "HTTP/1.1 200"]);
    if (!isReadable(path)) expect([url, head.status]).toEqual([url, 405]);
  }
});

test("nothing is other than before, wherever it was sent", async () => {
  const before = await readEveryRecord(client, records);
  const headers = [`authorization: Bearer ${token}`, `x-project-id: ${project_id}`];
  for (const path of paths) await ask("HEAD", pathOf(path, false), headers);
  expect(await readEveryRecord(client, records)).toEqual(before);
});
