// What order the files of a run come in, and that the list behind it names files that are there.

import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { DURATIONS, inOrder } from "./sequencer.ts";

test("every file whose duration is known is there", () => {
  const gone = Object.keys(DURATIONS).filter((path) => !existsSync(path));
  expect(gone, "take them out of tests/support/durations.json").toEqual([]);
});

test("the longest come first, those that wait in turn with those that compute", () => {
  const files = [
    "tests/ids.test.ts",
    "tests/docs/readme.slow.test.ts",
    "tests/http/table.test.ts",
    "tests/crash/processes.slow.test.ts",
    "tests/crash/operations.test.ts",
  ];
  expect(inOrder(files)).toEqual([
    "tests/crash/processes.slow.test.ts",
    "tests/crash/operations.test.ts",
    "tests/docs/readme.slow.test.ts",
    "tests/http/table.test.ts",
    "tests/ids.test.ts",
  ]);
});
