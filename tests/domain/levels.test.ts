// Levels of weighted sums from period to period.

import { expect, test } from "vitest";
import { levelsAfter } from "../../src/domain/levels.ts";
import type { MetricUsage } from "../../src/domain/usage-fees.ts";
import { used } from "../support/price-lists.ts";

function changed(sum: string | null, combination: string | null = null): MetricUsage[] {
  return used({ m: "0" }).map((row) => ({ ...row, sum, combination, moment: "1" }));
}

test.each([
  ["a first change", {}, changed("5"), { m: { "": "5" } }],
  ["a change downwards, also below 0", { m: { "": "5" } }, changed("-7.5"), { m: { "": "-2.5" } }],
  ["back to 0 is left out", { m: { "": "5" } }, changed("-5.0"), { m: {} }],
  [
    "each combination by itself",
    { m: { '["eu"]': "1", '["us"]': "2" } },
    [...changed("1", '["us"]'), ...changed("4", "[null]")],
    { m: { '["eu"]': "1", '["us"]': "3", "[null]": "4" } },
  ],
  [
    "metrics without change stay",
    { other: { "": "9" } },
    changed("1"),
    { other: { "": "9" }, m: { "": "1" } },
  ],
  [
    "usage of other aggregations changes none",
    { m: { "": "5" } },
    used({ m: "3" }),
    { m: { "": "5" } },
  ],
])("%s", (_, levels, usage, after) => {
  const before = structuredClone(levels);
  expect(levelsAfter(levels, usage)).toEqual(after);
  expect(levels).toEqual(before);
});
