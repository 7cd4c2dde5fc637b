// The line of progress: on a terminal it never wraps, whatever there is to say.

import { expect, test } from "vitest";
import { guarded, type Io } from "../../src/cli/io.ts";
import { Progress } from "../../src/cli/progress.ts";

/** What is drawn while 100,000 lines are read. */
function drawn(columns: number | undefined, counts: { duplicates: number; refused: number }) {
  const lines: string[] = [];
  let now = 0;
  const io = guarded({
    progress: true,
    err: (text: string) => lines.push(text),
    errColumns: () => columns,
  } as unknown as Io);
  const progress = new Progress(io, () => now);
  for (const part of [0.25, 0.5, 1]) {
    now += 60_000;
    progress.show({ lines: 100_000_000 * part, accepted: 0, ...counts, part });
  }
  return lines.map((line) => line.replace("\r\u001b[K", ""));
}

test.each([40, 60, 80, 120])("fits %i columns, with one left for the cursor", (columns) => {
  const lines = drawn(columns, { duplicates: 12_345_678, refused: 87_654_321 });
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.length).toBeLessThan(columns);
});

test("counts of nothing are not shown", () => {
  const [first = ""] = drawn(80, { duplicates: 0, refused: 0 });
  expect(first).toBe("[######..................] 25000000 lines (25 %), 416667/s, 180 s left");
  expect(drawn(undefined, { duplicates: 0, refused: 3 })[0]).toContain(", 3 refused, ");
});
