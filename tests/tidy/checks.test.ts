// Every check of the law finds what it is for, and lets pass what is allowed.

import { describe, expect, test } from "vitest";
import { bannedCallFaults } from "./calls.ts";
import { subjectFaults } from "./comments.ts";
import { sourceOf } from "./files.ts";
import {
  cycleFaults,
  deadFileFaults,
  fileWriteFaults,
  lawFaults,
  purityFaults,
  roomFaults,
  specifierFaults,
} from "./imports.ts";
import { keyFaults, lateIndexFaults, type Migration } from "./migrations.ts";
import {
  crowdFaults,
  fileLengthFaults,
  functionLengthFaults,
  leftoverFaults,
  machinePathFaults,
  markdownFaults,
  openingFaults,
  pastFaults,
  spreadFaults,
  testNameFaults,
  testPathFaults,
  widthFaults,
} from "./shape.ts";
import { databaseTimeFaults, lockFaults, strayFaults } from "./sql.ts";

describe("each check can fail", () => {
  const at = (path: string, text: string) => sourceOf(path, text);
  const table = (body: string): Migration[] => [
    { path: "0001.sql", text: `create table plans (\n  project_id uuid not null,\n  ${body}\n);` },
  ];

  test.each<[string, string[]]>([
    ["an import to the right", lawFaults(at("src/domain/a.ts", 'import "../store/b.ts";'))],
    ["the service in a client", lawFaults(at("src/cli/a.ts", 'import "../service/b.ts";'))],
    ["a client in the service", lawFaults(at("src/service/a.ts", 'import "../cli/b.ts";'))],
    [
      "a type from the right",
      lawFaults(at("src/store/a.ts", 'type A = import("../http/b.ts").B;')),
    ],
    [
      "an entrance in another",
      lawFaults(at("src/http/a.ts", 'export { b } from "../workers/b.ts";')),
    ],
    ["a clock in a rule", lawFaults(at("src/domain/a.ts", 'import { now } from "../clock.ts";'))],
    ["a file system in a rule", purityFaults(at("src/domain/a.ts", 'import "node:fs";'))],
    [
      "a socket in a rule",
      purityFaults(at("src/domain/a.ts", 'import { Socket } from "node:net";')),
    ],
    [
      "all of a network in a rule",
      purityFaults(at("src/domain/a.ts", 'import n from "node:net";')),
    ],
    [
      "a file that a command writes by itself",
      fileWriteFaults(at("src/cli/a.ts", 'import { writeFileSync } from "node:fs";')),
    ],
    [
      "all of the file system in a command",
      fileWriteFaults(at("src/cli/a.ts", 'import fs from "node:fs/promises";')),
    ],
    ["a missing extension", specifierFaults(at("src/a.ts", 'import "./b";'))],
    ["a barrel", specifierFaults(at("src/a.ts", 'export * from "./b.ts";'))],
    [
      "a ring",
      cycleFaults([at("src/a.ts", 'import "./b.ts";'), at("src/b.ts", 'import "./a.ts";')]),
    ],
    [
      "rooms that need one another by way of a third",
      roomFaults([
        at("src/store/a/x.ts", 'import "../b/y.ts";'),
        at("src/store/b/z.ts", 'import "../c/w.ts";'),
        at("src/store/c/w.ts", 'import "../a/v.ts";'),
      ]),
    ],
    ["a crowd", crowdFaults(Array.from({ length: 31 }, (_, i) => `src/store/a${i}.ts`))],
    ["an unused file", deadFileFaults([at("src/a.ts", "")], [])],
    ["Date.now", bannedCallFaults(at("src/a.ts", "Date.now();"))],
    ["new Date()", bannedCallFaults(at("src/a.ts", "new Date();"))],
    ["parseFloat", bannedCallFaults(at("tests/a.ts", 'Number.parseFloat("1");'))],
    ["a pause", bannedCallFaults(at("tests/a.ts", "await pause(500);"))],
    ["a timer", bannedCallFaults(at("tests/a.ts", "new Promise((go) => setTimeout(go, 500));"))],
    ["toFixed", bannedCallFaults(at("src/a.ts", "x.toFixed(2);"))],
    ["a file beside", bannedCallFaults(at("src/a.ts", 'new URL("a.sql", import.meta.url);'))],
    ["a folder", bannedCallFaults(at("src/a.ts", "import.meta.dirname;"))],
    ["process.env", bannedCallFaults(at("src/a.ts", "process.env.PORT;"))],
    ["console.log", bannedCallFaults(at("src/http/a.ts", "console.log(1);"))],
    ["SQL in http", strayFaults(at("src/http/a.ts", "sql`select 1`;"))],
    ["SQL as a string", strayFaults(at("src/http/a.ts", 'q("delete from plans");'))],
    ["now() in SQL", databaseTimeFaults(at("src/store/a.ts", "sql`select now()`;"))],
    [
      "a lock in a join",
      lockFaults(
        at("src/store/a.ts", "sql`select 1 from plans p join b on b.id = p.b for share of p`;"),
      ),
    ],
    [
      "a lock of what is put together",
      lockFaults(
        at("src/store/a.ts", `sql\`select 1 from \${plansAnd(b)} where id = 1 for share\`;`),
      ),
    ],
    [
      "a lock against references",
      lockFaults(at("src/store/a.ts", "sql`select 1 from plans where id = 1 for update`;")),
    ],
    ["a primary key of id", keyFaults(table("primary key (id)"))],
    ["a column that is a primary key", keyFaults(table("id uuid primary key"))],
    ["a unique code over all tenants", keyFaults(table("constraint c unique (code)"))],
    ["a foreign key of id", keyFaults(table("foreign key (a) references customers (id)"))],
    ["a column that references", keyFaults(table("a uuid references customers"))],
    [
      "a unique index of id",
      keyFaults([...table("a int"), ...index("create unique index i on plans (id);")]),
    ],
    [
      "a later key of code",
      keyFaults([...table("a int"), ...index("alter table plans add b int, add unique (code);")]),
    ],
    [
      "an index that cannot be built beforehand",
      lateIndexFaults(later("alter table plans add b int;\ncreate index i on plans (b);")),
    ],
    ["a table of nobody", keyFaults(index("create table orphans (id uuid);"))],
    ["no opening comment", openingFaults(at("src/a.ts", "export {};"))],
    ["a wide line", widthFaults(at("src/a.ts", `const a = 1; // ${"-".repeat(100)}`))],
    ["a long file", fileLengthFaults(at("src/a.ts", "\n".repeat(401)))],
    [
      "a long file that only mentions a generator",
      fileLengthFaults(at("src/a.ts", `// One.\n// Generated by scripts/a.${"\n".repeat(401)}`)),
    ],
    [
      "a long function",
      functionLengthFaults(at("src/a.ts", `const f = () => {${"\n".repeat(71)}}`), {}),
    ],
    [
      "a longer function than it was",
      functionLengthFaults(at("src/a.ts", "function f() {\n}"), { "src/a.ts f": 1 }),
    ],
    ["a literal in a literal", spreadFaults(at("tests/a.ts", "f({ ...{ a, b }, c });"))],
    ["a constant in a literal", spreadFaults(at("a.ts", "f({ ...({ a } as const) });"))],
    ["a list in a list", spreadFaults(at("src/a.ts", 'f(["a", ...["b", "c"]]);'))],
    [
      "a past that nobody had",
      pastFaults({ path: "a.ts", text: "/** Cursors from\n * before. */" }),
    ],
    ["a column of the past", pastFaults({ path: "a.sql", text: "former_xid bigint" })],
    ["a note for later", leftoverFaults({ path: "a.ts", text: `// ${"TO"}${"DO"}: more` })],
    [
      "a path of a machine",
      machinePathFaults({ path: "a.md", text: `cd ${"/ho"}${"me/ann"}/dues` }),
    ],
    ["two tests of one name", testNameFaults(at("a.test.ts", 'test("a", f); test("a", g);'))],
    [
      "a test of no file",
      testPathFaults(["src/http/request/json.ts", "tests/http/request/jason.test.ts"]),
    ],
    ["half a sentence", subjectFaults(at("src/a.ts", "// A.\n\n/** Of a. */\nlet a = 1;"))],
    [
      "half a sentence inside",
      subjectFaults(at("src/a.ts", "// A.\n\nf({\n  // Else b.\n  c });")),
    ],
    [
      "half a sentence of more lines",
      subjectFaults(at("src/a.ts", "// A.\n\n/**\n * Those that\n * are. */\nlet a = 1;")),
    ],
    ["markdown without a title", markdownFaults({ path: "a.md", text: "text" })],
    ["markdown with two titles", markdownFaults({ path: "a.md", text: "# A\n\n# B\n" })],
  ])("on %s", (_, faults) => {
    expect(faults).toHaveLength(1);
  });

  test("and lets what is allowed pass", () => {
    const passing = [
      lawFaults(at("src/service/a.ts", 'import "../http/a.ts"; import "../workers/b.ts";')),
      lawFaults(at("src/http/a.ts", 'import "../operations/b.ts"; import "../clock.ts";')),
      roomFaults([
        at(
          "src/http/a/x.ts",
          'import "../b/y.ts"; import "../table.ts"; import "../../store/b/z.ts";',
        ),
        at("src/http/b/y.ts", 'import "../../store/a/x.ts";'),
        at("src/http/table.ts", 'import "./a/x.ts";'),
      ]),
      crowdFaults(Array.from({ length: 31 }, (_, i) => `src/schema/a${i}.ts`)),
      purityFaults(at("src/domain/a.ts", 'import { BlockList as B, isIP } from "node:net";')),
      fileWriteFaults(at("src/cli/a.ts", 'import { readFileSync } from "node:fs";')),
      fileWriteFaults(
        at("src/cli/terminal/files.ts", 'import { writeFile } from "node:fs/promises";'),
      ),
      bannedCallFaults(at("src/clock.ts", "Date.now(); new Date();")),
      bannedCallFaults(at("src/a.ts", "new Date(0); // Date.now()")),
      bannedCallFaults(at("src/a.ts", "createRequire(import.meta.url);")),
      lockFaults(at("src/store/a.ts", "sql`select 1 from plans where id = 1 for share`;")),
      lockFaults(
        at(
          "src/store/a.ts",
          "sql`delete from a using (select 1 from b q for update skip locked) c`;",
        ),
      ),
      keyFaults(table("id uuid references projects, primary key (project_id, id)")),
      keyFaults(
        index("create table dunning (\n  project_id uuid primary key references projects\n);"),
      ),
      lateIndexFaults(later("create index if not exists i on plans (project_id);")),
      lateIndexFaults(later("create table a (b int);\ncreate index i on a (b);")),
      pastFaults({ path: "a.ts", text: "// until 0.3: cursors from before positions" }),
      pastFaults({ path: "a.sql", text: "select a\n  from before where b" }),
      widthFaults(at("src/a.ts", `const a = "${"-".repeat(100)}";`)),
      fileLengthFaults(at("src/a.ts", `// Generated by scripts/a.${"\n".repeat(401)}`)),
      subjectFaults(at("src/a.ts", "// Of a file.\n// Those.\n\n/** Office. */\nlet a = 1;")),
      subjectFaults(at("src/a.ts", "// Generated by scripts/a.\n\n/** Of a. */\nlet a = 1;")),
      subjectFaults(at("src/a.ts", "// A.\n\n// A comment\n// of two lines.\nlet a = 1; // b")),
      spreadFaults(at("src/a.ts", "f({ ...(a ? { b } : { c }), ...d }, ...[e], [...[g].map(h)]);")),
      spreadFaults(at("tests/a.ts", 'run(["--name", ...["a", "b"]]);')),
      testNameFaults(at("a.test.ts", 'describe("x", () => test("a", f)); test("a", g);')),
      testPathFaults([
        "src/http/request/json.ts",
        "tests/http/request/json.long.test.ts",
        "tests/crash/a.test.ts",
      ]),
    ];
    expect(passing.flat()).toEqual([]);
  });

  function index(text: string): Migration[] {
    return [{ path: "0002.sql", text }];
  }

  function later(text: string): Migration[] {
    return [{ path: "0002_later.sql", text }];
  }
});
