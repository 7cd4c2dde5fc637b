// What is sent to the tool endpoint without waiting for an answer of its own: notifications,
// responses, and several messages at once.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { type App, type Body, type Json, sharedApp } from "../support/app.ts";
import { makeInvoice, paymentOf } from "../support/records.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const ask = (message: unknown, headers: Body = {}) => app.call("POST", "/v1/mcp", message, headers);
const ping = (id: unknown) => ({ jsonrpc: "2.0", id, method: "ping" });

test("notifications and responses get 202 and no body, whatever else is in them", async () => {
  const note = { jsonrpc: "2.0", method: "notifications/initialized" };
  const odd = { ...note, params: [] };
  const answer = { jsonrpc: "2.0", id: 1, result: {} };
  const failure = { jsonrpc: "2.0", id: 2, error: { code: -1, message: "no" } };
  for (const message of [note, [note, note], odd, answer, failure, [answer, odd]]) {
    const { status, body } = await ask(message);
    expect([status, body]).toEqual([202, ""]);
  }
});

test("what cannot be kept is told to the request that has it, and a notification of it is none", async () => {
  for (const value of ["12345678901234567890", '"\\u0000"', `${"[".repeat(60)}${"]".repeat(60)}`]) {
    const send = (message: string) =>
      app.server.fastify.inject({
        method: "POST",
        url: "/v1/mcp",
        headers: {
          authorization: `Bearer ${app.profile.token}`,
          "x-project-id": app.profile.project_id,
          "content-type": "application/json",
        },
        payload: `{"jsonrpc":"2.0",${message},"params":{"x":${value}}}`,
      });
    const answered = (await send('"id":"q7","method":"tools/call"')).json();
    expect(answered).toMatchObject({ id: "q7", error: { code: -32600 } });
    const { statusCode, body } = await send('"method":"notifications/progress"');
    expect([statusCode, body]).toEqual([202, ""]);
  }
});

test("a batch is answered in order, without its notifications; 50 are taken, 51 are not", async () => {
  const note = { jsonrpc: "2.0", method: "notifications/cancelled" };
  const { body } = await ask([ping(1), note, { id: 2 }, ping("c")]);
  expect(body.map((reply: Json) => [reply.id, reply.error?.code])).toEqual([
    [1, undefined],
    [2, -32600],
    ["c", undefined],
  ]);
  const many = (count: number) => Array.from({ length: count }, (_, i) => ping(i));
  expect((await ask(many(50))).body).toHaveLength(50);
  expect((await ask(many(51))).body).toMatchObject({ id: null, error: { code: -32600 } });
});

test("a batch with an Idempotency-Key is refused whole: one key is one call's", async () => {
  const params = { name: "record_payment", arguments: paymentOf(await makeInvoice(app)) };
  const batch = [{ jsonrpc: "2.0", id: 1, method: "tools/call", params }];
  const refused = await ask(batch, { "idempotency-key": randomUUID() });
  expect(refused.body).toMatchObject({ id: null, error: { code: -32600 } });
  expect(refused.body.error.message).toContain("Idempotency-Key");
  expect((await app.get("/v1/payments?count=1")).total_count).toBe(0);
});
