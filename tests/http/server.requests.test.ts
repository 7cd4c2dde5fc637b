// Most tests inject their requests. Over a connection, new or used, the same requests must get the
// same answers, down to the headers.

import { Agent, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../support/app.ts";
import {
  code,
  makeAddOn,
  makeCustomer,
  makeInvoice,
  makeItem,
  makeMetric,
  makePlan,
  makeSubscription,
  paymentOf,
} from "../support/records.ts";
import { UNKNOWN_ID } from "../support/samples.ts";

let app: App;
let port: number;
let readOnly: string;
let event: Json;
/** One connection that requests share. */
const shared = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  app = await startApp({ mode: "live" });
  const metric = await makeMetric(app, { field_name: "calls" });
  const plan = await makePlan(app, { amount_cents: 0 });
  const subscription = await makeSubscription(app, { plan_id: plan.id });
  const { organization_id } = app.profile;
  readOnly = (await app.post("/v1/keys", { organization_id, name: "reader", scopes: ["read"] }))
    .token;
  event = { subscription_id: subscription.id, code: metric.code, value: "4" };
  await app.server.fastify.listen({ port: 0, host: "127.0.0.1" });
  port = (app.server.fastify.server.address() as AddressInfo).port;
});

afterAll(async () => {
  shared.destroy();
  app.server.fastify.server.closeAllConnections();
  await app.close();
});

type Sent = {
  method?: string;
  body?: string | Buffer;
  headers?: Record<string, string | undefined>;
  chunked?: boolean;
  /** A connection of its own unless given. */
  agent?: Agent;
};
type Seen = { status: number; headers: Record<string, unknown>; body: string };

/** Without what belongs to the connection and not to the answer. */
function common(headers: Record<string, unknown>): Record<string, unknown> {
  const { date: _, connection: __, "keep-alive": ___, ...rest } = headers;
  return rest;
}

