// Bodies that are there with their headers, that come in pieces, and that break off.

import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { BodyRoom } from "../../../src/http/admission/body-room.ts";
import { Bounds } from "../../../src/http/admission/bound.ts";
import { readBody } from "../../../src/http/request/read-body.ts";
import { ownTransactions } from "../../../src/http/route.ts";

const MAX = 64;
const route = ownTransactions({
  method: "POST",
  path: "/v1/read",
  id: "readTest",
  tag: "Test",
  summary: "A test",
  scope: "public",
  project: "none",
  body_max: MAX,
  reply: [204, null],
  handle: async () => undefined,
});
const TOO_LARGE = { code: "payload_too_large" };
const BROKE_OFF = { code: "bad_request", message: "The body broke off." };

/** As Node hands it over once its headers are there. */
function arriving(headers: Record<string, string> = { "transfer-encoding": "chunked" }) {
  const message = new IncomingMessage(new Socket());
  message.method = "POST";
  message.headers = { "content-type": "application/json", ...headers };
  const end = () => {
    message.push(null);
    message.complete = true;
  };
  const room = new BodyRoom(new Bounds());
  return { message, end, read: () => readBody(route, message, room, undefined) };
}

test("one that came with its headers is read as a whole", async () => {
  const { message, end, read } = arriving();
  message.push(Buffer.from('{"a":'));
  message.push(Buffer.from("1}"));
  end();
  expect(await read()).toEqual({ json: { a: 1 } });
  expect(message.listenerCount("data")).toBe(0);
});

test("an empty one is none", async () => {
  const { end, read } = arriving();
  end();
  expect(await read()).toEqual({ json: undefined });
});

test("one that comes in pieces is waited for", async () => {
  const { message, end, read } = arriving();
  message.push(Buffer.from('{"a":'));
  const body = read();
  await turn();
  await turn();
  message.push(Buffer.from("1}"));
  end();
  expect(await body).toEqual({ json: { a: 1 } });
});

test("one that is too large is refused, whichever way it comes", async () => {
  await expect(arriving({ "content-length": String(MAX + 1) }).read()).rejects.toMatchObject(
    TOO_LARGE,
  );
  const whole = arriving();
  whole.message.push(Buffer.alloc(MAX + 1));
  whole.end();
  await expect(whole.read()).rejects.toMatchObject(TOO_LARGE);
  const pieces = arriving();
  pieces.message.push(Buffer.alloc(MAX));
  const body = expect(pieces.read()).rejects.toMatchObject(TOO_LARGE);
  await turn();
  await turn();
  pieces.message.push(Buffer.alloc(1));
  await body;
});

test("one that breaks off is refused, also before anybody could wait for it", async () => {
  const late = arriving();
  late.message.push(Buffer.from('{"a":'));
  const body = expect(late.read()).rejects.toMatchObject(BROKE_OFF);
  await turn();
  await turn();
  late.message.destroy();
  await body;

  const early = arriving();
  early.message.push(Buffer.from('{"a":'));
  const refused = expect(early.read()).rejects.toMatchObject(BROKE_OFF);
  early.message.destroy();
  await refused;
});
