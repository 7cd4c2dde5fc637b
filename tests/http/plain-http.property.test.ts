// The reader of plain requests against Node's own parser: whatever it takes, Node must have read as
// the same single request, and kept the connection. It may decline as much as it likes.

import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PlainReader } from "../../src/http/plain-http.ts";

type Seen = Pick<IncomingMessage, "method" | "url" | "headers"> & { body: string; kept: boolean };

/** What Node reads from these bytes; a request whose end never comes is not among it. */
async function readByNode(bytes: Buffer): Promise<Seen[]> {
  const seen: Seen[] = [];
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      const body = Buffer.concat(chunks).toString("latin1");
      seen.push({ method, url, headers, body, kept: response.shouldKeepAlive });
    });
    response.end();
  });
  server.on("clientError", () => {});
  const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  socket.on("error", () => {});
  server.emit("connection", socket);
  socket.push(bytes);
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  return seen;
}

const name = fc.constantFrom(
  "host",
  "Host",
  "authorization",
  "Content-Type",
  "x-project-id",
  "X-Request-Id",
  "accept",
  "cookie",
  "connection",
  "transfer-encoding",
  "expect",
  "upgrade",
  "content-length",
  "Content-Length",
  "te",
  "x y",
  "",
  "x\t",
  "__proto__",
  "constructor",
);
const value = fc.oneof(
  fc.constantFrom("keep-alive", "close", "Keep-Alive, Upgrade", "chunked", "100-continue", "h2c"),
  fc.constantFrom("application/json", "", " ", "0", "2", "+2", "2, 2", "02", "0x2", "-1", "1e1"),
  fc.string({ maxLength: 12, unit: "binary-ascii" }),
  fc.string({ maxLength: 6, unit: fc.constantFrom("\r", "\n", "\t", "\0", "\x7f", "\xff", "a") }),
);
const odd = fc
  .tuple(name, fc.constantFrom(": ", ":", " : ", ":\t"), value)
  .map((parts) => parts.join(""));
const good = fc
  .tuple(
    fc.constantFrom("Accept", "x-a", "x-b", "Cookie", "authorization"),
    fc.string({ maxLength: 9, unit: "grapheme-ascii" }),
  )
  .map(([key, text]) => `${key}: a${text}z`);
/** Each would change where the request ends, or whether another one may follow. */
const telling = fc.constantFrom(
  "connection: close",
  "Connection: upgrade",
  "Transfer-Encoding: chunked",
  ...["2", "+2", "02", "2.0", "0x2", "2e0", "0"].map((length) => `content-length: ${length}`),
);
const header = fc.oneof({ weight: 4, arbitrary: good }, odd, telling);
const start = fc
  .tuple(
    fc.oneof({ weight: 6, arbitrary: fc.constantFrom("GET", "POST") }, fc.constant("PUT")),
    fc.constantFrom("/v1/events", "/v1/customers/ext:a@b.c", "/", "*", "/a b", "/ä", "http://x/"),
    fc.oneof({ weight: 6, arbitrary: fc.constant("HTTP/1.1") }, fc.constant("HTTP/1.0")),
  )
  .map((parts) => parts.join(" "));
const newline = fc.oneof(
  { weight: 40, arbitrary: fc.constant("\r\n") },
  fc.constantFrom("\n", "\r", "\r\n ", "\r\n\r\n"),
);
const body = fc.constantFrom("", "{}", "{}\r\n", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", "ÿ{}");

/** Mostly right, with anything odd in it. */
const message = fc
  .tuple(
    start,
    fc.array(fc.tuple(header, newline), { maxLength: 4 }),
    fc.option(newline),
    body,
    fc.boolean(),
  )
  .map(([first, headers, end, text, told]) => {
    const lines = headers.map((line) => line.join("")).join("");
    const length = told ? `content-length: ${text.length}\r\n` : "";
    const head = `${first}${end ?? "\r\n"}host: x\r\n${lines}${length}\r\n`;
    return Buffer.from(head + text, "latin1");
  });

test("what is read as plain is what Node reads, and nothing else", async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(message, async (bytes) => {
      const plain = new PlainReader().read(bytes);
      if (plain === undefined) return;
      taken += 1;
      const { method, url, headers } = plain.request;
      const text = plain.body?.toString("latin1") ?? "";
      expect(await readByNode(bytes)).toEqual([{ method, url, headers, body: text, kept: true }]);
    }),
    { numRuns: 5_000 },
  );
  expect(taken).toBeGreaterThan(200);
});

test("a head that was seen before is read as if it were new", () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 2, maxLength: 5 }), (messages) => {
      const reader = new PlainReader();
      for (const bytes of [...messages, ...messages]) {
        expect(reader.read(bytes)).toEqual(new PlainReader().read(bytes));
      }
    }),
  );
});

test("no byte of a plain request may be missing, and none too many", () => {
  const whole = Buffer.from("POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
  const reader = new PlainReader();
  expect(reader.read(whole)?.body?.toString()).toBe("{}");
  for (let end = 0; end < whole.length; end++) {
    expect(reader.read(whole.subarray(0, end))).toBe(undefined);
  }
  expect(reader.read(Buffer.concat([whole, Buffer.from(" ")]))).toBe(undefined);
  expect(reader.read(Buffer.concat([whole, whole]))).toBe(undefined);
});
