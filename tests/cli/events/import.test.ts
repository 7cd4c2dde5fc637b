// What an import says of how far it has come.

import { expect, test } from "vitest";
import { progressText } from "../../../src/cli/events/import.ts";

test("lines, speed and the time that is left; counts of nothing are not shown", () => {
  const counts = { lines: 25_000_000, accepted: 0, duplicates: 0, refused: 0 };
  expect(progressText(counts, 0.25, 60_000)).toBe("25000000 lines (25 %), 416667/s, 180 s left");
  const more = { ...counts, duplicates: 2, refused: 3 };
  expect(progressText(more, 0.25, 60_000)).toContain(", 2 known, 3 refused, ");
});
