// The bound of combinations of dimensions: known ones cost nothing, all others one question.

import { expect, test } from "vitest";
import { COMBINATIONS_MAX } from "../../../src/domain/dimensions.ts";
import type { ProjectId } from "../../../src/ids.ts";
import {
  CombinationMemory,
  refuseTooMany,
} from "../../../src/operations/usage/known-combinations.ts";
import type { Queryable } from "../../../src/store/db/db.ts";

/** Answers the same rows each time, and counts the questions. */
class Asked {
  questions = 0;
  readonly db: Queryable;
  constructor(rows: readonly object[] = []) {
    const many = () => {
      this.questions += 1;
      return Promise.resolve(rows);
    };
    this.db = { many } as unknown as Queryable;
  }
}

const PROJECT = "project" as ProjectId;
const event = (subscription: string, combination: string | null) => ({
  combination,
  subscription: { id: subscription },
  metric: { id: "tokens" },
  period_no: 1,
  unbillable: null,
  refusal: undefined as unknown as undefined,
});

test("a batch asks once for all that is new, and never again", async () => {
  const asked = new Asked();
  const memory = new CombinationMemory();
  const batch = ["a", "b", "c"].flatMap((id) => [event(id, '["x"]'), event(id, '["y"]')]);
  await refuseTooMany(asked.db, memory, PROJECT, batch);
  expect(asked.questions).toBe(1);
  await refuseTooMany(asked.db, memory, PROJECT, batch);
  expect(asked.questions).toBe(1);
  expect(batch.every(({ refusal }) => refusal === undefined)).toBe(true);
});

test("what one server remembers, another one asks for", async () => {
  const asked = new Asked();
  for (const memory of [new CombinationMemory(), new CombinationMemory()]) {
    await refuseTooMany(asked.db, memory, PROJECT, [event("a", '["x"]')]);
  }
  expect(asked.questions).toBe(2);
});

test("metrics without dimensions ask nothing", async () => {
  const asked = new Asked();
  await refuseTooMany(asked.db, new CombinationMemory(), PROJECT, [event("a", null)]);
  expect(asked.questions).toBe(0);
});

test("what the database has counts, within a batch too", async () => {
  const has = Array.from({ length: COMBINATIONS_MAX - 1 }, (_, i) => ({
    subscription_id: "a",
    metric_id: "tokens",
    period_no: 1,
    combination: `["${i}"]`,
  }));
  const batch = [event("a", '["0"]'), event("a", '["new"]'), event("a", '["one more"]')];
  await refuseTooMany(new Asked(has).db, new CombinationMemory(), PROJECT, batch);
  expect(batch.map(({ refusal }) => (refusal as { code?: string } | undefined)?.code)).toEqual([
    undefined,
    undefined,
    "limit_exceeded",
  ]);
});
