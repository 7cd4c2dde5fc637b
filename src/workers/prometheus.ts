// The metrics of the workers. They are registered where the jobs run, so that a process without
// workers does not report an empty queue.

import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram } from "prom-client";
import type { BatchReport } from "../operations/batch-report.ts";
import { registry } from "../telemetry.ts";

/** No registry yet: `registerWorkerMetrics` names the one of the thread in which the jobs run. */
const registers: [] = [];

export const periodsClosed = new Counter({
  name: "dues_periods_closed_total",
  help: "Periods closed by this worker.",
  registers,
});
const invoicesCreated = new Counter({
  name: "dues_invoices_created_total",
  help: "Invoices created by this worker: by closes, for late usage of ended subscriptions, and top-ups.",
  registers,
});

/** Counts the invoices that a batch of work has made. */
export function countInvoices({ facts }: Pick<BatchReport, "facts">): void {
  invoicesCreated.inc(facts.filter(({ type }) => type === "invoice.created").length);
}

export const closeBatchSeconds = new Histogram({
  name: "dues_close_batch_seconds",
  help: "Time to close a batch of up to 1,000 periods in one transaction.",
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  registers,
});
const webhookAttempts = new Counter<string>({
  name: "dues_webhook_attempts_total",
  help: "Attempts to deliver a webhook, by result: delivered (2xx) or failed.",
  labelNames: ["result"],
  registers,
});
const webhookAttemptSeconds = new Histogram({
  name: "dues_webhook_attempt_seconds",
  help: "Time of an attempt to deliver a webhook until the response's status, or its failure.",
  buckets: [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers,
});
// From 0, because rate() and increase() do not see the first value of a series.
for (const result of ["delivered", "failed"]) webhookAttempts.inc({ result }, 0);

export const webhookPlaces = new Gauge<string>({
  name: "dues_webhook_places",
  help: "Webhooks claimed by this worker: all (1,024 at most), and of those to endpoints that are new or failing (256 each).",
  labelNames: ["share"],
  registers,
});
export const webhookClaimsCut = new Counter<string>({
  name: "dues_webhook_claims_cut_total",
  help: "Claims that took all the places a project may have for endpoints that are new or failing.",
  labelNames: ["share"],
  registers,
});
for (const share of ["new", "failing"]) webhookClaimsCut.inc({ share }, 0);

export const webhooksDue = new Gauge({
  name: "dues_webhooks_due",
  help: "Webhooks that are due and not delivered yet, of all projects; counted up to 10,001.",
  registers,
});
export const webhookOldestDueSeconds = new Gauge({
  name: "dues_webhook_oldest_due_seconds",
  help: "For how long the oldest of them has been due.",
  registers,
});
export const subscriptionsSetAside = new Gauge({
  name: "dues_subscriptions_set_aside",
  help: "Subscriptions whose ended period, or late usage, could not be billed, of all projects.",
  registers,
});
export const oldestUnclosedPeriodSeconds = new Gauge({
  name: "dues_oldest_unclosed_period_seconds",
  help: "Time since the end of the oldest period that is to be closed, without those set aside.",
  registers,
});
/** Jobs that a call starts and that are done behind its answer. */
export const STARTED_BY_CALLS = ["replan", "resume", "replay", "drop"] as const;
const DUTIES = [
  "expiry",
  "close",
  "supplement",
  "overdue",
  "dunning",
  "wallet",
  "wallet_usage",
  "delivery",
  "webhook_sweep",
  "idempotency_sweep",
  "token_sweep",
  "analytics_totals",
  ...STARTED_BY_CALLS,
];

export const dutyDone = new Counter<string>({
  name: "dues_duty_done_total",
  help: "What this worker has done of a duty, in rows: periods, invoices, messages.",
  labelNames: ["duty"],
  registers,
});
for (const duty of DUTIES) dutyDone.inc({ duty }, 0);

/** Counts an attempt to deliver a webhook, as its outcome is known. */
export function countAttempt(attempt: { readonly status: string; readonly duration_ms: number }) {
  webhookAttempts.inc({ result: attempt.status });
  webhookAttemptSeconds.observe(attempt.duration_ms / 1_000);
  dutyDone.inc({ duty: "delivery" });
}

export const dutyBacklog = new Gauge<string>({
  name: "dues_duty_backlog",
  help: "What waits for a duty, of all projects; counted up to 751, deliveries up to 10,001.",
  labelNames: ["duty"],
  registers,
});
export const dutyOldestSeconds = new Gauge<string>({
  name: "dues_duty_oldest_seconds",
  help: "For how long the oldest of it has been due.",
  labelNames: ["duty"],
  registers,
});
export const held = new Gauge({
  name: "dues_held",
  help: "1 while the workers wait for dues resume after a restore, else 0.",
  registers,
});
export const clockDiffers = new Gauge({
  name: "dues_clock_differs",
  help: "1 while the workers rest because their clock is not the database's, else 0.",
  registers,
});

let loopLag: IntervalHistogram | undefined;

const METRICS = [
  periodsClosed,
  invoicesCreated,
  closeBatchSeconds,
  webhookAttempts,
  webhookAttemptSeconds,
  webhookPlaces,
  webhookClaimsCut,
  webhooksDue,
  webhookOldestDueSeconds,
  subscriptionsSetAside,
  oldestUnclosedPeriodSeconds,
  dutyDone,
  dutyBacklog,
  dutyOldestSeconds,
  held,
  clockDiffers,
  new Gauge({
    name: "dues_worker_heap_used_bytes",
    help: "JavaScript heap in use in the workers' thread.",
    registers,
    collect() {
      this.set(process.memoryUsage().heapUsed);
    },
  }),
  new Gauge({
    name: "dues_worker_eventloop_lag_p99_seconds",
    help: "Event loop lag of the workers' thread, p99 since the last scrape.",
    registers,
    collect() {
      if (loopLag === undefined) return;
      this.set(loopLag.count === 0 ? 0 : loopLag.percentile(99) / 1e9);
      loopLag.reset();
    },
  }),
];

/** Has this thread report the metrics. May be called again. */
export function registerWorkerMetrics(): void {
  if (loopLag === undefined) {
    loopLag = monitorEventLoopDelay({ resolution: 20 });
    loopLag.enable();
  }
  for (const metric of METRICS) registry.registerMetric(metric);
}
