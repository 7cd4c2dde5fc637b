// Text that comes in pieces, line by line.

import { expect, test } from "vitest";
import { linesOf } from "../../../src/cli/terminal/lines.ts";

async function read(pieces: readonly (Buffer | string)[], most?: number): Promise<string[]> {
  async function* input() {
    yield* pieces;
  }
  const lines: string[] = [];
  for await (const line of linesOf(input(), most)) lines.push(line);
  return lines;
}

test.each([
  ["parted anywhere", ["a", "b\nc", "\nd"], ["ab", "c", "d"]],
  ["of Windows", ["a\r\nb\r\n"], ["a", "b"]],
  ["that are empty", ["\n\na"], ["", "", "a"]],
  ["with other ends of lines in a text", ["a\u2028b\n"], ["a\u2028b"]],
])("lines %s", async (_, pieces, lines) => {
  expect(await read(pieces)).toEqual(lines);
  expect(await read(pieces.map((piece) => Buffer.from(piece)))).toEqual(lines);
});

test("a character that is parted over two pieces is read whole", async () => {
  const bytes = Buffer.from("žluť\nend");
  const pieces = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1));
  expect(await read(pieces)).toEqual(["žluť", "end"]);
});

test("a line that never ends is cut, and seen to be too long", async () => {
  const [line = "", ...more] = await read(
    Array.from({ length: 1_000 }, () => "x".repeat(10)),
    50,
  );
  expect(line.length).toBe(51);
  expect(more).toEqual([]);
});
