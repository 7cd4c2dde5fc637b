// More than the service can do, of every kind: four times as many requests as it can answer, idle
// connections, large bodies, PDFs. Told is how long its health and its refusals take meanwhile,
// what it holds, and when it is as fast as before.

import { strict as assert } from "node:assert";
import { Agent, get, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { addSubscriptions, monthsAgo, openBooks } from "./books.ts";
import type { Ask, LoadResult, Write } from "./load.ts";
import { amount, atMost, type Bench, type Figure } from "./report.ts";
import {
  beginLoad,
  call,
  figure,
  headersOf,
  load,
  openStage,
  type Side,
  type Stage,
  startService,
} from "./stage.ts";

const SUBSCRIPTIONS = 100;
const SINGLE: Ask = { kind: "events", batch: 1, subscriptions: SUBSCRIPTIONS };
const HEALTH_PORT = 18_099;
const HEALTH_PER_SECOND = 20;
const HEALTH_PAUSE_MS = 50;
const STORM_CONNECTIONS = 1_500;
const TIMES_CAPACITY = 4;
const IDLE = 2_000;
const IDLE_SECONDS = 5;
const BATCHES = 80;
const BATCH_EVENTS = 10_000;
const BATCH_PAD = 560;
/** What one more caller sends meanwhile, 2.5 MB each: more than the others leave room for. */
const OTHER_EVENTS = 3_700;
const OTHER_PER_SECOND = 10;
const PDFS = 60;
const EVENTS_PER_SECOND = 200;
/** The part of the rate before that counts as recovered. */
const RECOVERED = 0.9;
const RECOVERY_MAX_S = 30;

type Site = { readonly stage: Stage; readonly service: Side };

export const benchStorm: Bench = async ({ quick }) => {
  const stage = await openStage();
  const start = monthsAgo(0);
  await openBooks(stage, start);
  await addSubscriptions(stage.db, { from: 2, to: SUBSCRIPTIONS }, start);
  const env = { HEALTH_PORT: String(HEALTH_PORT) };
  const site = { stage, service: await startService(stage, "all", env) };
  try {
    return [
      ...(await overload(site, EVENTS, quick ? 5 : 60)),
      ...(await overload(site, WRITES, quick ? 5 : 30)),
      ...(await idleConnections(site)),
      ...(await largeBatches(site)),
      ...(await documents(site)),
      amount("memory at most", "MB", most_mb, atMost(512)),
    ];
  } finally {
    await site.service.stop();
    await stage.end();
  }
};

let most_mb = 0;

function notePeak({ service }: Site): void {
  most_mb = Math.max(most_mb, service.rssMb() ?? 0);
}

type Calls = { readonly what: string; readonly ask: Ask };

const EVENTS: Calls = { what: "events", ask: SINGLE };
/** Each a transaction of several statements, so that far fewer can be answered. */
const WRITES: Calls = {
  what: "customers changed",
  ask: {
    kind: "writes",
    writes: Array.from({ length: SUBSCRIPTIONS }, (_, i) => ({
      method: "PATCH",
      path: `/v1/customers/ext:c${i + 1}`,
      body: { name: `Customer ${i + 1}` },
    })),
  },
};

async function overload(site: Site, { what, ask }: Calls, seconds: number): Promise<Figure[]> {
  const before = await send(site, ask, { connections: 64, seconds: 3 });
  const health = watchHealth(site);
  const storm = await send(site, ask, {
    connections: STORM_CONNECTIONS,
    seconds,
    per_second: TIMES_CAPACITY * before.per_second,
  });
  const ended = performance.now();
  for (;;) {
    const { per_second } = await send(site, ask, { connections: 64, seconds: 0.5 });
    if (per_second >= RECOVERED * before.per_second) break;
    assert.ok(performance.now() - ended < RECOVERY_MAX_S * 1_000, "it recovers");
  }
  const recovery_s = Math.max(0, (performance.now() - ended) / 1_000 - 0.5);
  const share = (storm.requests - storm.refused) / storm.requests;
  const name = `${TIMES_CAPACITY} times ${Math.round(before.per_second)} ${what}/s`;
  return [
    amount(`${name}: health, p99`, "ms", await health.stop(), atMost(1_000)),
    amount(`${name}: refused`, "requests", storm.refused, null),
    amount(`${name}: answered 2xx`, "requests/s", storm.per_second * share, null),
    amount(`${name}: a refusal, p50`, "ms", storm.refusals.p50_ms, null),
    amount(`${name}: a refusal, p99`, "ms", storm.refusals.p99_ms, atMost(100)),
    amount(`${name}: full speed again after`, "s", recovery_s, atMost(5)),
  ];
}

async function idleConnections(site: Site): Promise<Figure[]> {
  const { port, hostname } = new URL(site.service.url);
  const sockets: Socket[] = [];
  for (let i = 0; i < IDLE; i++) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    sockets.push(socket);
    if (i % 100 === 0) await pause(10);
  }
  const health = watchHealth(site);
  const calls: number[] = [];
  const end = performance.now() + IDLE_SECONDS * 1_000;
  while (performance.now() < end) calls.push(await timeOf(`${site.service.url}/healthz`));
  for (const socket of sockets) socket.destroy();
  const name = `${IDLE} idle connections`;
  return [
    amount(`${name}: health, p99`, "ms", await health.stop(), atMost(1_000)),
    amount(`${name}: a new caller, p99`, "ms", p99(calls), atMost(1_000)),
  ];
}

