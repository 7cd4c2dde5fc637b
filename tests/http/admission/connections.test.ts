// Too many connections, and too much sent ahead on one: the others are served as if nothing were.

import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../../support/app.ts";
import { shownBound } from "../../support/bounds.ts";
import { slowness, until } from "../../support/processes.ts";

/** A second on an idle machine. Who is kept out waits for 9 s. */
const servedMs = () => Math.min(1_000 * slowness(), 5_000);
/** Connections that a caller of ours may keep open for its next request. */
const FEW = 4;

let app: App;
const open: Socket[] = [];

beforeAll(async () => {
  app = await startApp();
  await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  // The first calls of a process take longer, whichever test makes them.
  for (let i = 0; i < 100; i++) {
    await health();
    await app.call("GET", "/v1/customers", undefined, { authorization: undefined });
  }
});
// The next test begins when the server has let go of what this one opened.
afterEach(async () => {
  for (const socket of open.splice(0)) socket.destroy();
  await until(() => app.server.countConnections() < FEW);
});
afterAll(async () => {
  app.server.fastify.server.closeAllConnections();
  await app.close();
});

function callerFrom(localAddress: string): Promise<Socket> {
  const { port } = app.server.fastify.server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress }, () => resolve(socket));
    socket.on("error", reject);
    open.push(socket);
  });
}

const caller = () => callerFrom("127.0.0.1");

async function health(): Promise<number> {
  const { port } = app.server.fastify.server.address() as AddressInfo;
  const started = performance.now();
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
  expect(answer.status).toBe(200);
  return performance.now() - started;
}

test("two thousand idle connections of one address keep nobody out and close no other's", async () => {
  const busy = await caller();
  let answer = "";
  busy.on("data", (chunk) => {
    answer += chunk;
  });
  // Its head is read and its body has not come: the request is under way.
  busy.write(
    "POST /v1/keys HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" +
      "content-length: 100\r\n\r\n{",
  );
  // The only one of its address, and idle for longer than all that come after it.
  const alone = await callerFrom("127.0.0.2");
  const { refusals: before = 0 } = await shownBound(app.server.bounds, "connections");
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, caller));
  for (let i = 0; i < 10; i++) expect(await health()).toBeLessThan(servedMs());
  expect(answer).toBe("");
  // The rest of its body: it is answered on the same connection.
  busy.write(`${" ".repeat(98)}}`);
  await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 \d/);
  // Its request began before all others, but it was idle for the shortest time.
  await Promise.all(Array.from({ length: 10 }, caller));
  for (let i = 0; i < 3; i++) expect(await health()).toBeLessThan(servedMs());
  expect(busy.destroyed).toBe(false);
  let text = "";
  alone.on("data", (chunk) => {
    text += chunk;
  });
  alone.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  await expect.poll(() => text).toContain('{"status":"ok"}');
  // Two too many, and one more for the connection that health is asked on.
  const closed = async () => (await shownBound(app.server.bounds, "connections")).refusals;
  await expect.poll(closed).toBeGreaterThanOrEqual(before + 3);
});

test("requests sent ahead are answered in order, one at a time", async () => {
  const socket = await caller();
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  const ids = Array.from({ length: 60 }, (_, i) => `ahead-${i}`);
  socket.write(
    ids.map((id) => `GET /v1/plans HTTP/1.1\r\nhost: x\r\nx-request-id: ${id}\r\n\r\n`).join(""),
  );
  await expect.poll(() => [...text.matchAll(/HTTP\/1\.1 401/g)].length).toBe(60);
  expect([...text.matchAll(/x-request-id: (\S+)/gi)].map(([, id]) => id)).toEqual(ids);
  expect((await shownBound(app.server.bounds, "sent_ahead")).level).toBe(0);
  // And the connection can be used again.
  socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  await expect.poll(() => text.includes('{"status":"ok"}')).toBe(true);
  socket.destroy();
});

test("who sends thousands ahead and reads nothing is cut off, and others do not wait", async () => {
  const flood = "GET /v1/customers HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2_000);
  const sockets = await Promise.all(Array.from({ length: 8 }, caller));
  for (const socket of sockets) {
    socket.pause();
    socket.write(flood);
  }
  for (let i = 0; i < 10; i++) expect(await health()).toBeLessThan(servedMs());
  await expect
    .poll(() => new Promise((done) => app.server.fastify.server.getConnections((_, n) => done(n))))
    .toBeLessThan(4);
});

test("who is cut off is counted once, however much was sent behind the cut", async () => {
  const { refusals: before = 0 } = await shownBound(app.server.bounds, "sent_ahead");
  const socket = await caller();
  socket.resume().write("GET /v1/customers HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_500));
  await expect.poll(() => socket.closed).toBe(true);
  expect((await shownBound(app.server.bounds, "sent_ahead")).refusals).toBe(before + 1);
});
