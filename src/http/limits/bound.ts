// The bound in front of a queue: what is beyond it is refused at once, so that what was taken is
// answered in time. docs/OPERATING.md lists them; each shows its level in the metrics.

import { Counter, Gauge } from "prom-client";
import { type Refusal, refuse } from "../../errors.ts";
import { registry } from "../../telemetry.ts";

const registers = [registry];

type Level = {
  readonly name: string;
  level(): number;
  /** Of a queue that counts its refusals itself, because it knows nothing of HTTP. */
  refusals?(): number;
};
const levels = new Set<Level>();

/** Shows in the metrics how much of a bounded queue is taken. */
export function showLevel(level: Level): void {
  levels.add(level);
}

const counted = new Map<string, number>();

/** For what is refused without `overloaded`: connections, and what is limited by time. */
export function countRefusal(bound: string): void {
  counted.set(bound, (counted.get(bound) ?? 0) + 1);
}

new Gauge({
  name: "dues_bound_level",
  help: "How much of a bounded queue is taken.",
  labelNames: ["bound"],
  registers,
  collect() {
    this.reset();
    for (const { name, level } of levels) this.inc({ bound: name }, level());
  },
});
new Counter({
  name: "dues_bound_refusals_total",
  help: "Requests refused and connections closed because a queue was at its bound.",
  labelNames: ["bound"],
  registers,
  // From 0 on: Prometheus sees no rise in a series that begins with it.
  collect() {
    this.reset();
    for (const { name, refusals } of levels) this.inc({ bound: name }, refusals?.() ?? 0);
    for (const [bound, count] of counted) this.inc({ bound }, count);
  },
});

/** Made once: an error notes where it was made, about 24 µs of each refusal by a profile. */
const made = new Map<string, Refusal>();

/** 503 for work that would wait too long. */
export function overloaded(bound: string, message: string): Refusal {
  countRefusal(bound);
  const known = made.get(message);
  if (known !== undefined) return known;
  const refusal = refuse("unavailable", message, { headers: { "retry-after": "1" } });
  made.set(message, refusal);
  return refusal;
}

export class Bound {
  readonly #name: string;
  readonly #max: number;
  readonly #message: string;
  #level = 0;

  constructor(name: string, max: number, message: string) {
    this.#name = name;
    this.#max = max;
    this.#message = message;
    showLevel({ name, level: () => this.#level });
  }

  /** Throws 503 when there is not so much room. */
  take(amount: number): void {
    if (this.#level + amount > this.#max) throw overloaded(this.#name, this.#message);
    this.#level += amount;
  }

  give(amount: number): void {
    this.#level -= amount;
  }
}
