// Connections from the first byte to the last: cut, reused, pipelined, left, idle and shut down.

import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import { Pool } from "../../src/store/db/db.ts";
import { CUTOFF_LOCK, lockUsage } from "../../src/store/usage/locks.ts";
import { type App, startApp } from "../support/app.ts";
import { code, makeCustomer, makeMetric, makePlan, makeSubscription } from "../support/records.ts";

let app: App;
/** The server's ends of the connections, by the port of the other end. */
const served = new Map<number | undefined, Socket>();
let customer: string;
let event: Record<string, string>;

beforeAll(async () => {
  app = await startApp({ mode: "live" });
  const metric = await makeMetric(app, { field_name: "calls" });
  const plan = await makePlan(app, { amount_cents: 0 });
  const subscription = await makeSubscription(app, { plan_id: plan.id });
  event = { subscription_id: subscription.id, code: metric.code, value: "4" };
  customer = (await makeCustomer(app)).id;
  await listen(app);
});

async function listen({ server: { fastify } }: App): Promise<void> {
  fastify.server.on("connection", (socket) => served.set(socket.remotePort, socket));
  await fastify.listen({ port: 0, host: "127.0.0.1" });
}

afterAll(async () => {
  app.server.fastify.server.closeAllConnections();
  await app.close();
});

function request(start: string, body = ""): string {
  const length = body === "" ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  return [
    `${start} HTTP/1.1`,
    "host: x",
    `authorization: Bearer ${app.profile.token}`,
    `x-project-id: ${app.profile.project_id}`,
    "content-type: application/json",
    ...length,
    "",
    body,
  ].join("\r\n");
}

const post = (transaction_id = code("t")) =>
  request("POST /v1/events", JSON.stringify({ ...event, transaction_id }));
const get = (id = customer) => request(`GET /v1/customers/${id}`);
const other = () => request("GET /v1/plans?limit=1");

const SOON = { timeout: 5_000, interval: 1 };

class Caller {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor(of = app) {
    const { port } = of.server.fastify.server.address() as AddressInfo;
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    this.socket.on("data", (chunk) => {
      this.text += chunk;
    });
    for (const event of ["end", "close", "error"]) {
      this.socket.on(event, () => {
        this.closed = true;
      });
    }
  }

