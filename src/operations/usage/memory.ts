// What recording usage remembers from batch to batch, of all projects. Each server has its own: it
// only saves questions, and what is written is checked by the database.

import { CombinationMemory } from "./known-combinations.ts";
import { MeterMemory } from "./known-meters.ts";
import { RepeatMemory } from "./known-repeats.ts";

export class UsageMemory {
  readonly meters = new MeterMemory();
  readonly repeats = new RepeatMemory();
  readonly combinations = new CombinationMemory();
}
