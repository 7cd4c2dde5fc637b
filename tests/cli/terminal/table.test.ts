// Tables that fit: what goes first when a terminal is narrow.

import { expect, test } from "vitest";
import { type Column, tableText } from "../../../src/cli/terminal/table.ts";

type Row = { readonly code: string; readonly name: string; readonly at: string };

const COLUMNS: readonly Column<Row>[] = [
  { title: "CODE", of: (row) => row.code },
  { title: "NAME", cut: true, of: (row) => row.name },
  { title: "AT", drop: 2, of: (row) => row.at },
  { title: "ID", drop: 1, of: () => "00000000-0000-7000-8000-000000000001" },
];
const ROWS = [
  { code: "pro", name: "Professional with much support", at: "2026-01-10" },
  { code: "free", name: "Free", at: "2026-01-11" },
];

const at = (columns: number | undefined, wide = false) =>
  tableText({ columns, color: false }, COLUMNS, ROWS, wide);

test("without a terminal, and with wide, all is shown in full", async () => {
  expect(await at(undefined)).toContain("00000000-0000-7000-8000-000000000001\n");
  expect(await at(20, true)).toBe(await at(undefined));
});

test("ids go first, then names are cut, then other columns go", async () => {
  expect(await at(60)).toBe(
    [
      "CODE  NAME                            AT",
      "pro   Professional with much support  2026-01-10",
      "free  Free                            2026-01-11\n",
    ].join("\n"),
  );
  expect(await at(40)).toBe(
    [
      "CODE  NAME                    AT",
      "pro   Professional with muc…  2026-01-10",
      "free  Free                    2026-01-11\n",
    ].join("\n"),
  );
  expect(await at(30)).toBe(
    ["CODE  NAME", "pro   Professional with much…", "free  Free\n"].join("\n"),
  );
});

test.each([1, 2, 3, 5, 8, 13, 21, 34, 55, 80, 120])("no line is wider than %i", async (columns) => {
  const lines = (await at(columns)).trimEnd().split("\n");
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(Math.max(columns, 3));
});
