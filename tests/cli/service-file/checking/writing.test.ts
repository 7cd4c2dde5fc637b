// Values that would be kept as something else than is written are told before anything is sent.

import { describe, expect, test } from "vitest";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";

const HEAD = 'version: "1"\norg: acme\nworkspace: main\nproject: test\n';

function faults(text: string): string[] {
  const found = checkFile(Buffer.from(HEAD + text));
  return Array.isArray(found) ? found.map(({ message }) => message) : [];
}

const metadata = (text: string) =>
  faults(`catalog:\n- {code: a, name: A, amount_cents: 1, metadata: ${text}}\n`);
const properties = (text: string) =>
  faults(
    "plans:\n- code: p\n  name: P\n  interval: monthly\n  currency: USD\n  charges:\n" +
      `  - {type: flat_fee, amount_override_cents: 5, properties: ${text}}\n`,
  );

describe("an object of one's own refuses", () => {
  test.each([
    ["{account: 12345678901234567890}", "written as 12345678901234567890"],
    ["{a: 0.1000000000000000055}", "written as 0.1000000000000000055"],
    ["{a: {b: [9007199254740993]}}", "written as 9007199254740993"],
    ["{a: .inf}", "written as .inf"],
    ["{a: -.INF}", "written as -.INF"],
    ["{a: .nan}", "written as .nan"],
    ["{a: 1e400}", "written as 1e400"],
    ["{a: 1e21}", "written as 1e21"],
    ["{a: 0xffffffffffffffffff}", "written as 0xffffffffffffffffff"],
    ['{"k\\0ey": 1}', "The key holds U+0000"],
    ['{"k\\ud800": 1}', "The key holds U+0000 or half a character"],
    ["{s: !!set {x, y}}", "Tags of one's own"],
    ["{o: !!omap [k: 1]}", "Tags of one's own"],
    ["{p: !!pairs [k: 1]}", "Tags of one's own"],
    ["{t: !!binary aGVsbG8=}", "Tags of one's own"],
    ["{t: !!timestamp 2027-01-01}", "Tags of one's own"],
    ["{? [a]: b}", "no plain text as a key"],
    ["{1.0: b}", "no plain text as a key"],
    ["{~: b}", "no plain text as a key"],
  ])("%s", (text, wanted) => {
    for (const told of [metadata(text), properties(text)]) {
      expect(told).toHaveLength(1);
      expect(told[0]).toContain(wanted);
    }
  });
});

test.each([
  ["{a: 9007199254740991, b: -1.5, c: 1e3, d: 0x10, e: +5, f: .5, g: -0}"],
  ["{1: b, true: c, 2027-01-01: d, no: e}"],
  ["{a: !!str 5, b: 2027-01-01}"],
  ["{setup_cents: 10.5, note_cents: 1e1, times: 1.5, trial_days: 1.0, free_events: null}"],
])("an object of one's own takes %s", (text) => {
  expect([...metadata(text), ...properties(text)]).toEqual([]);
});

test("amounts are whole numbers as before, also beside objects of one's own", () => {
  expect(faults("catalog:\n- {code: a, name: A, amount_cents: 10.0}\n")).toHaveLength(1);
  expect(faults("coupons:\n- {code: a, name: A, percent: '5', times: 1e1}\n")).toHaveLength(1);
});

test("properties nest as deep as a request with their plan can", () => {
  const nested = (levels: number) => `${"{a: ".repeat(levels)}1${"}".repeat(levels)}`;
  expect(properties(nested(29))).toEqual([]);
  expect(properties(nested(30))[0]).toContain("nests more than 29 levels deep");
});

test("a list of metadata may be as long as metadata can hold", () => {
  const list = (length: number) => `{d: [${Array(length).fill(0).join(", ")}]}`;
  expect(metadata(list(8_188))).toEqual([]);
  expect(metadata(list(8_190))).toHaveLength(1);
});

test("a plan that no request could carry is told", () => {
  const match = Array.from({ length: 100 }, (_, i) => `{match: {m: "${i}"}, tiers: [${tiers()}]}`);
  const charge = `  - {type: graduated, metric_ref: calls, tiers: [${tiers()}], prices: [${match}]}\n`;
  const plan = (charges: number) =>
    faults(
      "metrics:\n- {code: calls, name: C, aggregation_type: count, dimensions: [m]}\nplans:\n" +
        "- code: p\n  name: P\n  interval: monthly\n  currency: USD\n  charges:\n" +
        charge.repeat(charges),
    );
  expect(plan(1)).toEqual([]);
  expect(plan(16)).toEqual(["The plan is larger than 1048576 bytes, with its charges as JSON."]);
});

function tiers(): string {
  const ends = Array.from({ length: 29 }, (_, i) => `{up_to: ${i + 1}, rate: "0.05"}`);
  return [...ends, '{up_to: null, rate: "0.01"}'].join(", ");
}
