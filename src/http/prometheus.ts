// The metrics of requests and of the process. No label grows with the data: routes, never ids.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, collectDefaultMetrics, Gauge, Histogram } from "prom-client";
import { registry } from "../telemetry.ts";

const registers = [registry];

const requests = new Counter({
  name: "dues_http_requests_total",
  help: "Requests answered.",
  labelNames: ["method", "route", "status"],
  registers,
});
const requestSeconds = new Histogram({
  name: "dues_http_request_seconds",
  help: "Time to answer.",
  labelNames: ["method", "route"],
  buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers,
});

export const failedAuthentications = new Counter({
  name: "dues_failed_authentications_total",
  help: "Tokens that were not accepted: told so (401), or refused after many of one address (429).",
  labelNames: ["answer"],
  registers,
});
for (const answer of ["401", "429"]) failedAuthentications.inc({ answer }, 0);

export function observe(seen: { method: string; route: string; status: number; ms: number }): void {
  const { method, route, status, ms } = seen;
  requests.inc({ method, route, status });
  requestSeconds.observe({ method, route }, ms / 1_000);
}

/** prom-client's own metrics of the process and of this thread: process_* and nodejs_*. */
collectDefaultMetrics({ register: registry });

// Older than the use of prom-client, whose nodejs_eventloop_lag_p99_seconds begins anew with each
// scrape and is the one to watch. Kept because dashboards may have it.
const loopLag = monitorEventLoopDelay({ resolution: 20 });
loopLag.enable();

new Gauge({
  name: "dues_event_loop_delay_p99_seconds",
  help: "Event loop lag of the thread that answers, p99 since the start. nodejs_eventloop_lag_p99_seconds has it since the last scrape.",
  registers,
  collect() {
    this.set(loopLag.percentile(99) / 1e9);
  },
});
new Gauge({
  name: "process_heap_used_bytes",
  help: "JavaScript heap in use, without the workers' thread.",
  registers,
  collect() {
    this.set(process.memoryUsage().heapUsed);
  },
});
new Gauge({
  name: "process_uptime_seconds",
  help: "Seconds since the start.",
  registers,
  collect() {
    this.set(process.uptime());
  },
});