async function largeBatches(site: Site): Promise<Figure[]> {
  const bodies = Array.from({ length: BATCHES }, (_, i) =>
    Buffer.from(JSON.stringify(batchOf(`batch-${i}`, BATCH_EVENTS))),
  );
  const health = watchHealth(site);
  const other = beginLoad({
    url: site.service.url,
    headers: headersOf(site.stage),
    connections: 40,
    seconds: 600,
    per_second: OTHER_PER_SECOND,
    // One that was refused has yet to write the rest of its body before it may be used again.
    reconnects: true,
    mix: [{ ask: { kind: "writes", writes: [otherBatch()] }, times: 1 }],
  });
  const agent = new Agent({ keepAlive: true });
  const answers = await Promise.all(
    bodies.map((body) => {
      const started = performance.now();
      return new Promise<{ status: number; ms: number }>((resolve, reject) => {
        const asked = request(`${site.service.url}/v1/events/batch`, {
          method: "POST",
          headers: {
            ...headersOf(site.stage),
            "content-type": "application/json",
            "content-length": body.length,
          },
          agent,
        });
        asked.on("error", reject).on("response", (answer) => {
          const ms = performance.now() - started;
          answer.resume().on("end", () => resolve({ status: answer.statusCode ?? 0, ms }));
        });
        asked.end(body);
      });
    }),
  );
  agent.destroy();
  other.stop();
  const { refusals } = await other.result;
  assert.ok(refusals.requests > 0, "one more caller is refused meanwhile");
  const mb = (bodies[0]?.length ?? 0) / 1_000_000;
  const name = `${BATCHES} batches of ${figure(mb)} MB at once`;
  assert.ok(
    answers.every(({ status }) => status === 200 || status === 503),
    "taken or refused",
  );
  const timesOf = (wanted: number) =>
    answers.filter(({ status }) => status === wanted).map(({ ms }) => ms);
  const taken = timesOf(200);
  const refused = timesOf(503);
  return [
    amount(`${name}: health, p99`, "ms", await health.stop(), atMost(1_000)),
    amount(`${name}: taken`, "batches", taken.length, null),
    amount(`${name}: one that was taken, at most`, "ms", Math.max(...taken), atMost(5_000)),
    // With the time in which this one caller writes to its 80 connections.
    amount(`${name}: a refusal, at most`, "ms", Math.max(...refused), atMost(500)),
    amount(`${name}: refused of one more caller`, "requests", refusals.requests, null),
    amount(`${name}: its refusal, p50`, "ms", refusals.p50_ms, atMost(100)),
    amount(`${name}: its refusal, p99`, "ms", refusals.p99_ms, null),
  ];
}

