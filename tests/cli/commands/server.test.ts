// Signals to `dues serve`: the first one stops in order, also when it arrives twice, and a later
// one leaves at once.

import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, startApp } from "../../support/app.ts";
import { startService, until } from "../../support/processes.ts";

const BODY = "0123456789";
/** A busy machine takes half a minute to start a service. */
const TEST_MS = 90_000;

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** A service with a request whose body is awaited: an orderly stop waits for it. */
async function serviceWithOpenRequest() {
  const service = await startService({ connection: app.connection, role: "api" });
  const { hostname, port } = new URL(service.base_url);
  const socket = connect(Number(port), hostname).on("error", () => {});
  socket.write("POST /v1/keys HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n");
  socket.write(`Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n\r\n`);
  await once(socket, "data");
  return { service, socket };
}

test(
  "a signal that comes twice at once, as Ctrl-C does under npm, stops in order",
  async () => {
    const { service, socket } = await serviceWithOpenRequest();
    // Two different ones: two of a kind may reach a busy process as one.
    void service.signal("SIGINT");
    const exit = service.signal("SIGTERM");
    socket.write(BODY);
    expect(await exit).toEqual({ code: 0, signal: null });
  },
  TEST_MS,
);

test(
  "a later signal leaves at once, though a request is open",
  async () => {
    const { service, socket } = await serviceWithOpenRequest();
    const codes: unknown[] = [];
    await until(() => {
      void service.signal("SIGINT").then(({ code }) => codes.push(code));
      return codes.length > 0;
    });
    expect(codes[0]).toBe(1);
    socket.destroy();
  },
  TEST_MS,
);
