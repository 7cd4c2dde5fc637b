// How much of a project one batch of a job takes: a part after one that failed by what was in it,
// and more again after one that did not, so that a job that is too large ends all the same.

import { isPassing } from "../store/db/failures.ts";
import { type TickReport, type Turn, turnOf } from "./loop.ts";

/** How small a part follows: four steps from 1,000 to one, each as long as a statement may take. */
const PARTS = 8;

type Batch = {
  /** Does at most so much in one transaction, and returns how much there was. */
  readonly work: (limit: number) => Promise<Turn>;
  /** Puts off what fails alone; where undefined, that is tried again as it is. */
  readonly alone?: ((error: unknown) => Promise<number>) | undefined;
};

export class BatchLimits {
  readonly #max: number;
  /** Limits of projects whose last batch failed; others take all that a batch may. */
  readonly #limits = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  async take(project: string, { work, alone }: Batch): Promise<Pick<TickReport, "done" | "more">> {
    const limit = this.#limits.get(project) ?? this.#max;
    try {
      const turn = turnOf(await work(limit));
      if (limit * PARTS < this.#max) this.#limits.set(project, limit * PARTS);
      else this.#limits.delete(project);
      return turn;
    } catch (error) {
      if (isPassing(error)) throw error;
      this.#limits.set(project, Math.ceil(limit / PARTS));
      if (limit > 1 || alone === undefined) throw error;
      return turnOf(await alone(error));
    }
  }
}
