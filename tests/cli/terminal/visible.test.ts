// What reaches a terminal: lines of text, our own colours, and nothing that a record brought along.

import { describe, expect, test } from "vitest";
import {
  CLEAR_LINE,
  colored,
  printable,
  visible,
  visibleJson,
} from "../../../src/cli/terminal/visible.ts";

test("control characters and overrides of direction are shown as their numbers", () => {
  expect(visible("a\u001b]0;x\u0007\u009b\u007f\tb\n")).toBe(
    "a\\x1b]0;x\\x07\\x9b\\x7f\\x09b\\x0a",
  );
  expect(visible("\u202aa\u202e\u2066b\u2069")).toBe("\\u202aa\\u202e\\u2066b\\u2069");
  const plain = "Ünïcode, 漢字, العربية and 👩‍👩‍👧 stay";
  expect(visible(plain)).toBe(plain);
});

describe("a stream", () => {
  test("is given lines as lines", () => {
    expect(printable("one\ntwo\r\n")).toBe("one\ntwo\\x0d\n");
  });

  test("is given our own colours and beginnings of a line, around text that has some too", () => {
    const text = `${CLEAR_LINE}${colored(31, "bad\u001b[0m\r\u001b[K")}`;
    expect(printable(text)).toBe("\r\u001b[K\u001b[31mbad\\x1b[0m\\x0d\\x1b[K\u001b[0m");
  });
});

test("JSON says the same, without a raw one", () => {
  const value = { name: "\u001b\u007f\u0085\u009b\u202e\u2069 é" };
  const text = visibleJson(JSON.stringify(value));
  expect(text).toMatch(/^[\x20-\x7eé]*$/);
  expect(JSON.parse(text)).toEqual(value);
});
