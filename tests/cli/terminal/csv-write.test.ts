// Cells of CSV: RFC 4180, and nothing that a spreadsheet runs.

import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvCell, csvLine } from "../../../src/cli/terminal/csv-write.ts";

test.each([
  ["=1+1", "'=1+1"],
  ["+49 30 123", "'+49 30 123"],
  ["-cmd", "'-cmd"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\tx", "'\tx"],
  ["\rx", `"'\rx"`],
  ["＝1", "'＝1"],
  ["-5", "-5"],
  ["-5.25", "-5.25"],
  ["-5.25e3", "'-5.25e3"],
  [-5, "-5"],
  ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ["a,b", '"a,b"'],
  ['a "b"', '"a ""b"""'],
  ["a\nb", '"a\nb"'],
  ["a=b", "a=b"],
  [null, ""],
  [undefined, ""],
])("%j is written %j", (value, cell) => {
  expect(csvCell(value)).toBe(cell);
});

test("whatever the cells hold, a reader of CSV gets them back, and none begins a formula", () => {
  const cells = fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(fc.array(cells, { minLength: 1, maxLength: 4 }), (rows) => {
      const wide = Math.max(...rows.map((row) => row.length));
      const full = rows.map((row) => ["x", ...row, ...Array(wide - row.length).fill("")]);
      const options = { record_delimiter: "\r\n", bom: false };
      const read = parse(full.map(csvLine).join(""), options) as string[][];
      expect(read.map((row) => row.length)).toEqual(full.map((row) => row.length));
      for (const [i, row] of full.entries()) {
        for (const [j, cell] of row.entries()) {
          const got = read[i]?.[j] ?? "";
          expect([cell, `'${cell}`]).toContain(got);
          if (/^[=+\-@\t\r]/.test(got)) expect(got).toMatch(/^[+-]?\d+(\.\d+)?$/);
        }
      }
    }),
  );
});
