// A thread that is busy still takes up those who come, several in each turn of its loop.

import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Acceptors } from "../../../src/http/admission/acceptors.ts";

const CALLERS = 64;
const BACKLOG = 200;

let server: Server;
let acceptors: Acceptors;
let port: number;
beforeEach(async () => {
  server = createServer((_request, response) => response.end("here"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", BACKLOG, resolve));
  port = (server.address() as AddressInfo).port;
  acceptors = new Acceptors(server, BACKLOG);
  await acceptors.add();
});
afterEach(() => {
  acceptors.close();
  server.close();
  server.closeAllConnections();
});

function call(): Socket {
  return connect({ port, host: "127.0.0.1" });
}

test("of many that come at once, at least four are accepted in a turn", async () => {
  let turns = 0;
  let accepted = 0;
  server.on("connection", () => {
    accepted += 1;
  });
  const sockets = Array.from({ length: CALLERS }, call);
  while (accepted < CALLERS) {
    await new Promise((resolve) => setImmediate(resolve));
    if (accepted > 0) turns += 1;
  }
  expect(turns).toBeLessThanOrEqual(CALLERS / 4);
  for (const socket of sockets) socket.destroy();
});

test("whichever socket accepted them, all are answered, and none is accepted after the close", async () => {
  const ask = async () => (await fetch(`http://127.0.0.1:${port}/`)).text();
  expect(new Set(await Promise.all(Array.from({ length: CALLERS }, ask)))).toEqual(
    new Set(["here"]),
  );
  acceptors.close();
  server.close();
  const refused = await new Promise((resolve) => call().on("error", resolve));
  expect(refused).toMatchObject({ code: "ECONNREFUSED" });
});
