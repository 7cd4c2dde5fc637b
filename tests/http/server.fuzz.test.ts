// Requests that were good until some bytes of them were changed, cut, doubled or put elsewhere, on
// real sockets: each is answered or closed, none is a failure, and the server goes on answering.

import { type AddressInfo, connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type App, startApp } from "../support/app.ts";
import { runs } from "../support/property-runs.ts";
import { code, makeCustomer, makeMetric, makeSubscription } from "../support/records.ts";

const deep = process.env.DUES_DEEP === "1";
const ROUNDS = deep ? 800 : 20;
/** So many connections at once. */
const AT_ONCE = 25;
/** What waits for bytes that never come is closed by the server after this. */
const SLOW_MS = 250;
/** Longer than any answer and any wait of the server. */
const DEADLINE_MS = 30_000;

let app: App;
let port: number;
let good: Buffer[];

beforeAll(async () => {
  app = await startApp();
  const { server } = app.server.fastify;
  const waits = { headersTimeout: SLOW_MS, requestTimeout: SLOW_MS, keepAliveTimeout: SLOW_MS };
  Object.assign(server, { ...waits, connectionsCheckingInterval: 50 });
  await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  port = (server.address() as AddressInfo).port;
  good = await goodRequests();
});

afterAll(async () => {
  app.server.fastify.server.closeAllConnections();
  await app.close();
});

function request(start: string, body?: unknown, more: readonly string[] = []): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const length = `content-length: ${Buffer.byteLength(text)}`;
  const { token, project_id } = app.profile;
  return [
    ...[`${start} HTTP/1.1`, "host: dues.test", `authorization: Bearer ${token}`],
    ...[`x-project-id: ${project_id}`, "content-type: application/json"],
    ...(more.length > 0 ? more : [length]),
    ...["connection: close", "", text],
  ].join("\r\n");
}

