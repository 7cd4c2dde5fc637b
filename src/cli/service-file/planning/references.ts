// What entries of the file refer to by code: it stands in the file, or in the project, or nowhere.

import { nearest } from "../../../schema/nearest.ts";
import type { ServiceFile } from "../../../schema/service-file.ts";
import type { Path } from "../checking/yaml.ts";
import { liveOf } from "../comparing.ts";
import type { Present } from "../present-state.ts";
import type { TellFault } from "./steps.ts";

type PricedItem = {
  readonly code: string;
  readonly amount_cents: number;
  readonly currency: string;
};
type Measured = { readonly code: string; readonly dimensions?: readonly string[] };

/** Each method tells a fault at `path` when there is nothing of this code. */
export class References {
  readonly #items: Map<string, PricedItem>;
  readonly #metrics: Map<string, Measured>;
  readonly #taxes: readonly string[];
  readonly #plans: readonly string[];
  readonly #tell: TellFault;

  constructor(wanted: ServiceFile, present: Present, tell: TellFault) {
    const { catalog = [], metrics = [], taxes = [], plans = [] } = wanted;
    const items = catalog.map((item) => ({ ...item, currency: item.currency ?? "USD" }));
    // What the file says comes later, and so replaces what is there.
    this.#items = byCode<PricedItem>([...liveOf(present.catalog), ...items]);
    this.#metrics = byCode<Measured>([...liveOf(present.metrics), ...metrics]);
    this.#taxes = [...byCode([...liveOf(present.taxes), ...taxes]).keys()];
    this.#plans = [...byCode([...liveOf(present.plans), ...plans]).keys()];
    this.#tell = tell;
  }

  item(code: string, path: Path): PricedItem | undefined {
    return this.#found("catalog item", this.#items, code, path);
  }

  metric(code: string, path: Path): Measured | undefined {
    return this.#found("metric", this.#metrics, code, path);
  }

  plan(code: string, path: Path): void {
    if (!this.#plans.includes(code)) this.#tellUnknown("plan", code, this.#plans, path);
  }

  /** `at` is the path of the entry whose `tax_codes` these are. */
  taxes(codes: readonly string[] | null | undefined, at: Path): void {
    for (const [i, code] of (codes ?? []).entries()) {
      if (this.#taxes.includes(code)) continue;
      this.#tellUnknown("tax", code, this.#taxes, [...at, "tax_codes", i]);
    }
  }

  #found<T>(what: string, known: Map<string, T>, code: string, path: Path): T | undefined {
    const found = known.get(code);
    if (found === undefined) this.#tellUnknown(what, code, [...known.keys()], path);
    return found;
  }

  #tellUnknown(what: string, code: string, known: readonly string[], path: Path): void {
    const near = nearest(code, known);
    const hint = near === undefined ? "Declare it in the file." : `Did you mean ${near}?`;
    this.#tell(path, `There is no ${what} ${code}, neither in the file nor in the project.`, hint);
  }
}

function byCode<T extends { readonly code: string }>(entries: readonly T[]): Map<string, T> {
  return new Map(entries.map((entry) => [entry.code, entry]));
}
