// Connections from the first byte to the last: plain requests are answered straight off the socket,
// anything else by Node's server, and nobody can tell where one took over from the other.

import { type AddressInfo, connect, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { ProjectId } from "../../src/store/tenants.ts";
import { lockUsage, SEAL_LOCK } from "../../src/store/usage-locks.ts";
import { type App, startApp } from "../support/app.ts";
import {
  code,
  makeCustomer,
  makeItem,
  makeMetric,
  makePlan,
  makeSubscription,
} from "../support/records.ts";

let app: App;
let customer: string;
let event: Record<string, string>;
/** Requests that Node's server was given. */
let byNode = 0;

beforeAll(async () => {
  app = await startApp({ mode: "live" });
  const metric = await makeMetric(app, { field_name: "calls" });
  const plan = await makePlan(app, { amount_cents: 0 });
  const subscription = await makeSubscription(app, { plan_id: plan.id });
  event = { subscription_id: subscription.id, code: metric.code, value: "4" };
  customer = (await makeCustomer(app)).id;
  await app.door.app.listen({ port: 0, host: "127.0.0.1" });
  app.door.app.server.on("request", () => {
    byNode += 1;
  });
});

beforeEach(() => {
  byNode = 0;
});

afterAll(async () => {
  app.door.app.server.closeAllConnections();
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

class Caller {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor() {
    const { port } = app.door.app.server.address() as AddressInfo;
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

  async send(...pieces: string[]): Promise<this> {
    for (const piece of pieces) {
      this.socket.write(piece);
      await new Promise((resolve) => setTimeout(resolve, 10));
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

test("plain requests on one connection never reach Node's server", async () => {
  const caller = new Caller();
  for (let i = 1; i <= 5; i++) {
    await caller.send(i % 2 === 0 ? get() : post());
    await caller.answers(i);
  }
  expect(caller.statuses).toEqual([200, 200, 200, 200, 200]);
  expect(byNode).toBe(0);
  expect(caller.text).toContain("Connection: keep-alive\r\nKeep-Alive: timeout=65\r\n");
  const date = Date.parse(/\r\nDate: (.* GMT)\r\n/.exec(caller.text)?.[1] ?? "");
  expect(Math.abs(Date.now() - date)).toBeLessThan(60_000);
  caller.socket.destroy();
});

test("a refusal leaves the connection as it was", async () => {
  const caller = await new Caller().send(get("nobody"));
  await caller.answers(1);
  await caller.send(post());
  expect(await caller.answers(2)).toEqual([404, 200]);
  expect(byNode).toBe(0);
  caller.socket.destroy();
});

test("the first other request takes the connection to Node's server, with all that follow", async () => {
  const caller = await new Caller().send(post());
  await caller.answers(1);
  await caller.send(other());
  await caller.answers(2);
  await caller.send(post());
  expect(await caller.answers(3)).toEqual([200, 200, 200]);
  expect(byNode).toBe(2);
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

test("what comes while a request is answered waits for that answer", async () => {
  const caller = new Caller();
  await app.context.db.tx(async (tx) => {
    await lockUsage(tx, app.profile.project_id as ProjectId, [SEAL_LOCK], "alone");
    await caller.send(post(), request("GET /healthz"), get());
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(caller.text).toBe("");
  });
  expect(await caller.answers(3)).toEqual([200, 200, 200]);
  const [first, second, third] = ['"accepted"', '"status"', customer].map((text) =>
    caller.text.indexOf(text),
  );
  expect([first, second, third]).toEqual([first, second, third].toSorted((a = 0, b = 0) => a - b));
  expect(byNode).toBe(2);
  caller.socket.destroy();
});

test("who says that nothing more will come is answered, and then closed", async () => {
  const caller = new Caller();
  caller.socket.end(post());
  await caller.isClosed();
  expect(caller.statuses).toEqual([200]);
  expect(caller.text).toContain("Connection: close");
});

test("who leaves before the answer harms nobody", async () => {
  for (let i = 0; i < 20; i++) {
    const caller = await new Caller().send();
    caller.socket.write(post(), () => caller.socket.resetAndDestroy());
  }
  expect((await ask(post())).statuses).toEqual([200]);
});

test("a connection on which nothing comes is closed: at first soon, later after the wait", async () => {
  const { server } = app.door.app;
  const { headersTimeout, keepAliveTimeout } = server;
  Object.assign(server, { headersTimeout: 100, keepAliveTimeout: 1_000 });
  try {
    const silent = new Caller();
    const began = performance.now();
    const used = await new Caller().send(post());
    await used.answers(1);
    await silent.isClosed();
    expect(performance.now() - began).toBeLessThan(900);
    expect(used.closed).toBe(false);
    await used.isClosed();
    expect(performance.now() - began).toBeGreaterThan(900);
  } finally {
    Object.assign(server, { headersTimeout, keepAliveTimeout });
  }
});

test("the same words of a head may be another caller's: each connection remembers its own", async () => {
  const good = await new Caller().send(get());
  expect(await good.answers(1)).toEqual([200]);
  const bad = await new Caller().send(get().replace(app.profile.token, "dues_x"));
  expect(await bad.answers(1)).toEqual([401]);
  await good.send(get());
  expect(await good.answers(2)).toEqual([200, 200]);
  good.socket.destroy();
  bad.socket.destroy();
});

test("who does not read what was answered gets no more answers until they do", async () => {
  const item = await makeItem(app, { metadata: { note: "x".repeat(15_000) } });
  const asking = request(`GET /v1/catalog/${item.id}`);
  const connected = new Promise<Socket>((resolve) => {
    app.door.app.server.once("connection", resolve);
  });
  const caller = new Caller();
  caller.socket.pause();
  const served = await connected;
  let sent = 0;
  while (!served.isPaused()) {
    const { bytesWritten } = served;
    caller.socket.write(asking);
    sent += 1;
    const answered = () => expect(served.bytesWritten).toBeGreaterThan(bytesWritten);
    await vi.waitFor(answered, { interval: 1, timeout: 5_000 });
  }
  const { bytesWritten } = served;
  await caller.send(asking, asking, asking);
  expect(served.bytesWritten).toBe(bytesWritten);
  caller.socket.resume();
  const statuses = await caller.answers(sent + 3);
  expect(new Set(statuses)).toEqual(new Set([200]));
  caller.socket.destroy();
});

// Last, because nothing answers after it.
test("on the way out each connection gets its answer, and idle ones are let go", async () => {
  const idle = await new Caller().send(post());
  const busy = await new Caller().send(post());
  await Promise.all([idle.answers(1), busy.answers(1)]);
  app.door.stopListening();
  await busy.send(post());
  await busy.isClosed();
  expect(busy.statuses).toEqual([200, 200]);
  expect(busy.text.match(/Connection: close/g)).toHaveLength(1);
  expect(idle.closed).toBe(false);
  await app.door.app.close();
  await idle.isClosed();
});
