// Reading events from CSV: what is one record, and what a stray quote costs. From NDJSON: which
// numbers would be kept as others.

import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { type Line, readCsv, readNdjson } from "../../../src/cli/events/lines.ts";

async function read(...lines: string[]): Promise<Line[]> {
  const found: Line[] = [];
  for await (const line of readCsv(Readable.from([lines.join("\n")]))) found.push(line);
  return found;
}

const HEAD = "transaction_id,subscription_id,code,properties.note";

test("cells in quotes hold commas, quotes and line ends", async () => {
  const found = await read(HEAD, 't1,s,calls,"a, ""b"" and', 'the next line"', "t2,s,calls,plain");
  expect(found).toMatchObject([
    { line: 2, event: { transaction_id: "t1", properties: { note: 'a, "b" and\nthe next line' } } },
    { line: 4, event: { transaction_id: "t2", properties: { note: "plain" } } },
  ]);
});

test.each([
  ["inside a cell", 't2,s,ex"ports,'],
  ["that opens and never closes", 't2,s,calls,"five'],
  ["that closes too early", 't2,s,calls,"five"5'],
])("a quote %s costs its own line only", async (_name, bad) => {
  const found = await read(
    HEAD,
    "t1,s,calls,",
    bad,
    "t3,s,calls,",
    't4,s,calls,"a, b"',
    "t5,s,calls,",
  );
  expect(found.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6]);
  expect(found.map(({ event }) => event?.transaction_id)).toEqual([
    "t1",
    undefined,
    "t3",
    "t4",
    "t5",
  ]);
  expect(found[1]?.fault).toContain("A quote stands inside a cell, or is not closed");
  expect(found[1]?.text).toBe(bad);
});

test("two lines with a stray quote each are refused, and nothing between or after them", async () => {
  const found = await read(HEAD, 't1,s,ex"ports,', "t2,s,calls,", 't3,s,im"ports,', "t4,s,calls,");
  expect(found.map(({ fault }) => fault !== undefined)).toEqual([true, false, true, false]);
});

test("too few or too many cells are told, and a mark at the start is not part of a name", async () => {
  const found = await read(`\ufeff${HEAD}`, "t1,s", "", "t2,s,calls,,", "t3,s,calls,");
  expect(found).toMatchObject([
    { line: 2, fault: "There are 2 cells for 4 columns." },
    { line: 4, fault: "There are 5 cells for 4 columns." },
    { line: 5, event: { transaction_id: "t3" } },
  ]);
});

test("columns that no event has are named", async () => {
  await expect(read("transaction_id,colour", "t1,red")).rejects.toThrow(
    "Columns that no event has: colour.",
  );
});

test.each([["9007199254740993"], ["1e400"], ["0.1234567890123456789"], ["-12345678901234567"]])(
  "a number that would be sent as another one is refused with its line: %s",
  async (number) => {
    const line = `{"transaction_id":"t","properties":{"n":${number},"m":[1]}}`;
    const found: Line[] = [];
    for await (const each of readNdjson(Readable.from([line]))) found.push(each);
    expect(found).toEqual([
      {
        line: 1,
        text: line,
        fault: `The number ${number} cannot be kept exactly: write it with quotes.`,
      },
    ]);
  },
);

test("numbers that are kept, and digits in texts, are no fault", async () => {
  const properties =
    '{"a":9007199254740991,"b":"9007199254740993 \\" 1e400","c":1.5e3,"1e999":-0.25}';
  const found: Line[] = [];
  for await (const each of readNdjson(Readable.from([`{"properties":${properties}}`]))) {
    found.push(each);
  }
  expect(found[0]?.fault).toBeUndefined();
  expect(found[0]?.event).toEqual({ properties: JSON.parse(properties) });
});