async function goodRequests(): Promise<Buffer[]> {
  const metric = await makeMetric(app);
  const customer = await makeCustomer(app);
  const subscription = await makeSubscription(app, { customer_id: customer.id });
  const counted = { subscription_id: subscription.id, code: metric.code, value: "1" };
  const events = Array.from({ length: 3 }, () => ({ transaction_id: code("t"), ...counted }));
  const chunked = request("POST /v1/events/batch", undefined, ["transfer-encoding: chunked"]);
  const batch = JSON.stringify({ events });
  const tool = { name: "get_customer", arguments: { id: customer.id } };
  const keyed = { external_id: code("fuzz"), name: "Zoë 株式会社" };
  return [
    request("GET /healthz"),
    request("HEAD /v1/customers"),
    request("GET /v1/customers?limit=2&count=1&search=a%20b"),
    request(`GET /portal/${customer.id}`),
    request(`PATCH /v1/customers/${customer.id}`, { name: "Changed" }),
    request("POST /v1/customers", keyed).replace("\r\n", "\r\nidempotency-key: fuzz\r\n"),
    request("POST /v1/events", { ...events[0], timestamp: "2026-01-10T09:00:00.000Z" }),
    `${chunked}${batch.length.toString(16)};a=b\r\n${batch}\r\n0\r\n\r\n`,
    request("POST /v1/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: tool }),
    request("POST /v1/keys", { name: "f", organization_id: app.profile.organization_id }),
    request("GET /healthz").replace("close", "keep-alive") + request("GET /v1/plans"),
  ].map((text) => Buffer.from(text));
}

/** What means something to a parser, and what never should stand there. */
const PIECES = [
  ...["\r\n", "\n", "\r", "\r\n\r\n", "\0", " ", "\t", ":", "%", "%00", "%2e%2e/", "../", "//"],
  ...["HTTP/1.0", "HTTP/9.9", "\r\nhost: y", "\r\ncontent-length: 3", "\r\ncontent-length: -1"],
  ...["\r\ntransfer-encoding: chunked", "\r\nexpect: 100-continue", "\r\nupgrade: websocket"],
  ...["\r\nconnection: upgrade", "ffffffffffffffff", "0\r\n\r\n", "\r\nx-project-id: ", "\xff\xfe"],
  ...['"', "{", "[[[[[[[[", "}", ",", "\\u0000", "\\ud800", "1e999", "__proto__", "-", "?", "#"],
  ...["\r\ncontent-encoding: gzip", "\r\ncontent-type: text/plain", "GET / HTTP/1.1\r\n\r\n"],
].map((text) => Buffer.from(text, "latin1"));

type Edit = (bytes: Buffer) => Buffer;

/** One change at a place: a share of the whole, so that it fits a request of any length. */
const edit: fc.Arbitrary<Edit> = fc
  .record({
    kind: fc.constantFrom("put", "replace", "cut", "double", "end", "move"),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    count: fc.integer({ min: 1, max: 40 }),
    piece: fc.oneof(
      fc.constantFrom(...PIECES),
      fc.uint8Array({ minLength: 1, maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    ),
  })
  .map(({ kind, at, count, piece }) => (bytes: Buffer) => {
    const place = Math.floor(at * bytes.length);
    const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
    const taken = after.subarray(0, count);
    const rest = after.subarray(count);
    if (kind === "put") return Buffer.concat([before, piece, after]);
    if (kind === "replace") return Buffer.concat([before, piece, after.subarray(piece.length)]);
    if (kind === "cut") return Buffer.concat([before, rest]);
    if (kind === "double") return Buffer.concat([before, taken, taken, rest]);
    if (kind === "move") return Buffer.concat([taken, before, rest]);
    return before;
  });

/** Which good request, what is done to it, and after which share of it the sender pauses. */
const mutant = fc
  .tuple(fc.nat(), fc.array(edit, { minLength: 1, maxLength: 4 }), fc.nat())
  .map(([which, edits, pause]) => {
    const begun = good[which % good.length] ?? Buffer.alloc(0);
    const bytes = edits.reduce((changed, change) => change(changed), begun);
    return { bytes, pause: pause % (bytes.length + 1) };
  });

/** All that comes back until the connection is closed. */
function exchange(bytes: Buffer, pause = bytes.length): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const late = setTimeout(() => reject(new Error("Neither answered nor closed.")), DEADLINE_MS);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk) => {
      text += chunk;
    });
    // A reset is a way to close; it may come while we still write.
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(late);
      resolve(text);
    });
    socket.write(bytes.subarray(0, pause), () => {
      if (!socket.destroyed) socket.write(bytes.subarray(pause));
    });
  });
}

function statusesIn(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

test("a request with some bytes changed is answered or closed, and never fails", {
  timeout: deep ? 3_600_000 : 240_000,
}, async () => {
  const failures = [vi.spyOn(app.context.log, "error"), vi.spyOn(app.context.log, "warn")];
  for (const bytes of good) {
    expect(statusesIn(await exchange(bytes)).every((status) => status < 300)).toBe(true);
  }
  const seen: Record<string, number> = {};
  const property = fc.asyncProperty(
    fc.array(mutant, { minLength: AT_ONCE, maxLength: AT_ONCE }),
    async (mutants) => {
      await Promise.all(
        mutants.map(async ({ bytes, pause }) => {
          const statuses = statusesIn(await exchange(bytes, pause));
          for (const status of [...statuses, ...(statuses.length === 0 ? ["closed"] : [])]) {
            seen[status] = (seen[status] ?? 0) + 1;
          }
          const failed = statuses.some((status) => status >= 500);
          expect(failed, `${statuses} to ${JSON.stringify(bytes.toString("latin1"))}`).toBe(false);
        }),
      );
      for (const failure of failures) expect(failure.mock.calls).toEqual([]);
      for (const bytes of good.slice(0, 4)) {
        expect(statusesIn(await exchange(bytes))).toEqual([200]);
      }
    },
  );
  // The seed is a new one each time; a failure tells it.
  await fc.assert(property, runs(ROUNDS));
  // Some are still good, and most are not.
  const count = (kind: string) =>
    Object.entries(seen).reduce((sum, [status, n]) => sum + (status.startsWith(kind) ? n : 0), 0);
  expect(count("2"), JSON.stringify(seen)).toBeGreaterThan(ROUNDS);
  expect(count("4"), JSON.stringify(seen)).toBeGreaterThan(ROUNDS);
});