function batchOf(prefix: string, count: number) {
  const timestamp = new Date().toISOString();
  return {
    events: Array.from({ length: count }, (_, i) => ({
      transaction_id: `${prefix}-${i}`,
      subscription_id: `ext:s${1 + (i % SUBSCRIPTIONS)}`,
      code: "calls",
      timestamp,
      properties: { n: "3", pad: "x".repeat(BATCH_PAD) },
    })),
  };
}

/** A batch that is the same each time: only whether it is taken is looked at. */
function otherBatch(): Write {
  return { method: "POST", path: "/v1/events/batch", body: batchOf("other", OTHER_EVENTS) };
}

/** PDFs of customers with Chinese, Japanese and Korean names, whose fonts are the largest. */
async function documents(site: Site): Promise<Figure[]> {
  const { stage, service } = site;
  const make = <T>(path: string, body: object) => call<T>(stage, service, path, body);
  const { add_on } = await make<{ add_on: { id: string } }>("/v1/addons", {
    code: "setup",
    name: "設定 설정 设置",
    amount_cents: 5_000,
    currency: "USD",
  });
  const paths: string[] = [];
  for (let i = 0; i < PDFS; i++) {
    const name = `株式会社東京 ${i} 주식회사 서울 上海有限公司`;
    const named = { external_id: `cjk-${i}`, name, email: `cjk${i}@example.com`, currency: "USD" };
    const { customer } = await make<{ customer: { id: string } }>("/v1/customers", named);
    const applied = { customer_id: customer.id };
    const made = await make<{ applied_add_on: { invoice_id: string } }>(
      `/v1/addons/${add_on.id}/apply`,
      applied,
    );
    paths.push(`/v1/invoices/${made.applied_add_on.invoice_id}/document.pdf`);
  }
  const events = beginLoad({
    url: service.url,
    headers: headersOf(stage),
    connections: 32,
    seconds: 60,
    per_second: EVENTS_PER_SECOND,
    mix: [{ ask: SINGLE, times: 1 }],
  });
  await pause(1_000);
  const health = watchHealth(site);
  const statuses = await Promise.all(
    paths.map(async (path) => {
      const answer = await fetch(`${service.url}${path}`, { headers: headersOf(stage) });
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  const health_ms = await health.stop();
  events.stop();
  const beside = await events.result;
  const name = `${PDFS} PDFs at once beside ${EVENTS_PER_SECOND} events/s`;
  assert.equal(beside.refused, 0, "no event is refused");
  return [
    amount(`${name}: health, p99`, "ms", health_ms, atMost(1_000)),
    amount(`${name}: made`, "PDFs", statuses.filter((status) => status === 200).length, null),
    amount(`${name}: an event, p99`, "ms", beside.p99_ms, null),
  ];
}

type Pace = { connections: number; seconds: number; per_second?: number };

function send({ stage, service }: Site, ask: Ask, pace: Pace): Promise<LoadResult> {
  const mix = [{ ask, times: 1 }];
  return load({ url: service.url, headers: headersOf(stage), mix, ...pace });
}

/** Asks for the health until it is stopped; tells the p99 of how long that took. */
function watchHealth(site: Site): { stop(): Promise<number> } {
  const asking = beginLoad({
    url: `http://127.0.0.1:${HEALTH_PORT}`,
    headers: {},
    connections: 4,
    seconds: 600,
    per_second: HEALTH_PER_SECOND,
    mix: [{ ask: { kind: "paths", paths: ["/healthz"] }, times: 1 }],
  });
  const timer = setInterval(() => notePeak(site), HEALTH_PAUSE_MS);
  const stop = async () => {
    clearInterval(timer);
    asking.stop();
    const { p99_ms, refused } = await asking.result;
    assert.equal(refused, 0, "the health is always answered");
    return p99_ms;
  };
  return { stop };
}

/** Over a connection of its own, as a probe or a new caller comes. */
function timeOf(url: string): Promise<number> {
  const started = performance.now();
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (answer) => {
      assert.equal(answer.statusCode, 200);
      answer.resume().on("end", () => resolve(performance.now() - started));
    }).on("error", reject);
  });
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? 0;
}
