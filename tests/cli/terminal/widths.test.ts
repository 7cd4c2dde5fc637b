// Columns of a terminal: how many a text takes, where it is cut and where it breaks.

import { expect, test } from "vitest";
import { cut, measureFor, wrap } from "../../../src/cli/terminal/widths.ts";

test.each([
  ["Acme", 4],
  ["Österreich – übrig…", 19],
  ["日本語", 6],
  ["한국어", 6],
  ["e\u0301", 1],
  ["👩‍👩‍👧", 2],
])("%s takes its columns", async (text, columns) => {
  const measure = await measureFor([text]);
  expect(measure(text)).toBe(columns);
});

test.each([
  ["Acme Ltd", 8, "Acme Ltd"],
  ["Acme Ltd", 7, "Acme L…"],
  ["Acme Ltd", 6, "Acme…"],
  ["日本語の会社", 7, "日本語…"],
  ["日本語の会社", 6, "日本…"],
  ["👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧…"],
  ["Acme", 0, ""],
])("%s in %i columns is %s", async (text, columns, short) => {
  const measure = await measureFor([text]);
  expect(cut(text, columns, measure)).toBe(short);
  expect(measure(cut(text, columns, measure))).toBeLessThanOrEqual(columns);
});

test("lines break at spaces, and a longer word stays whole", async () => {
  const measure = await measureFor([]);
  expect(wrap("a bb ccc dddddddd e", 6, measure)).toEqual(["a bb", "ccc", "dddddddd", "e"]);
});
