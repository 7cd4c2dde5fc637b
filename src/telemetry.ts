// What this process reports to Prometheus: the metrics of this thread and of its other threads, in
// one text. Most are defined in http/prometheus.ts and workers/prometheus.ts.

import {
  AggregatorRegistry,
  Counter,
  Gauge,
  type Metric,
  type MetricObjectWithValues,
  type MetricValue,
  type PrometheusContentType,
  Registry,
} from "prom-client";

/** The metrics of this thread. */
export const registry = new Registry();

/** Failures of jobs, counted in whichever thread a job runs: they may come from several. */
export const jobFailures = new Counter({
  name: "dues_job_failures_total",
  help: "Runs of a background job that failed and will be tried again.",
  labelNames: ["job"],
  registers: [registry],
});

/** An instant and not an age, which would stand still where a thread does not answer a scrape. */
export const jobLastRun = new Gauge({
  name: "dues_job_last_run_timestamp_seconds",
  help: "When a background job last ended a run, failed or not, in seconds since 1970.",
  labelNames: ["job"],
  registers: [registry],
});

/** The values of all metrics of a thread at one moment; can be posted between threads. */
export type Snapshot = readonly MetricObjectWithValues<MetricValue<string>>[];

export function takeSnapshot(): Promise<Snapshot> {
  return registry.getMetricsAsJSON();
}

const otherThreads = new Set<() => Promise<Snapshot>>();

/** Shows another thread's metrics too; the returned function ends that. */
export function includeThread(snapshot: () => Promise<Snapshot>): () => void {
  otherThreads.add(snapshot);
  return () => otherThreads.delete(snapshot);
}

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** The Prometheus text of this thread and the included ones. */
export async function renderTelemetry(): Promise<string> {
  const others = await Promise.all([...otherThreads].map((snapshot) => snapshot()));
  const names = new Set(others.flat().map(({ name }) => name));
  // Only metrics that another thread has are added up. To send all through the aggregation takes
  // three times as long: 20 ms for 110 routes, in which no caller is answered.
  const own = new Registry();
  const shared: Promise<Snapshot[number]>[] = [];
  for (const { name } of registry.getMetricsAsArray()) {
    const metric = registry.getSingleMetric(name) as Metric;
    if (names.has(name)) shared.push(metric.get());
    else own.registerMetric(metric);
  }
  const added = AggregatorRegistry.aggregate<PrometheusContentType>([
    await Promise.all(shared),
    ...others,
  ]);
  return Registry.merge([own, added]).metrics();
}
