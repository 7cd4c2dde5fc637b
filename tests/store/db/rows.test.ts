// Rows are stored as they were handed over, whatever is in their texts, be they few or many.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { recordset, rowsOf } from "../../../src/store/db/rows.ts";
import { type Sql, sql } from "../../../src/store/db/sql.ts";
import { type App, startApp } from "../../support/app.ts";

const COLUMNS = {
  id: "uuid",
  text: "text",
  count: "bigint",
  amount: "numeric",
  is_true: "boolean",
  day: "date",
  at: "timestamptz",
  given: "json",
  found: "jsonb",
  codes: "text[]",
};
const TEXTS = [
  ...["", " ", "null", "NULL", "{}", "{a,b}", ",", "a,b", "'", '"', '""', "\\", '\\"', "\\\\n"],
  ...["a\nb\tc\r", "\u0001\u001f\u007f", "é 漢 🙂", '🙂 "\\', "(1)", "$1", "%", "\u2028"],
];

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

function rowOf(text: string, i: number) {
  return {
    id: randomUUID(),
    text,
    count: i % 3,
    amount: `${i}.250`,
    is_true: i % 2 === 0,
    day: `2026-01-0${1 + (i % 9)}`,
    at: new Date(Date.UTC(2026, 0, 1, 0, 0, 0, i)),
    given: { [text]: [text, { deep: text }], n: 1.5 },
    found: [text, null, { [text]: i }],
    codes: [text, "other", text],
  };
}

const EMPTY = Object.fromEntries(Object.keys(COLUMNS).map((column) => [column, null]));
const ROWS = [
  ...TEXTS.map(rowOf),
  EMPTY,
  rowOf("same", 1),
  { ...rowOf("same", 1), codes: [] },
] as ReturnType<typeof rowOf>[];

async function inserted(rows: readonly ReturnType<typeof rowOf>[]): Promise<unknown[]> {
  const project = app.profile.project_id as ProjectId;
  const columns = Object.entries(COLUMNS).map(([name, type]) => `${name} ${type}`);
  const table: Sql = {
    text: `create temp table taken (project_id uuid, ${columns.join(", ")}) on commit drop`,
    values: [],
  };
  return app.context.db.tx(async (tx) => {
    await tx.run(table);
    await tx.run(sql`insert into taken ${rowsOf(project, COLUMNS, rows)}`);
    return tx.many(sql`select * from taken`);
  });
}

test.each([1, ROWS.length])("%i at a time", async (size) => {
  for (let from = 0; from < ROWS.length; from += size) {
    const rows = ROWS.slice(from, from + size);
    const expected = rows.map((row) => ({ project_id: app.profile.project_id, ...row }));
    expect(await inserted(rows)).toEqual(expected);
  }
});

test.each([
  ["a list", [1, 2]],
  ["an object", { a: 1 }],
  ["no number", Number.NaN],
  ["no number that ends", Number.POSITIVE_INFINITY],
  ["no date", new Date(Number.NaN)],
])("%s is not written into a column of values", (_what, count) => {
  expect(() => recordset("r", { count: "bigint" }, [{ count }])).toThrow(
    /takes texts|Invalid time/,
  );
});

test("a recordset of no rows is empty", async () => {
  const found = await app.context.db.many(sql`select * from ${recordset("r", COLUMNS, [])}`);
  expect(found).toEqual([]);
});
