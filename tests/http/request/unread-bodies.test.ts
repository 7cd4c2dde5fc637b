// Bodies of requests that were answered before they had come: read to their end, a piece at a time.

import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { UnreadBodies } from "../../../src/http/request/unread-bodies.ts";

const BYTES = 7_000_000;
const PIECE = 64 * 1024;
const PIECES_MAX = 2;
/** Of all bodies together. */
const PIECES_PER_TURN = 8;

let server: Server | undefined;
afterEach(() => server?.close());

/** Answers each request at once, whatever of its body is still to come. */
async function listen(onRequest: (message: IncomingMessage) => void): Promise<number> {
  const unread = new UnreadBodies();
  server = createServer((message, response) => {
    onRequest(message);
    unread.discard(message);
    response.writeHead(503, { "content-length": 2 }).end("no");
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const head = (bytes: number) => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${bytes}\r\n\r\n`;

test("a caller that writes the whole body first gets its answer, and may go on", async () => {
  const seen: IncomingMessage[] = [];
  const port = await listen((message) => seen.push(message));
  const socket = connect(port, "127.0.0.1");
  let answers = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    answers += text;
  });
  await new Promise<void>((resolve) => {
    socket.write(head(BYTES));
    socket.write(Buffer.alloc(BYTES), () => resolve());
  });
  socket.write(head(0));
  await expect.poll(() => answers.match(/ 503 /g)?.length).toBe(2);
  expect(seen.map(({ complete }) => complete)).toEqual([true, true]);
  socket.destroy();
});

test("a few pieces of it are read in one turn, so that others are served meanwhile", async () => {
  let message: IncomingMessage | undefined;
  const port = await listen((one) => {
    message = one;
  });
  const socket = connect(port, "127.0.0.1");
  socket.write(head(BYTES));
  socket.write(Buffer.alloc(BYTES));
  let [read, most] = [0, 0];
  while (message?.complete !== true) {
    await turn();
    const now = message?.socket.bytesRead ?? 0;
    most = Math.max(most, now - read);
    read = now;
  }
  expect(most).toBeLessThanOrEqual(PIECES_MAX * PIECE);
  expect(read).toBeGreaterThan(BYTES);
  socket.destroy();
});

test("of many at once no more are read in one turn than of a few", async () => {
  const messages: IncomingMessage[] = [];
  const port = await listen((message) => messages.push(message));
  const sockets = Array.from({ length: 30 }, () => connect(port, "127.0.0.1"));
  for (const socket of sockets) socket.write(head(BYTES));
  await expect.poll(() => messages.length).toBe(sockets.length);
  const body = Buffer.alloc(BYTES);
  for (const socket of sockets) socket.write(body);
  const bytesRead = () => messages.reduce((sum, { socket }) => sum + socket.bytesRead, 0);
  let [read, turns] = [bytesRead(), 0];
  const each: number[] = [];
  while (messages.some(({ complete }) => !complete)) {
    await turn();
    const now = bytesRead();
    // The first piece of each comes by itself, and pauses it.
    turns += 1;
    if (turns > sockets.length) each.push(now - read);
    read = now;
  }
  expect(each.length).toBeGreaterThan(100);
  expect(Math.max(...each)).toBeLessThanOrEqual(PIECES_PER_TURN * PIECES_MAX * PIECE);
  for (const socket of sockets) socket.destroy();
});
