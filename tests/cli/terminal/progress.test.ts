// The line of progress: on a terminal it never wraps, whatever there is to say.

import { expect, test } from "vitest";
import { guarded, type Io } from "../../../src/cli/terminal/io.ts";
import { Progress } from "../../../src/cli/terminal/progress.ts";

/** What is drawn while something long is said at three moments. */
function drawn(columns: number | undefined, text: string) {
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
    progress.show(part, (spent_ms) => `${text} after ${spent_ms} ms`);
  }
  return lines.map((line) => line.replace("\r\u001b[K", ""));
}

test.each([40, 60, 80, 120])("fits %i columns, with one left for the cursor", (columns) => {
  const lines = drawn(columns, "much to say ".repeat(10));
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.length).toBeLessThan(columns);
});

test("a bar shows how much is done, with what there is to say", () => {
  expect(drawn(80, "reading")[0]).toBe("[######..................] reading after 60000 ms");
  expect(drawn(undefined, "reading")[2]).toBe("[########################] reading after 180000 ms");
});

test("what comes too soon is not drawn, and its text is not made", () => {
  const lines: string[] = [];
  const io = guarded({ progress: true, err: (text: string) => lines.push(text) } as unknown as Io);
  const progress = new Progress(io, () => 0);
  progress.show(0.1, () => "first");
  progress.show(0.2, () => {
    throw new Error("nobody looks at it");
  });
  expect(lines.join("")).toContain("first");
});
