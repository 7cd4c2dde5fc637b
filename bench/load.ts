// Sends events over keep-alive sockets as fast as they are answered, and reports what it saw.
// Bare sockets: the generator must cost less than what it measures.

import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { Load, LoadResult } from "./stage.ts";

const load = JSON.parse(process.env.LOAD ?? "{}") as Load;
const { hostname, port } = new URL(load.url);
const head =
  `POST ${load.path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\n` +
  Object.entries(load.headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
const prefix = randomBytes(6).toString("hex");
const timestamp = new Date().toISOString();

let made = 0;
let refused = 0;
let running = true;
const latencies: number[] = [];

/** Ids that rise, as those of clients with time-ordered ids do; every one is new. */
function eventBody(): string {
  const n = made++;
  const id = `${prefix.slice(0, 8)}-${prefix.slice(8)}-7000-8000-${n.toString(16).padStart(12, "0")}`;
  return (
    `{"transaction_id":"${id}","subscription_id":"ext:s${1 + (n % load.subscriptions)}",` +
    `"code":"calls","timestamp":"${timestamp}","properties":{"n":"3","region":"eu-west"}}`
  );
}

function message(): string {
  const body =
    load.batch === 1
      ? eventBody()
      : `{"events":[${Array.from({ length: load.batch }, eventBody).join(",")}]}`;
  return `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function lane(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    let received = "";
    let sentAt = 0;
    const send = () => {
      sentAt = performance.now();
      socket.write(message());
    };
    socket.on("connect", send);
    socket.on("error", reject);
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      received += chunk;
      const end = received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      latencies.push(performance.now() - sentAt);
      if (!received.startsWith("HTTP/1.1 200")) refused += 1;
      received = "";
      if (running) return send();
      socket.end();
      resolve();
    });
  });
}

const start = performance.now();
const timer = setTimeout(() => {
  running = false;
}, load.seconds * 1_000);
await Promise.all(Array.from({ length: load.connections }, lane));
clearTimeout(timer);
const seconds = (performance.now() - start) / 1_000;
latencies.sort((a, b) => a - b);
const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
const result: LoadResult = {
  requests: latencies.length,
  refused,
  per_second: latencies.length / seconds,
  p50_ms: at(0.5),
  p99_ms: at(0.99),
};
process.send?.(result, () => process.exit(0));
