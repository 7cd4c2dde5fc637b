// The bound in front of a queue: what is beyond it is refused at once, so that what was taken is
// answered in time. docs/OPERATING.md lists them; each shows its level in the metrics.

import { Counter, Gauge, type Metric, type Registry } from "prom-client";
import { type Refusal, refuse } from "../../errors.ts";

type Level = {
  readonly name: string;
  level(): number;
  /** How many a queue refused that counts this itself, because it knows nothing of HTTP. */
  refusals?(): number;
};

/** All bounds of a server: another one in the process, for health, has its own. */
export class Bounds {
  readonly #levels: Level[] = [];
  readonly #counted = new Map<string, number>();
  /** Refusals are made once: an error notes where it was made, about 24 µs of each by a profile. */
  readonly #made = new Map<string, Refusal>();

  /** Shows in the metrics how much of a bounded queue is taken. */
  addLevel(level: Level): void {
    this.#levels.push(level);
  }

  /** Counts what is refused without `overloaded`: connections, and what is limited by time. */
  countRefusal(bound: string): void {
    this.#counted.set(bound, (this.#counted.get(bound) ?? 0) + 1);
  }

  /** 503 for work that would wait too long. */
  overloaded(bound: string, message: string): Refusal {
    this.countRefusal(bound);
    const known = this.#made.get(message);
    if (known !== undefined) return known;
    const refusal = refuse("unavailable", message, { headers: { "retry-after": "1" } });
    this.#made.set(message, refusal);
    return refusal;
  }

  /** Has the metrics show these bounds from now on, and no longer another server's. */
  showIn(registry: Registry): void {
    const labelNames = ["bound"] as const;
    const levels = this.#levels;
    const counted = this.#counted;
    const level = new Gauge({
      name: "dues_bound_level",
      help: "How much of a bounded queue is taken.",
      labelNames,
      registers: [],
      collect() {
        this.reset();
        for (const { name, level } of levels) this.inc({ bound: name }, level());
      },
    });
    const refusals = new Counter({
      name: "dues_bound_refusals_total",
      help: "Requests refused and connections closed because a queue was at its bound.",
      labelNames,
      registers: [],
      // Series begin at 0, because Prometheus sees no rise in what a series begins with.
      collect() {
        this.reset();
        for (const { name, refusals } of levels) this.inc({ bound: name }, refusals?.() ?? 0);
        for (const [bound, count] of counted) this.inc({ bound }, count);
      },
    });
    replace(registry, "dues_bound_level", level);
    replace(registry, "dues_bound_refusals_total", refusals);
  }
}

function replace(registry: Registry, name: string, metric: Metric): void {
  registry.removeSingleMetric(name);
  registry.registerMetric(metric);
}

export class Bound {
  readonly #bounds: Bounds;
  readonly #name: string;
  readonly #max: number;
  readonly #message: string;
  #level = 0;

  constructor(bounds: Bounds, name: string, max: number, message: string) {
    this.#bounds = bounds;
    this.#name = name;
    this.#max = max;
    this.#message = message;
    bounds.addLevel({ name, level: () => this.#level });
  }

  /** Throws 503 when there is not so much room. */
  take(amount: number): void {
    if (this.#level + amount > this.#max) throw this.#bounds.overloaded(this.#name, this.#message);
    this.#level += amount;
  }

  give(amount: number): void {
    this.#level -= amount;
  }
}
