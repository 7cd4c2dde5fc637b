// Bytes on a real socket that are hardly HTTP, or come too slowly: answered in the envelope and
// closed, while everyone else is served.

import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { registry } from "../../src/telemetry.ts";
import { type App, startApp } from "../support/app.ts";
import { until } from "../support/processes.ts";
import { UNKNOWN_ID } from "../support/samples.ts";
import { expectEnvelope } from "../support/shapes.ts";

const GOOD = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

type Checked = { connectionsCheckingInterval: number };

let app: App;
let port: number;
/** How long a slow client may take at most, in milliseconds. */
let limits: { headers: number; request: number };

beforeAll(async () => {
  app = await startApp();
  const { server } = app.server.fastify;
  const { headersTimeout, requestTimeout } = server;
  const { connectionsCheckingInterval: every } = server as typeof server & Checked;
  limits = { headers: headersTimeout + every, request: requestTimeout + every };
  // A slow client is closed by the same check as in production, only sooner.
  Object.assign(server, { headersTimeout: 300, connectionsCheckingInterval: 50 });
  await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  port = (server.address() as AddressInfo).port;
});

afterAll(async () => {
  app.server.fastify.server.closeAllConnections();
  await app.close();
});

/** Sends the bytes and reads until the other side has closed. */
function exchange(bytes: string | Buffer, after?: (socket: Socket) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const read: Buffer[] = [];
    socket.on("data", (chunk) => read.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(read).toString()));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNRESET" || error.code === "EPIPE") return;
      reject(error);
    });
    socket.write(bytes);
    after?.(socket);
  });
}

function parse(text: string): { status: number; body: unknown } {
  const [head = "", body = ""] = text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body: JSON.parse(body) };
}

function headers(...lines: string[]): string {
  return [...lines, "connection: close", "", ""].join("\r\n");
}

const project = `x-project-id: ${UNKNOWN_ID}`;

