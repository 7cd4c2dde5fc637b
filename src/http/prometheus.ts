// Counters of this process in the Prometheus text format. No labels that grow with the data.

import { monitorEventLoopDelay } from "node:perf_hooks";

const BUCKETS_MS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000];

type Series = { count: number; sum_ms: number; buckets: number[]; statuses: Map<number, number> };

/** By route and then by method: a key of both would be made for every answer. */
const requests = new Map<string, Map<string, Series>>();
const counters = new Map<string, { help: string; value: number }>();
const gauges = new Map<string, { help: string; read: () => number }>();
const loopDelay = monitorEventLoopDelay({ resolution: 20 });
loopDelay.enable();

export function observe(seen: { method: string; route: string; status: number; ms: number }): void {
  const series = requests.get(seen.route)?.get(seen.method) ?? begin(seen);
  series.count += 1;
  series.sum_ms += seen.ms;
  series.statuses.set(seen.status, (series.statuses.get(seen.status) ?? 0) + 1);
  const bucket = BUCKETS_MS.findIndex((limit) => seen.ms <= limit);
  if (bucket >= 0) series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
}

function begin({ method, route }: { method: string; route: string }): Series {
  const series = { count: 0, sum_ms: 0, buckets: BUCKETS_MS.map(() => 0), statuses: new Map() };
  const methods = requests.get(route) ?? new Map<string, Series>();
  requests.set(route, methods.set(method, series));
  return series;
}

function labelled(): [string, Series][] {
  return [...requests].flatMap(([route, methods]) =>
    [...methods].map(([method, series]): [string, Series] => {
      return [`method="${method}",route="${route}"`, series];
    }),
  );
}

/** A number that only rises, under a name the operator will graph. */
export function counter(name: string, help: string): (by?: number) => void {
  const entry = { help, value: 0 };
  counters.set(name, entry);
  return (by = 1) => {
    entry.value += by;
  };
}

export function gauge(name: string, help: string, read: () => number): void {
  gauges.set(name, { help, read });
}

gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
gauge("process_heap_used_bytes", "JavaScript heap in use, without the workers' thread.", () => {
  return process.memoryUsage().heapUsed;
});
gauge("process_uptime_seconds", "Seconds since the start.", () => process.uptime());
gauge("dues_event_loop_delay_p99_seconds", "Event loop delay, p99.", () => {
  return loopDelay.percentile(99) / 1e9;
});

export function renderMetrics(): string {
  const lines: string[] = [];
  for (const [name, { help, read }] of gauges) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${read()}`);
  }
  for (const [name, { help, value }] of counters) {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`, `${name} ${value}`);
  }
  lines.push(
    "# HELP dues_http_requests_total Requests answered.",
    "# TYPE dues_http_requests_total counter",
  );
  for (const [key, { statuses }] of labelled()) {
    for (const [status, count] of statuses) {
      lines.push(`dues_http_requests_total{${key},status="${status}"} ${count}`);
    }
  }
  lines.push(
    "# HELP dues_http_request_seconds Time to answer.",
    "# TYPE dues_http_request_seconds histogram",
  );
  for (const [key, series] of labelled()) lines.push(...histogram(key, series));
  return `${lines.join("\n")}\n`;
}

function histogram(key: string, series: Series): string[] {
  let below = 0;
  const buckets = BUCKETS_MS.map((limit, i) => {
    below += series.buckets[i] ?? 0;
    return `dues_http_request_seconds_bucket{${key},le="${limit / 1_000}"} ${below}`;
  });
  return [
    ...buckets,
    `dues_http_request_seconds_bucket{${key},le="+Inf"} ${series.count}`,
    `dues_http_request_seconds_sum{${key}} ${series.sum_ms / 1_000}`,
    `dues_http_request_seconds_count{${key}} ${series.count}`,
  ];
}