function headersOf({ body, headers, chunked }: Sent): Record<string, string> {
  const all = {
    authorization: `Bearer ${app.profile.token}`,
    "x-project-id": app.profile.project_id,
    "content-type": "application/json",
    "x-request-id": "same",
    ...(body !== undefined && !chunked && { "content-length": String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const given = Object.entries(all).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Record<string, string>;
}

async function inject(path: string, sent: Sent): Promise<Seen> {
  const answer = await app.server.fastify.inject({
    method: (sent.method ?? "POST") as "POST",
    url: path,
    headers: headersOf(sent),
    ...(sent.body !== undefined && { payload: sent.body }),
  });
  return { status: answer.statusCode, headers: common(answer.headers), body: answer.body };
}

function send(path: string, sent: Sent): Promise<Seen> {
  const { method = "POST", body, agent = false } = sent;
  const headers = headersOf(sent);
  return new Promise((resolve, reject) => {
    const asked = httpRequest({ port, path, method, agent, headers }, (answer) => {
      const read: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => read.push(chunk));
      answer.on("end", () => {
        const body = Buffer.concat(read).toString();
        resolve({ status: answer.statusCode ?? 0, headers: common(answer.headers), body });
      });
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

const json = (fields: object) => JSON.stringify({ ...event, ...fields });
const good = (fields: object = {}) => json({ transaction_id: code("t"), ...fields });

/** Made late, when there is an event to vary. */
const REQUESTS: Readonly<Record<string, () => Sent>> = {
  "a broken body": () => ({ body: '{"transaction_id":' }),
  "a body that is no UTF-8": () => ({ body: Buffer.from([0x22, 0xff, 0x22]) }),
  "a body with a byte order mark": () => ({ body: `\ufeff${good()}` }),
  "an empty body": () => ({ body: "" }),
  "no body at all": () => ({}),
  null: () => ({ body: "null" }),
  "a list": () => ({ body: "[]" }),
  "an object with nothing in it": () => ({ body: "{}" }),
  "wrong types in every field": () => ({
    body: '{"transaction_id":1,"subscription_id":[],"code":{},"value":2,"timestamp":3,"properties":4}',
  }),
  "U+0000": () => ({ body: good({ value: "\u0000" }) }),
  "a lone surrogate": () => ({ body: good().replace('"4"', '"\\ud800"') }),
  "a number that loses digits": () => ({
    body: good({ properties: { n: 0 } }).replace("0}", "1e400}"),
  }),
  "deep nesting": () => ({ body: `${"[".repeat(40)}${"]".repeat(40)}` }),
  "an unknown subscription": () => ({ body: good({ subscription_id: "ext:nobody" }) }),
  "an unknown metric": () => ({ body: good({ code: "nothing" }) }),
  "a day that does not exist": () => ({ body: good({ timestamp: "2026-02-30T00:00:00.000Z" }) }),
  "the far future": () => ({ body: good({ timestamp: "2199-01-01T00:00:00.000Z" }) }),
  "a value that is no number": () => ({ body: good({ value: "many" }) }),
  "before the start": () => ({ body: good({ timestamp: "2020-01-01T00:00:00Z" }) }),
  "more than an event may have": () => ({ body: good({ properties: { x: "y".repeat(70_000) } }) }),
  "another content type": () => ({ body: good(), headers: { "content-type": "text/plain" } }),
  "no content type": () => ({ body: good(), headers: { "content-type": undefined } }),
  "a content type with charset": () => ({
    body: good(),
    headers: { "content-type": "application/json; charset=utf-8" },
  }),
  chunks: () => ({ body: good(), chunked: true }),
  "no token": () => ({ body: good(), headers: { authorization: undefined } }),
  "a token that is none": () => ({ body: good(), headers: { authorization: "Bearer dues_x" } }),
  "a token that may only read": () => ({
    body: good(),
    headers: { authorization: `Bearer ${readOnly}` },
  }),
  "no project": () => ({ body: good(), headers: { "x-project-id": undefined } }),
  "a project that is no id": () => ({ body: good(), headers: { "x-project-id": "mine" } }),
  "an unknown project": () => ({
    body: good(),
    headers: { "x-project-id": UNKNOWN_ID },
  }),
  "a project in upper case": () => ({
    body: good(),
    headers: { "x-project-id": app.profile.project_id.toUpperCase() },
  }),
  "an idempotency key": () => ({ body: good(), headers: { "idempotency-key": code("k") } }),
  "another method": () => ({ method: "PUT", body: good() }),
  "the method of a list": () => ({ method: "GET" }),
};

test.each(Object.entries(REQUESTS))("%s is answered alike on every way", async (_, make) => {
  const injected = await inject("/v1/events", make());
  expect(await send("/v1/events", make())).toEqual(injected);
  expect(await send("/v1/events", { ...make(), agent: shared })).toEqual(injected);
});

test("every record by its id is answered alike on every way", async () => {
  const customer = await makeCustomer(app);
  const invoice = await makeInvoice(app, { customer_id: customer.id });
  const payment = await app.post("/v1/payments", paymentOf(invoice));
  const item = await makeItem(app);
  const addOn = await makeAddOn(app);
  const metric = await makeMetric(app);
  const plan = await makePlan(app);
  const sent = good();
  await send("/v1/events", { body: sent });
  const paths = [
    `/v1/customers/${customer.id}`,
    `/v1/customers/${customer.id.toUpperCase()}`,
    `/v1/customers/${customer.short_id}`,
    `/v1/customers/ext:${customer.external_id}`,
    `/v1/customers/ext%3A${customer.external_id}`,
    "/v1/customers/nobody",
    "/v1/customers/%00",
    "/v1/customers/",
    `/v1/invoices/${invoice.id}`,
    `/v1/payments/${payment.payment.id}`,
    `/v1/catalog/${item.id}`,
    `/v1/addons/${addOn.id}`,
    `/v1/metrics/${metric.id}`,
    `/v1/plans/${plan.id}`,
    `/v1/subscriptions/${event.subscription_id}`,
    `/v1/events/${JSON.parse(sent).transaction_id}`,
    "/v1/events/unknown",
    "/v1/events/batch",
  ];
  for (const path of paths) {
    const injected = await inject(path, { method: "GET" });
    expect(await send(path, { method: "GET" }), path).toEqual(injected);
    expect(await send(path, { method: "GET", agent: shared }), path).toEqual(injected);
  }
});

test("a client that leaves in the middle of its body harms nobody", async () => {
  const left = new Promise((resolve) => {
    const sent = httpRequest({
      port,
      path: "/v1/events",
      method: "POST",
      headers: {
        authorization: `Bearer ${app.profile.token}`,
        "x-project-id": app.profile.project_id,
        "content-type": "application/json",
        "content-length": "500",
      },
    });
    sent.on("error", resolve);
    sent.write('{"transaction_id":', () => sent.destroy(new Error("gone")));
  });
  await left;
  expect((await send("/v1/events", { body: good() })).status).toBe(200);
});

test("a revoked token is refused at once", async () => {
  const { organization_id } = app.profile;
  const made = await app.post("/v1/keys", { organization_id, name: "sender", scopes: ["events"] });
  const headers = { authorization: `Bearer ${made.token}` };
  expect((await send("/v1/events", { body: good(), headers })).status).toBe(200);
  await app.ok("DELETE", `/v1/keys/${made.id}`);
  expect((await send("/v1/events", { body: good(), headers })).status).toBe(401);
});