test.each([
  ["no HTTP at all", "hello\r\n\r\n"],
  ["another protocol", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
  ["an unknown version", "GET / HTTP/9.9\r\nhost: x\r\n\r\n"],
  ["a bad method", "G@T / HTTP/1.1\r\nhost: x\r\n\r\n"],
  ["a header without a colon", "GET / HTTP/1.1\r\nhost: x\r\nbroken\r\n\r\n"],
  ["a header with a NUL", "GET / HTTP/1.1\r\nhost: x\r\na: b\x00c\r\n\r\n"],
  ["a folded header", "GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n"],
  [
    "two lengths",
    "POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}",
  ],
  [
    "a length and chunks",
    "POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["a negative length", "POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n"],
  [
    "a broken chunk",
    "POST /v1/keys HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
  ],
  ["20 KiB of headers", `GET / HTTP/1.1\r\nhost: x\r\na: ${"x".repeat(20_000)}\r\n\r\n`],
  ["20 KiB of path", `GET /${"x".repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
])("%s is refused and the socket closed", async (_name, bytes) => {
  const text = await exchange(Buffer.from(bytes, "latin1"));
  const { status, body } = parse(text);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expectEnvelope({ status, body });
});

test.each([
  ["a request without a host", headers("GET /healthz HTTP/1.1")],
  ["TRACE", headers("TRACE /v1/keys HTTP/1.1", "host: x")],
  ["OPTIONS", headers("OPTIONS /v1/keys HTTP/1.1", "host: x")],
  ["CONNECT-like path", headers("GET //evil.test/%2e%2e HTTP/1.1", "host: x")],
  ["a whole URL as path", headers("GET http://evil.test/v1/keys HTTP/1.1", "host: x")],
  [
    "two Authorization",
    headers("GET /v1/keys HTTP/1.1", "host: x", "authorization: a", "authorization: b"),
  ],
  ["bytes above 127", headers("GET /v1/keys/\xff\xfe HTTP/1.1", "host: x")],
])("%s is answered in the envelope", async (_name, bytes) => {
  const { status, body } = parse(await exchange(Buffer.from(bytes, "latin1")));
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expectEnvelope({ status, body });
});

test.each([
  ["a path that is not there", "POST /nope", 404],
  ["a method that is not there", "PUT /v1/keys", 405],
])("%s is refused before the body has come", async (_name, start, status) => {
  const type = "content-type: application/json";
  const text = await exchange(
    headers(`${start} HTTP/1.1`, "host: x", type, "content-length: 1000"),
  );
  expect(parse(text).status).toBe(status);
});

test("two project headers are refused, whichever is the right one", async () => {
  const own = `x-project-id: ${app.profile.project_id}`;
  const who = `authorization: Bearer ${app.profile.token}`;
  for (const pair of [
    [own, project],
    [project, own],
    [own, own],
  ]) {
    const text = await exchange(headers("GET /v1/customers HTTP/1.1", "host: x", who, ...pair));
    expect(parse(text).status).toBe(422);
  }
});

test("a connection is closed after its answer, also when a proxy's header asks for it", async () => {
  // It waits for the close, so it would not end on a connection that is kept open.
  const text = await exchange(
    "GET /healthz HTTP/1.1\r\nhost: x\r\nproxy-connection: close\r\n\r\n",
  );
  expect(text).toContain("200 OK");
  expect(text.toLowerCase()).toContain("connection: close");
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

test("a slow client has at most 12 seconds for its headers and 32 for its body", () => {
  expect(limits.headers).toBeLessThanOrEqual(12_000);
  expect(limits.request).toBeLessThanOrEqual(32_000);
});

test("headers that come too slowly are cut off", async () => {
  const text = await exchange("GET /healthz HTTP/1.1\r\nhost: x\r\n");
  if (text !== "") expectEnvelope(parse(text));
});

test("a client that leaves in the middle of its body harms nobody", async () => {
  const head = "POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  for (let i = 0; i < 20; i++) {
    await exchange(`${head}content-length: 1000\r\n\r\n{"name":`, (socket) => socket.end());
    await exchange(`${head}content-length: 1000\r\n\r\n{`, (socket) => socket.destroy());
  }
  expect(await exchange(GOOD)).toContain("200 OK");
});

test("what follows a refused request on the same socket is not taken for another", async () => {
  const smuggled = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
  const text = await exchange(`POST /v1/keys HTTP/9.9\r\nhost: x\r\n\r\n${smuggled}`);
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
});

test("slow and broken clients do not keep others from being served", async () => {
  const slow = Array.from({ length: 50 }, () => exchange("GET / HTTP/1.1\r\n"));
  const served = await Promise.all(Array.from({ length: 20 }, () => exchange(GOOD)));
  for (const text of served) expect(text).toContain("200 OK");
  await Promise.all(slow);
});

test("two Authorization headers are refused, whichever of them is good", async () => {
  const good = `Authorization: Bearer ${app.profile.token}`;
  for (const lines of [
    [good, "authorization: Bearer dues_x"],
    ["AUTHORIZATION: x", good],
  ]) {
    const start = ["GET /v1/keys/me HTTP/1.1", "host: x"];
    const { status, body } = parse(await exchange(headers(...start, ...lines)));
    expect(status).toBe(400);
    expectEnvelope({ status, body });
  }
  const { status } = parse(await exchange(headers("GET /v1/keys/me HTTP/1.1", "host: x", good)));
  expect(status).toBe(200);
});

/** Until the next request is either answered or waits for its body. */
function bodyAwaited(): Promise<void> {
  return new Promise((resolve, reject) => {
    app.server.fastify.server.once("request", (message, response) => {
      until(() => response.writableEnded || message.listenerCount("data") > 0).then(
        resolve,
        reject,
      );
    });
  });
}

/** How many requests have run to their end, whether anybody could still read the answer or not. */
async function answered(): Promise<number> {
  const metric = await registry.getSingleMetric("dues_http_requests_total")?.get();
  return metric?.values.reduce((sum, { value }) => sum + value, 0) ?? 0;
}

test("a body that its sender breaks off is no failure of ours in the log", async () => {
  const failures = [vi.spyOn(app.context.log, "error"), vi.spyOn(app.context.log, "warn")];
  const { token, project_id } = app.profile;
  const known = [`authorization: Bearer ${token}`, `x-project-id: ${project_id}`];
  for (const sender of [[], known]) {
    for (const path of ["/v1/keys", "/v1/customers", "/v1/events"]) {
      const start = [`POST ${path} HTTP/1.1`, "host: x", ...sender];
      const body = ["content-type: application/json", "content-length: 100"];
      const before = await answered();
      const begun = bodyAwaited();
      await exchange(`${headers(...start, ...body)}{"a":`, async (socket) => {
        await begun;
        socket.destroy();
      });
      await until(async () => (await answered()) === before + 1);
    }
  }
  // What is said about an answer that cannot be written is said by the next turn.
  await turn();
  for (const failure of failures) expect(failure).not.toHaveBeenCalled();
});
