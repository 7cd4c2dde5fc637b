// Statements as tagged text.

import { expect, test } from "vitest";
import { join, sql } from "../../../src/store/db/sql.ts";

test("values become parameters, in their order", () => {
  expect(sql`select ${1} where a = ${"x"}`).toEqual({
    text: "select $1 where a = $2",
    values: [1, "x"],
  });
  expect(sql`select 1`).toEqual({ text: "select 1", values: [] });
});

test("fragments are spliced in, their parameters counted on", () => {
  const condition = join([sql`a = ${1}`, sql`b = ${2}`], " and ");
  expect(sql`select ${0} where ${condition} limit ${3}`).toEqual({
    text: "select $1 where a = $2 and b = $3 limit $4",
    values: [0, 1, 2, 3],
  });
});

test("one place may have a value, then a fragment, then a value again", () => {
  const statement = (part: unknown) => sql`select ${part} limit ${9}`;
  const first = statement(1);
  expect(statement(sql`a + ${2}`)).toEqual({ text: "select a + $1 limit $2", values: [2, 9] });
  expect(statement(3)).toEqual({ text: first.text, values: [3, 9] });
  expect(first.text).toBe("select $1 limit $2");
});
