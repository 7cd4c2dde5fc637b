// Migrations as single statements: none is cut, lost or joined.

import { expect, test } from "vitest";
import { statementsOf } from "../../../src/store/db/sql-statements.ts";
import { listMigrations } from "../../../src/store/migration/migrate.ts";

test("semicolons in texts, names, comments and bodies end nothing", () => {
  const statements = [
    "insert into a values ('x; ''y;')",
    'select 1 as "a;b"',
    "create function f() returns void language plpgsql as $$\nbegin\n  perform 1;\nend $$",
    "do $body$ begin execute 'select $$;$$'; end $body$",
    "select $1 - 2",
  ];
  expect(statementsOf(`${statements.join(";\n")};\n-- the end; really\n`)).toEqual(statements);
});

test("a comment goes with the statement that it stands before", () => {
  const text = "-- why; and how\nalter table a add column b int;\n\n;\n-- nothing more\n";
  expect(statementsOf(text)).toEqual(["-- why; and how\nalter table a add column b int"]);
});

test("every migration is all of its statements, each of one kind", async () => {
  const bare = (text: string) => text.replace(/--[^\n]*/g, "").replace(/[\s;]+/g, "");
  for (const { name, text } of await listMigrations()) {
    const statements = statementsOf(text);
    expect(bare(statements.join(";")), name).toBe(bare(text));
    for (const statement of statements) {
      const [verb] = statement
        .replace(/^(\s*--[^\n]*\n)+/, "")
        .trim()
        .split(/\s/);
      expect(verb, statement).toMatch(
        /^(create|alter|drop|insert|update|delete|analyze|do|with|select|comment|set|truncate|revoke|grant|lock)$/i,
      );
    }
  }
});
