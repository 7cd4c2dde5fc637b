// Files with very many keys or faults: what they cost grows with their size and not with its
// square, a hundred faults are told, and blocks that no file needs are not read at all.

import { describe, expect, test } from "vitest";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";
import type { Fault } from "../../../../src/cli/service-file/checking/yaml.ts";
import { slowness } from "../../../support/processes.ts";

const HEAD = 'version: "1"\norg: a\nworkspace: b\nproject: c\n';
/**
 * Of the processor; 20,000 keys took 24 s of it before. What a host takes in the middle of it may
 * be counted as well.
 */
const cpuMsMax = () => 2_000 * Math.min(slowness(), 5);

function check(text: string): Fault[] {
  const before = process.cpuUsage();
  const found = checkFile(Buffer.from(HEAD + text));
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(cpuMsMax());
  if (!Array.isArray(found)) throw new Error("The file was taken for good.");
  return found;
}

const repeat = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join("");

describe("60,000 keys", () => {
  const MANY = 60_000;
  const TOO_MANY = "There are more than 5000 keys in one block.";
  const entry = "catalog:\n  - code: a\n    name: A\n    amount_cents: 1\n    metadata:\n";

  test.each([
    ["unknown", repeat(MANY, (i) => `k${i}: 1\n`)],
    ["in one line", `x: {${repeat(MANY, (i) => `k${i}: 1, `)}}\n`],
    ["in metadata", entry + repeat(MANY, (i) => `      k${i}: 1\n`)],
    ["all the same", repeat(MANY, () => "org: x\n")],
  ])("%s", (_, text) => {
    const [fault, ...others] = check(text);
    expect(fault).toMatchObject({ message: TOO_MANY });
    expect(others).toEqual([]);
  });

  test("in 20,000 entries", () => {
    const faults = check(`plans:\n${repeat(20_000, () => "  - a: 1\n    b: 2\n    c: 3\n")}`);
    expect(faults).toMatchObject([{ message: "A list has more than 8192 entries." }]);
  });
});

test("lists in the column of their keys are counted each by itself", () => {
  const list = (name: string) => `${name}:\n${repeat(2_600, () => "- a: 1\n")}`;
  const [fault] = check(list("plans") + list("metrics"));
  expect(fault?.message).toBe("plans[0].code is missing.");
});

test("of many unknown keys the first hundred are told, in the order of the lines", () => {
  const faults = check(repeat(4_900, (i) => `k${i}: 1\n`));
  expect(faults).toHaveLength(100);
  expect(faults[0]).toMatchObject({ line: 5, column: 1, field: "k0" });
  expect(faults[99]).toMatchObject({ line: 104, message: "The key k99 is not known here." });
});

describe("keys that are there twice", () => {
  const messages = (text: string) => check(text).map(({ line, message }) => `${line} ${message}`);

  test("again and again", () => {
    const faults = messages(repeat(4_900, () => "org: x\n"));
    expect(faults).toHaveLength(20);
    expect(faults[0]).toBe("5 The key org is there twice.");
  });

  test("in an inner map, a quoted and a plain one, a number and its text", () => {
    expect(messages("plans:\n  - code: a\n    name: b\n    'code': c\n")).toEqual([
      "8 The key code is there twice.",
    ]);
    expect(messages('x: {1: a, "1": b}\n')).toEqual(["5 The key 1 is there twice."]);
    expect(messages("b: 1\nx: {k: 1, k: 2}\nb: 2\n")).toEqual([
      "6 The key k is there twice.",
      "7 The key b is there twice.",
    ]);
  });
});
