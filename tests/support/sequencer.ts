// The order of the test files: the longest first, so that none begins when the others have ended,
// and those that mostly wait between those that compute. Vitest would go by what it noted at the
// run before, and on a fresh clone by size.

import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** About how many seconds a file takes; those that are not in it take less than two. */
export const DURATIONS: Readonly<Record<string, number>> = JSON.parse(
  readFileSync(new URL("durations.json", import.meta.url), "utf8"),
);

/** A slow file starts processes, kills them and waits for what comes of it. */
const WAITS = /\.slow\.test\.ts$/;

/** Each kind by falling duration, one of each in turn while there are both. */
export function inOrder(paths: readonly string[]): string[] {
  const took = (path: string) => DURATIONS[path] ?? 1;
  const sorted = [...paths].sort((a, b) => took(b) - took(a) || (a < b ? -1 : 1));
  const waiting = sorted.filter((path) => WAITS.test(path));
  const computing = sorted.filter((path) => !WAITS.test(path));
  return Array.from({ length: Math.max(waiting.length, computing.length) }, (_, i) => i).flatMap(
    (i) => [...waiting.slice(i, i + 1), ...computing.slice(i, i + 1)],
  );
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const byPath = new Map(
      files.map((file) => [relative(this.ctx.config.root, file.moduleId), file] as const),
    );
    return inOrder([...byPath.keys()]).flatMap((path) => byPath.get(path) ?? []);
  }
}
