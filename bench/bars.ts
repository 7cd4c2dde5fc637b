// Bars that depend on the processor: what is divided by only computes, and does so twice as fast on
// x86-64, while our side also waits for PostgreSQL on the same cores (docs/PERFORMANCE.md).

import { atLeast, atMost, type Bar } from "./report.ts";

type Bars = {
  readonly single_events: Bar;
  readonly event_cpu_us: Bar;
  readonly event_p99: Bar;
  readonly get_by_id: Bar;
  readonly deliveries: Bar;
  readonly close: Bar;
};

const ARM64: Bars = {
  single_events: atLeast(0.6),
  // Set on a machine where the bare route takes 127.
  event_cpu_us: atMost(150),
  event_p99: atMost(1.5),
  get_by_id: atLeast(0.55),
  deliveries: atLeast(0.7),
  close: atMost(2.2),
};

const X86_64: Bars = {
  single_events: atLeast(0.45),
  event_cpu_us: atMost(120),
  event_p99: atMost(2),
  get_by_id: atLeast(0.5),
  deliveries: atLeast(0.6),
  close: atMost(2.4),
};

export const BARS = process.arch === "x64" ? X86_64 : ARM64;