  get statuses(): number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** What the server has read of it. */
  #read(): number | undefined {
    return served.get(this.socket.localPort)?.bytesRead;
  }

  /** A piece is sent when the server has read the one before, so that it comes by itself. */
  async send(...pieces: string[]): Promise<this> {
    for (const piece of pieces) {
      this.socket.write(piece);
      await vi.waitFor(() => expect(this.#read()).toBe(this.socket.bytesWritten), SOON);
    }
    return this;
  }

  async answers(count: number): Promise<number[]> {
    await vi.waitFor(() => expect(this.statuses.length).toBeGreaterThanOrEqual(count), 5_000);
    return this.statuses;
  }

  async isClosed(): Promise<void> {
    await vi.waitFor(() => expect(this.closed).toBe(true), 5_000);
  }
}

async function ask(...pieces: string[]): Promise<Caller> {
  const caller = await new Caller().send(...pieces);
  await caller.answers(1);
  caller.socket.destroy();
  return caller;
}

test("requests on one connection are answered one after the other, and it stays open", async () => {
  const caller = new Caller();
  for (let i = 1; i <= 5; i++) {
    await caller.send(i % 2 === 0 ? get("nobody") : post());
    await caller.answers(i);
  }
  expect(caller.statuses).toEqual([200, 404, 200, 404, 200]);
  expect(caller.text.toLowerCase()).toContain(
    "connection: keep-alive\r\nkeep-alive: timeout=65\r\n",
  );
  caller.socket.destroy();
});

test("an event is taken once, wherever its request was cut in two", async () => {
  const whole = post();
  for (let at = 1; at < whole.length; at += 37) {
    const transaction_id = code("cut");
    const sent = request("POST /v1/events", JSON.stringify({ ...event, transaction_id }));
    const caller = await ask(sent.slice(0, at), sent.slice(at));
    expect(caller.statuses, `at ${at}`).toEqual([200]);
    expect(caller.text).toContain('"duplicate":false');
    const again = await ask(post(transaction_id));
    expect(again.text).toContain('"duplicate":true');
  }
});

test("requests that are sent without waiting are answered in their order", async () => {
  const ids = [code("a"), code("b"), code("c")];
  for (const glue of [true, false]) {
    const all = [post(ids[0]), get("nobody"), other(), post(ids[1]), get(), post(ids[2])];
    const caller = await new Caller().send(...(glue ? [all.join("")] : all));
    expect(await caller.answers(6)).toEqual([200, 404, 200, 200, 200, 200]);
    const told = [...caller.text.matchAll(/"duplicate":(\w+)/g)].map(([, found]) => found);
    expect(told).toEqual(glue ? ["false", "false", "false"] : ["true", "true", "true"]);
    caller.socket.destroy();
  }
});

test("an answer waits for the answers of the requests before it", async () => {
  const caller = new Caller();
  const isQuick = vi.spyOn(Pool.prototype, "alone");
  await app.context.db.tx(async (tx) => {
    await lockUsage(tx, app.profile.project_id as ProjectId, [CUTOFF_LOCK], "alone");
    await caller.send(post(), request("GET /healthz"), get());
    await vi.waitFor(() => expect(isQuick).toHaveBeenCalled(), 5_000);
    expect(caller.text).toBe("");
  });
  isQuick.mockRestore();
  expect(await caller.answers(3)).toEqual([200, 200, 200]);
  const places = ['"accepted"', '"status"', customer].map((text) => caller.text.indexOf(text));
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  caller.socket.destroy();
});

test("who leaves before the answer harms nobody", async () => {
  for (let i = 0; i < 20; i++) {
    const caller = new Caller();
    caller.socket.write(post(), () => caller.socket.resetAndDestroy());
  }
  expect((await ask(post())).statuses).toEqual([200]);
});

test("a connection on which nothing comes is closed: at first soon, later after the wait", async () => {
  const { server } = app.server.fastify;
  const { headersTimeout, keepAliveTimeout } = server;
  // The server looks for silent connections every two seconds: the wait is longer than that.
  const wait_ms = 3_000;
  Object.assign(server, { headersTimeout: 100, keepAliveTimeout: wait_ms });
  try {
    const silent = new Caller();
    const began = performance.now();
    const used = await new Caller().send(post());
    await used.answers(1);
    await silent.isClosed();
    expect(performance.now() - began).toBeLessThan(wait_ms - 100);
    expect(used.closed).toBe(false);
    await used.isClosed();
    expect(performance.now() - began).toBeGreaterThan(wait_ms - 100);
  } finally {
    Object.assign(server, { headersTimeout, keepAliveTimeout });
  }
});

test("callers on two connections are told apart", async () => {
  const good = await new Caller().send(get());
  expect(await good.answers(1)).toEqual([200]);
  const bad = await new Caller().send(get().replace(app.profile.token, "dues_x"));
  expect(await bad.answers(1)).toEqual([401]);
  await good.send(get());
  expect(await good.answers(2)).toEqual([200, 200]);
  good.socket.destroy();
  bad.socket.destroy();
});

test("on shutdown each connection gets its answer, and idle ones are let go", async () => {
  const leaving = await startApp();
  await listen(leaving);
  const idle = await new Caller(leaving).send(request("GET /healthz"));
  const busy = await new Caller(leaving).send(request("GET /healthz"));
  await Promise.all([idle.answers(1), busy.answers(1)]);
  leaving.server.stopListening();
  await busy.send(request("GET /healthz"));
  await busy.isClosed();
  expect(busy.statuses).toEqual([200, 200]);
  expect(busy.text.toLowerCase().match(/connection: close/g)).toHaveLength(1);
  expect(idle.closed).toBe(false);
  await leaving.close();
  await idle.isClosed();
});
