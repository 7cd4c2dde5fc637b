// A receiver that says `100 Continue` first has its answer read, however its bytes come in.

import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { WebhookClient } from "../../src/workers/webhook-client.ts";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const ANSWER = "HTTP/1.1 201 Created\r\ncontent-length: 4\r\n\r\ndone";
const DELIVERED = { http_status: 201, error: null, response_excerpt: "done" };
/** So that the pieces are read one by one. */
const APART_MS = 20;

let server: Server;
let client: WebhookClient;
let connections = 0;
afterEach(async () => {
  await client.close();
  server.close();
});

/** Answers each request with these pieces. */
async function receiver(pieces: readonly string[]): Promise<string> {
  connections = 0;
  const answer = async (socket: Socket) => {
    for (const piece of pieces) {
      socket.write(piece);
      await pause(APART_MS);
    }
  };
  server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => {});
    socket.on("data", () => void answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  client = new WebhookClient({ allow_private: true, allow_loopback: true });
  return `http://127.0.0.1:${port}/`;
}

test.each([
  { name: "apart", pieces: [CONTINUE, ANSWER] },
  { name: "in one piece", pieces: [CONTINUE + ANSWER] },
  { name: "twice", pieces: [CONTINUE + CONTINUE, ANSWER] },
  { name: "byte by byte", pieces: [...CONTINUE, ANSWER] },
  { name: "with a header", pieces: ["HTTP/1.1 100 Continue\r\nx: y\r\n", `\r\n${ANSWER}`] },
  { name: "and 103 after it", pieces: [CONTINUE, "HTTP/1.1 103 Early Hints\r\n\r\n", ANSWER] },
  {
    name: "not at all, in pieces",
    pieces: ["HTTP/1.", "1 201 Created\r\ncont", "ent-length: 4\r\n\r\ndone"],
  },
])("$name", async ({ pieces }) => {
  const url = await receiver(pieces);
  for (let i = 0; i < 2; i++) {
    expect(await client.send({ url, body: "{}", headers: {} })).toMatchObject(DELIVERED);
    // The connection is free again a moment later.
    await pause(APART_MS);
  }
  expect(connections).toBe(1);
});

test("a body that looks like it is a body", async () => {
  const body = `${CONTINUE}more`;
  const head = `HTTP/1.1 201 Created\r\ncontent-length: ${body.length}\r\n\r\n`;
  const url = await receiver([head, body]);
  expect(await client.send({ url, body: "{}", headers: {} })).toMatchObject({
    http_status: 201,
    response_excerpt: body.replaceAll("\r", ""),
  });
});

test("one without an end is no answer", async () => {
  const url = await receiver([`HTTP/1.1 100 Continue\r\nx: ${"y".repeat(40_000)}`]);
  expect(await client.send({ url, body: "{}", headers: {} })).toMatchObject({
    http_status: null,
    error: "connection",
  });
});
